"""Helicone's requests: one row a request with its bodies, as its export tools and its API give them.

Documentation: https://docs.helicone.ai/tools/export, https://docs.helicone.ai/rest/request/post-v1requestquery-clickhouse

    {"request_id": "r1", "request_created_at": "2026-01-01T12:00:00Z", "request_model": "m", "prompt_tokens": 40,
     "request_properties": {"Helicone-Session-Id": "s1"},
     "request_body": {"model": "m", "messages": [{"role": "user", "content": "Any mail?"}]},
     "response_body": {"choices": [{"message": {"role": "assistant", "content": "Two."}}]}}
"""

from collections.abc import Mapping
from typing import Any

from ctxsim.readers.assembly.spans.products import MODEL, OTHER, Rows, first, span, table
from ctxsim.readers.assembly.spans.span import Span
from ctxsim.readers.source import has

NAME = "helicone"
TITLE = "Helicone requests"
MARKS = ("request_created_at",)
VERSIONS = (
    "rows of 2024 to 2026 as the API's types and export scripts describe them; tested on rows made from a real "
    "client's requests, not on a server's export"
)
READS = "Rows as JSON lines, lists or pages, bodies in the row or fetched beside it: requests, responses, usage, costs."
NOT_READ = "CSV, rows without bodies (export them with --include-body), bodies behind `signed_body_url`, streamed data."

_NO_ID = "00000000-0000-0000-0000-000000000000"


def _is_row(row: Mapping[str, Any]) -> bool:
    bodies = {"request_body", "signed_body_content"}
    return has(row, request_id=str, request_created_at=object) and bool(bodies & row.keys())


def _span(row: Mapping[str, Any]) -> Span:
    fetched = table(row.get("signed_body_content"))
    properties = table(first(row, "request_properties", "properties"))
    session = properties.get("Helicone-Session-Id")
    # Helicone answered it from its own cache: nothing was paid.
    cached = str(row.get("cache_reference_id") or _NO_ID) != _NO_ID
    return span(
        OTHER if cached else MODEL,
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


_ROWS = Rows(NAME, _is_row, ("data",), _span)
matches, read = _ROWS.matches, _ROWS.read
