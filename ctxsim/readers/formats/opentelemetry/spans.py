"""Spans and their events, from the JSON of OTLP, of the SDKs, and of Phoenix.

Documentation: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding,
https://opentelemetry.io/docs/specs/otel/trace/sdk_exporters/stdout/,
https://arize.com/docs/phoenix/tracing/how-to-tracing/importing-and-exporting-traces/extract-data-from-spans
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from ctxsim.readers.assembly.spans import Attributes, Event, Span
from ctxsim.readers.assembly.spans.span import flat
from ctxsim.readers.source import has, time_s, under

ROW = frozenset(("context.span_id", "context.trace_id", "parent_id", "span_kind"))
"""Columns of Phoenix's frame of spans; attributes are others."""


def is_export(value: Any) -> bool:
    """Whether a JSON value is an export of OTLP."""
    return has(value, resourceSpans=list) or has(value, resourceLogs=list)


def is_sdk_span(value: Any) -> bool:
    """Whether a JSON value is a span as the SDK prints it, and Phoenix hands it out."""
    return has(value, context=dict, attributes=dict) and "span_id" in value["context"]


def is_row(value: Any) -> bool:
    """Whether a JSON value is a row of Phoenix's frames of spans: what is nested elsewhere stands in columns."""
    return isinstance(value, dict) and value.keys() >= ROW


def is_page(value: Any) -> bool:
    """Whether a JSON value is a page of OTLP spans as Phoenix's server hands them out, in snake case."""
    spans = under(value, "data")
    names = dict.fromkeys(("span_id", "trace_id", "attributes", "start_time_unix_nano"), object)
    return isinstance(spans, list) and any(has(span, **names) for span in spans)


def spans_of(value: Any) -> Iterator[Span | tuple[str, Event]]:
    """Return the spans of one JSON value, and its log records as events with the key of their span."""
    if is_sdk_span(value):
        yield _sdk_span(value)
        return
    if is_row(value):
        yield _sdk_span(_nested_row(value))
        return
    if is_page(value):
        yield from (_otlp_span(_in_camel_case(span)) for span in _list(value, "data"))
        return
    for resource in _list(value, "resourceSpans"):
        for scope in _list(resource, "scopeSpans") or _list(resource, "instrumentationLibrarySpans"):
            yield from (_otlp_span(span) for span in _list(scope, "spans"))
    for resource in _list(value, "resourceLogs"):
        for scope in _list(resource, "scopeLogs"):
            for record in _list(scope, "logRecords"):
                attributes = _attributes(record.get("attributes"))
                name = str(record.get("eventName") or attributes.get("event.name") or "")
                body = _value(record.get("body"))
                yield f"{record.get('traceId')} {record.get('spanId')}", Event(name, attributes, body)


def key_of(span: Span) -> str:
    """Return what events name a span by."""
    return f"{span.trace} {span.id}"


def _list(value: Any, name: str) -> list[Any]:
    found = under(value, name)
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def _otlp_span(span: dict[str, Any]) -> Span:
    lost = [span.get(name) for name in ("droppedAttributesCount", "droppedEventsCount")]
    return Span(
        str(span.get("traceId", "")),
        str(span.get("spanId", "")),
        str(span.get("parentSpanId") or ""),
        str(span.get("name", "")),
        _nanoseconds(span.get("startTimeUnixNano")),
        _attributes(span.get("attributes")),
        [Event(str(event.get("name", "")), _attributes(event.get("attributes"))) for event in _list(span, "events")],
        sum(count for count in lost if isinstance(count, int)),
    )


def _sdk_span(span: dict[str, Any]) -> Span:
    context = span["context"]
    events = [Event(str(event.get("name", "")), flat(event.get("attributes") or {})) for event in _list(span, "events")]
    attributes = dict(flat(span["attributes"]))
    if has(span, span_kind=str):
        # Phoenix takes it out of the attributes.
        attributes.setdefault("openinference.span.kind", span["span_kind"])
    return Span(
        str(context.get("trace_id", "")),
        str(context["span_id"]),
        str(span.get("parent_id") or ""),
        str(span.get("name", "")),
        time_s(span.get("start_time")),
        attributes,
        events,
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
    """What Phoenix hands out in snake case and with nulls, as OTLP spells it."""
    if isinstance(value, list):
        return [_in_camel_case(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    return {_camel(name): _in_camel_case(entry) for name, entry in value.items() if entry is not None}


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def _nanoseconds(value: Any) -> float | None:
    try:
        return int(value) / 1e9 if value else None
    except (TypeError, ValueError):
        return None


def _attributes(values: Any) -> Attributes:
    return {str(entry.get("key", "")): _value(entry.get("value")) for entry in _list({"": values}, "")}


def _value(value: Any) -> Any:
    """A value of OTLP, `{"stringValue": …}` and the like, as JSON has it; 64-bit integers stand there as text."""
    if not isinstance(value, dict) or not value:
        return None
    kind, held = next(iter(value.items()))
    if kind == "arrayValue":
        return [_value(entry) for entry in _list(held, "values")]
    if kind == "kvlistValue":
        return dict(_attributes(_list(held, "values")))
    if kind == "intValue":
        try:
            return int(held)
        except (TypeError, ValueError):
            return None
    return held
