"""Langfuse's observations: exports of its tables and of its blob storage, traces and pages of its API.

Documentation: https://langfuse.com/docs/api-and-data-platform/features/export-from-ui,
https://langfuse.com/docs/api-and-data-platform/features/blob-storage-export-fields, https://api.reference.langfuse.com

    {"id": "o1", "traceId": "t1", "type": "GENERATION", "parentObservationId": null,
     "startTime": "2026-01-01T12:00:00Z", "model": "m",
     "input": {"messages": [{"role": "user", "content": "Any mail?"}]},
     "output": {"role": "assistant", "content": "Two."}, "usageDetails": {"input": 40, "output": 2, "total": 42}}
"""

from collections.abc import Mapping
from typing import Any

from ctxsim.readers.assembly.numbers import added
from ctxsim.readers.assembly.spans.products import AGENT, MODEL, OTHER, Rows, decoded, first, span, table
from ctxsim.readers.assembly.spans.span import Span
from ctxsim.readers.source import has
from ctxsim.readers.source.values import objects

NAME = "langfuse"
TITLE = "Langfuse observations"
MARKS = ("traceId", "trace_id")
VERSIONS = (
    "documented fields of API v1 and v2 and of the exports, 2024 to 2026; tested on what the Python SDK 5.0.4 "
    "recorded, not on a server's export"
)
READS = (
    "Observations as JSON lines, lists, CSV, pages, traces or sessions with their observations; generations with "
    "messages, tools, usage, costs; agents inside agents as children."
)
NOT_READ = "Scores, prompts' versions; inputs that are no messages; what a download leaves out as too large."

_TYPES = ("GENERATION", "SPAN", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL")
_PARENT = ("parentObservationId", "parent_observation_id")


def _is_row(row: Mapping[str, Any]) -> bool:
    """Return whether a row is an observation. A top-level one may lack the field of its parent."""
    if not has(row, type=str) or not first(row, "traceId", "trace_id"):
        return False
    known = row["type"] in _TYPES and bool(first(row, "startTime", "start_time"))
    return known or any(name in row for name in _PARENT)


def _span(row: Mapping[str, Any]) -> Span:
    costs = table(first(row, "costDetails", "cost_details"))
    sent = decoded(row.get("input"))
    # Langfuse's handler of LangChain puts tool definitions behind the messages, as messages.
    tools = [entry for entry in objects(sent) if entry.get("role") == "tool" and has(entry, content=dict)]
    return span(
        {"GENERATION": MODEL, "AGENT": AGENT}.get(row["type"].upper(), OTHER),
        (first(row, "traceId", "trace_id"), row.get("id"), first(row, *_PARENT)),
        first(row, "startTime", "start_time"),
        [entry for entry in sent if entry not in tools] if tools else sent,
        row.get("output"),
        tools=[entry["content"] for entry in tools] or None,
        model=first(row, "model", "providedModelName", "provided_model_name"),
        counts=_counts(table(first(row, "usageDetails", "usage_details", "usage"))),
        cost_usd=first(row, "totalCost", "total_cost", "calculatedTotalCost") or costs.get("total"),
        session=first(row, "sessionId", "session_id"),
    )


def _counts(details: Mapping[str, Any]) -> dict[str, int]:
    """Return tokens by kind: Langfuse counts parts of the input and of the output, which add up, under open names."""
    counted = {name: held for name, held in details.items() if isinstance(held, int) and not isinstance(held, bool)}
    if "prompt_tokens" in counted:
        whole, made = {"prompt_tokens"}, {"completion_tokens"}
    else:
        whole = {name for name in counted if name.startswith("input") or name.endswith("input_tokens")}
        made = {name for name in counted if name.startswith("output")}
    parts = {
        "prompt": whole,
        "completion": made,
        "read": {name for name in counted if "cache" in name and not _is_written(name)},
        "written": {name for name in counted if _is_written(name)},
        "reasoning": {name for name in counted if "reasoning" in name},
        "long": {name for name in counted if _is_written(name) and "1h" in name},
    }
    return {part: added(*(counted.get(name) for name in names)) for part, names in parts.items() if names}


def _is_written(name: str) -> bool:
    return any(mark in name for mark in ("cache_creation", "cache_write", "ephemeral"))


_ROWS = Rows(NAME, _is_row, ("data", "observations", "trace", "traces"), _span)
matches, read = _ROWS.matches, _ROWS.read
