"""OpenTelemetry spans of requests to models: GenAI conventions and OpenInference, as OTLP JSON or the SDK's own.

One export a line (the Collector's file exporter), one document, or one span a line. Each span is a whole request, so
conversations are put together by what a request repeats of earlier ones; agents inside agents are their children.

Documentation: https://opentelemetry.io/docs/specs/semconv/gen-ai/, https://opentelemetry.io/docs/specs/otlp/,
https://arize-ai.github.io/openinference/spec/semantic_conventions.html,
https://opentelemetry.io/docs/specs/otel/trace/sdk_exporters/stdout/,
https://arize.com/docs/phoenix/tracing/how-to-tracing/importing-and-exporting-traces/extract-data-from-spans

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

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from ctxsim.readers.assembly.conversations import entries
from ctxsim.readers.assembly.gemini import camel
from ctxsim.readers.assembly.spans.conversations import conversations
from ctxsim.readers.assembly.spans.products import table
from ctxsim.readers.assembly.spans.span import Attributes, Event, Span, flat
from ctxsim.readers.source import Sample, Source, has, time_s, under
from ctxsim.readers.source.values import objects
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

_ROW = frozenset(("context.span_id", "context.trace_id", "parent_id", "span_kind"))
"""Columns that identify Phoenix's frame of spans; attributes have other columns."""


def matches(sample: Sample) -> bool:
    """Exports of OTLP, spans with a context and attributes, and Phoenix's rows and pages of spans."""
    if _ROW.issubset(sample.columns):
        return True
    first = sample.first[0] if isinstance(sample.first, list) and sample.first else sample.first
    exported = has(first, resourceSpans=list) or has(first, resourceLogs=list)
    return exported or _is_sdk_span(first) or _is_row(first) or _is_page(first)


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return one transcript per conversation, those of agents inside agents after the others."""
    notes: list[str] = []
    yield from conversations(source.name, NAME, _spans(sample, notes), notes)


def _spans(sample: Sample, notes: list[str]) -> list[Span]:
    spans: list[Span] = []
    events: defaultdict[str, list[Event]] = defaultdict(list)
    for record in entries(sample, notes):
        spans += _spans_of(record.value)
        for span_key, event in _logged(record.value):
            events[span_key].append(event)
    for span in spans:
        span.events += events.pop(f"{span.trace} {span.id}", [])
    lonely = sum(map(len, events.values()))
    notes += [f"{lonely} log record(s) of no span in this file left out"] if lonely else []
    return spans


def _is_sdk_span(value: Any) -> bool:
    """Return whether a value is a span in the form that the SDK prints and Phoenix exports."""
    return has(value, context=dict, attributes=dict) and "span_id" in value["context"]


def _is_row(value: Any) -> bool:
    """Return whether a value is a row of Phoenix's frames of spans, where nested fields are columns."""
    return isinstance(value, dict) and value.keys() >= _ROW


def _is_page(value: Any) -> bool:
    """Return whether a value is a page of OTLP spans from Phoenix's server, in snake case."""
    spans = under(value, "data")
    names = dict.fromkeys(("span_id", "trace_id", "attributes", "start_time_unix_nano"), object)
    return isinstance(spans, list) and any(has(span, **names) for span in spans)


def _spans_of(value: Any) -> Iterator[Span]:
    if _is_sdk_span(value):
        yield _sdk_span(value)
    elif _is_row(value):
        yield _sdk_span(_nested_row(value))
    elif _is_page(value):
        yield from (_otlp_span(_in_camel_case(span)) for span in objects(value, "data"))
    for resource in objects(value, "resourceSpans"):
        for scope in objects(resource, "scopeSpans") or objects(resource, "instrumentationLibrarySpans"):
            yield from map(_otlp_span, objects(scope, "spans"))


def _logged(value: Any) -> Iterator[tuple[str, Event]]:
    """Yield the log records of an export as events, each after the key of its span."""
    for resource in objects(value, "resourceLogs"):
        for scope in objects(resource, "scopeLogs"):
            for record in objects(scope, "logRecords"):
                attributes = _attributes(record.get("attributes"))
                name = str(record.get("eventName") or attributes.get("event.name") or "")
                body = _value(record.get("body"))
                yield f"{record.get('traceId')} {record.get('spanId')}", Event(name, attributes, body)


def _otlp_span(span: dict[str, Any]) -> Span:
    lost = [span.get(name) for name in ("droppedAttributesCount", "droppedEventsCount")]
    return Span(
        str(span.get("traceId", "")),
        str(span.get("spanId", "")),
        str(span.get("parentSpanId") or ""),
        _nanoseconds(span.get("startTimeUnixNano")),
        _attributes(span.get("attributes")),
        [Event(str(event.get("name", "")), _attributes(event.get("attributes"))) for event in objects(span, "events")],
        sum(count for count in lost if isinstance(count, int)),
    )


def _sdk_span(span: dict[str, Any]) -> Span:
    context = span["context"]
    attributes = dict(flat(span["attributes"]))
    if has(span, span_kind=str):
        # Phoenix moves the kind out of the attributes.
        attributes.setdefault("openinference.span.kind", span["span_kind"])
    return Span(
        str(context.get("trace_id", "")),
        str(context["span_id"]),
        str(span.get("parent_id") or ""),
        time_s(span.get("start_time")),
        attributes,
        [Event(str(one.get("name", "")), flat(table(one.get("attributes")))) for one in objects(span, "events")],
    )


def _nested_row(row: Mapping[str, Any]) -> dict[str, Any]:
    span: dict[str, Any] = {"context": {}, "attributes": {}}
    for name, value in row.items():
        where, _, inner = name.partition(".")
        if where in span and inner:
            span[where][inner] = value
        elif value is not None:
            span[name] = value.isoformat() if isinstance(value, datetime) else value
    return span


def _in_camel_case(value: Any) -> Any:
    """Return a value of Phoenix's server, in snake case and with nulls, as OTLP spells it."""
    if isinstance(value, list):
        return [_in_camel_case(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    return camel({name: _in_camel_case(entry) for name, entry in value.items() if entry is not None})


def _nanoseconds(value: Any) -> float | None:
    try:
        return int(value) / 1e9 if value else None
    except OverflowError:
        # Infinity is noted later, like all times beyond all dates.
        return math.inf
    except (TypeError, ValueError):
        return None


def _attributes(values: Any) -> Attributes:
    return {str(entry.get("key", "")): _value(entry.get("value")) for entry in objects(values)}


def _value(value: Any) -> Any:
    """Return an OTLP value, such as `{"stringValue": …}`, as plain JSON; OTLP writes 64-bit integers as text."""
    if not isinstance(value, dict) or not value:
        return None
    kind, held = next(iter(value.items()))
    if kind == "arrayValue":
        return [_value(entry) for entry in objects(held, "values")]
    if kind == "kvlistValue":
        return dict(_attributes(objects(held, "values")))
    if kind == "intValue":
        try:
            return int(held)
        except (TypeError, ValueError, OverflowError):
            return None
    return held
