"""Helicone's requests: one row a request with its bodies, as its export tools and its API give them.

Documentation: https://docs.helicone.ai/tools/export, https://docs.helicone.ai/rest/request/post-v1requestquery-clickhouse

    {"request_id": "r1", "request_created_at": "2026-01-01T12:00:00Z", "request_model": "m", "prompt_tokens": 40,
     "request_properties": {"Helicone-Session-Id": "s1"},
     "request_body": {"model": "m", "messages": [{"role": "user", "content": "Any mail?"}]},
     "response_body": {"choices": [{"message": {"role": "assistant", "content": "Two."}}]}}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ctxsim.readers.assembly.spans import Span, conversations
from ctxsim.readers.assembly.spans.products import MODEL, Rows, first, span, table
from ctxsim.readers.source import Sample, Source
from ctxsim.transcript import Transcript

NAME = "helicone"
TITLE = "Helicone requests"
DOCS = "https://docs.helicone.ai/tools/export"
MARKS = ("request_created_at",)
VERSIONS = (
    "rows of 2024 to 2026 by the API's types and its export scripts; tried on a real client's bodies put into such "
    "rows: no export of a server"
)
READS = "Rows as JSON lines, lists or pages, bodies in the row or fetched beside it: requests, responses, usage, costs."
NOT_READ = "CSV, rows without bodies (export them with --include-body), bodies behind `signed_body_url`, streamed data."

_SESSION = "Helicone-Session-Id"


def matches(sample: Sample) -> bool:
    """Rows with a request's id and time, and Helicone's fields for bodies."""
    return _ROWS.begin(sample)


def _is_row(row: Mapping[str, Any]) -> bool:
    return isinstance(row.get("request_id"), str) and (
        "request_created_at" in row and any(name in row for name in ("request_body", "signed_body_content"))
    )


_ROWS = Rows(_is_row, ("data",))


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return one transcript per conversation."""
    notes: list[str] = []
    spans = [_span(row) for row in _ROWS.read(source, sample, notes)]
    yield from conversations(source.name, NAME, spans, notes)


def _span(row: Mapping[str, Any]) -> Span:
    fetched = table(row.get("signed_body_content"))
    properties = table(first(row, "request_properties", "properties"))
    session = properties.get(_SESSION)
    return span(
        MODEL,
        (session or row["request_id"], row["request_id"], ""),
        row["request_created_at"],
        fetched.get("request") or row.get("request_body"),
        fetched.get("response") or row.get("response_body"),
        model=first(row, "response_model", "model_override", "request_model", "model"),
        counts={
            "prompt": row.get("prompt_tokens"),
            "completion": row.get("completion_tokens"),
            "read": row.get("prompt_cache_read_tokens"),
            "written": row.get("prompt_cache_write_tokens"),
            "reasoning": row.get("reasoning_tokens"),
        },
        cost_usd=first(row, "cost", "costUSD"),
        session=session,
    )
