"""OpenTelemetry spans of requests to models: GenAI conventions and OpenInference, as OTLP JSON or the SDK's own.

One export a line (the Collector's file exporter), one document, or one span a line. Each span is a whole request, so
conversations are put together by what a request repeats of earlier ones; agents inside agents are their children.

Documentation: https://opentelemetry.io/docs/specs/semconv/gen-ai/, https://opentelemetry.io/docs/specs/otlp/,
https://arize-ai.github.io/openinference/spec/semantic_conventions.html

    {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "t1", "spanId": "s1", "name": "chat m", "attributes": [
      {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
      {"key": "gen_ai.input.messages", "value": {"stringValue":
        "[{\\"role\\": \\"user\\", \\"parts\\": [{\\"type\\": \\"text\\", \\"content\\": \\"Any mail?\\"}]}]"}},
      {"key": "gen_ai.output.messages", "value": {"stringValue":
        "[{\\"role\\": \\"assistant\\", \\"parts\\": [{\\"type\\": \\"text\\", \\"content\\": \\"Two.\\"}]}]"}},
      {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "40"}}]}]}]}]}
    {"name": "ChatCompletion", "context": {"trace_id": "t1", "span_id": "s2"}, "parent_id": null, "attributes": {
      "openinference.span.kind": "LLM", "llm.output_messages.0.message.content": "Two."}}
"""

from collections.abc import Iterator
from itertools import chain

from ctxsim.readers.assembly.spans import Event, Span, conversations
from ctxsim.readers.formats.opentelemetry.spans import ROW, is_export, is_page, is_row, is_sdk_span, key_of, spans_of
from ctxsim.readers.source import Sample, Source
from ctxsim.transcript import Transcript

NAME = "opentelemetry"
TITLE = "OpenTelemetry GenAI and OpenInference spans"
MARKS = ("resourceSpans", "resourceLogs", "span_kind", "context", "context.span_id", "start_time_unix_nano")
VERSIONS = (
    "GenAI conventions up to 1.36 (message events) and from 1.37 (input and output messages), OpenInference, "
    "Traceloop's attributes before 0.50, and the experimental capture of openai-v2 2.4 in spans and events"
)
READS = (
    "OTLP JSON with spans and log records, one a line or one document; spans as SDKs print them. Of Phoenix: spans of "
    "its client, frames of spans as Parquet, JSON lines or CSV, pages of its server (tried on what 20.26.1 gave)."
)
NOT_READ = (
    "OTLP as protobuf, metrics, spans of tools and retrievers, requests whose content was not captured; of a frame in "
    "CSV what is no body of a request or a response."
)


def matches(sample: Sample) -> bool:
    """Exports of OTLP, spans with a context and attributes, and Phoenix's rows and pages of spans."""
    if ROW.issubset(sample.columns):
        return True
    first = sample.first[0] if isinstance(sample.first, list) and sample.first else sample.first
    return is_export(first) or is_sdk_span(first) or is_row(first) or is_page(first)


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return one transcript per conversation, those of agents inside agents after the others."""
    notes: list[str] = []
    yield from conversations(source.name, NAME, _spans(sample, notes), notes)


def _spans(sample: Sample, notes: list[str]) -> list[Span]:
    spans: list[Span] = []
    events: dict[str, list[Event]] = {}
    for record in sample.all(notes):
        one = sample.document is not None and isinstance(record.value, list)
        for found in chain.from_iterable(map(spans_of, record.value if one else [record.value])):
            if isinstance(found, Span):
                spans.append(found)
            else:
                events.setdefault(found[0], []).append(found[1])
    for span in spans:
        span.events += events.pop(key_of(span), [])
    lonely = sum(map(len, events.values()))
    notes += [f"{lonely} log record(s) of no span in this file left out"] if lonely else []
    return spans
