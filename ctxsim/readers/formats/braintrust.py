"""Braintrust's logs: one row a span, as its API fetches them and its pages download them.

Documentation: https://www.braintrust.dev/docs/reference/api/Logs, https://www.braintrust.dev/docs/guides/traces

    {"id": "e1", "span_id": "s2", "root_span_id": "s1", "span_parents": ["s1"], "span_attributes": {"type": "llm"},
     "input": [{"role": "user", "content": "Any mail?"}], "metadata": {"model": "m"},
     "output": [{"message": {"role": "assistant", "content": "Two."}}],
     "metrics": {"start": 1767225600.0, "prompt_tokens": 40, "completion_tokens": 2}}
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ctxsim.readers.assembly.spans.conversations import conversations
from ctxsim.readers.assembly.spans.products import MODEL, OTHER, Rows, first, span, table
from ctxsim.readers.assembly.spans.span import Span, finite
from ctxsim.readers.source import Sample, Source, has
from ctxsim.transcript import Transcript

NAME = "braintrust"
TITLE = "Braintrust logs"
MARKS = ("root_span_id",)
VERSIONS = (
    "events of 2026 as the API's documentation describes them; tested on rows that the Python SDK 0.47.0 sent, not on "
    "a server's export"
)
READS = (
    "Events as JSON lines, lists, or pages with `events` or `data`: model calls with messages, tools, usage, costs and "
    "times. Parts of a row that the SDK sent apart are put together."
)
NOT_READ = (
    "CSV and Parquet downloads, scores, attachments, which agent inside another asked (no type says so). Names in tool "
    "definitions come in the SDK's order, not in the client's."
)


def _is_row(row: Mapping[str, Any]) -> bool:
    return has(row, span_id=str, root_span_id=str) and (has(row, span_attributes=dict) or has(row, metrics=dict))


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return one transcript per conversation."""
    notes: list[str] = []
    merged: dict[str, dict[str, Any]] = {}
    for row in _ROWS.rows(sample, notes):
        # Of a later record of the same row, objects are merged, and everything else is replaced.
        into = merged.setdefault(str(row.get("id") or row["span_id"]), {})
        for name, value in row.items():
            if isinstance(value, dict) and isinstance(into.get(name), dict):
                into[name] = into[name] | value
            elif value is not None:
                into[name] = value
    yield from conversations(source.name, NAME, [_span(row) for row in merged.values()], notes)


def _span(row: Mapping[str, Any]) -> Span:
    metadata, metrics, attributes = (table(row.get(name)) for name in ("metadata", "metrics", "span_attributes"))
    parents = row.get("span_parents")
    lived = [finite(metrics.get(f"prompt_cache_creation_{lifetime}_tokens")) for lifetime in ("5m", "1h")]
    written = sum(count or 0 for count in lived) if any(lived) else metrics.get("prompt_cache_creation_tokens")
    return span(
        # What Braintrust's proxy answered from its own cache cost nothing.
        MODEL if attributes.get("type") == "llm" and not metrics.get("cached") else OTHER,
        (row["root_span_id"], row["span_id"], parents[0] if isinstance(parents, list) and parents else ""),
        first(metrics, "start") or row.get("created"),
        row.get("input"),
        row.get("output"),
        model=metadata.get("model"),
        tools=metadata.get("tools"),
        counts={
            "prompt": metrics.get("prompt_tokens"),
            "completion": metrics.get("completion_tokens"),
            "read": metrics.get("prompt_cached_tokens"),
            "written": written,
            "reasoning": metrics.get("completion_reasoning_tokens"),
            "long": lived[1],
        },
        cost_usd=metrics.get("estimated_cost"),
    )


_ROWS = Rows(NAME, _is_row, ("events", "data", "rows"), _span)
matches = _ROWS.matches
