"""Calls of W&B Weave: one row a call of a traced function, as its server streams them and its pages export them.

Documentation: https://docs.wandb.ai/weave/guides/tracking/querying-calls,
https://docs.wandb.ai/weave/guides/tracking/call-schema-reference

    {"id": "c2", "trace_id": "t1", "parent_id": "c1", "op_name": "weave:///ann/mail/op/openai.chat.completions.create:x",
     "started_at": "2026-01-01T12:00:00Z", "attributes": {"weave": {"kind": "llm"}},
     "inputs": {"model": "m", "messages": [{"role": "user", "content": "Any mail?"}]},
     "output": {"choices": [{"message": {"role": "assistant", "content": "Two."}}],
       "usage": {"prompt_tokens": 40, "completion_tokens": 2}}}
"""

from collections.abc import Mapping
from typing import Any

from ctxsim.readers.assembly.requests.bodies import api_of, looks_like_request
from ctxsim.readers.assembly.spans.products import AGENT, MODEL, OTHER, Rows, first, span, table
from ctxsim.readers.assembly.spans.span import Span, finite

NAME = "weave"
TITLE = "W&B Weave calls"
MARKS = ("op_name",)
VERSIONS = "the call schema of 2026; tested on calls that the Python SDK 0.54.0 sent, not on a server's export"
READS = (
    "Calls as JSON lines, lists or batches: those of model clients with the whole request and response, usage, costs "
    "where the server adds them, times; agents inside agents as children where calls are marked as agents."
)
NOT_READ = "CSV, feedback, files and objects behind references, calls of functions that only contain a model's."

_COSTS = tuple(
    f"{part}_tokens_total_cost" for part in ("prompt", "completion", "cache_read_input", "cache_creation_input")
)
"""Parts of a call's cost: that of the prompt is of its uncached tokens."""


def _is_row(row: Mapping[str, Any]) -> bool:
    return all(row.get(name) is not None for name in ("op_name", "trace_id", "started_at", "inputs"))


def _span(row: Mapping[str, Any]) -> Span:
    inputs, summary = table(row["inputs"]), table(row.get("summary"))
    usage = [used for used in table(summary.get("usage")).values() if isinstance(used, dict)]
    counted = usage[0] if len(usage) == 1 else {}
    details = table(counted.get("prompt_tokens_details"))
    costs = [made for made in table(table(summary.get("weave")).get("costs")).values() if isinstance(made, dict)]
    return span(
        _kind(row, inputs),
        (row["trace_id"], row.get("id"), row.get("parent_id")),
        row["started_at"],
        inputs,
        row.get("output"),
        model=inputs.get("model"),
        counts={
            "prompt": first(counted, "prompt_tokens", "input_tokens"),
            "completion": first(counted, "completion_tokens", "output_tokens"),
            "read": first(counted, "cache_read_input_tokens") or details.get("cached_tokens"),
            "written": counted.get("cache_creation_input_tokens"),
            "reasoning": table(counted.get("completion_tokens_details")).get("reasoning_tokens"),
        },
        cost_usd=sum(finite(made.get(name)) or 0.0 for made in costs for name in _COSTS) if costs else None,
        session=row.get("thread_id"),
    )


def _kind(row: Mapping[str, Any], inputs: Mapping[str, Any]) -> str:
    """Return a call's kind. Older calls state none: one with an API's request and an API's response is a model's."""
    told = table(table(row.get("attributes")).get("weave")).get("kind")
    if isinstance(told, str):
        return {"llm": MODEL, "agent": AGENT}.get(told, OTHER)
    return MODEL if looks_like_request(inputs) and api_of(table(row.get("output"))) is not None else OTHER


_ROWS = Rows(NAME, _is_row, ("batch", "calls", "data"), _span)
matches, read = _ROWS.matches, _ROWS.read
