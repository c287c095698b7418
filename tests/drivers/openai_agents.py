"""The OpenAI Agents SDK, over a conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any

from drivers.conversation import STUB, Message, Row, added, requests, row


def openai_trimmer(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`ToolOutputTrimmer` as shipped."""
    from types import SimpleNamespace

    from agents.extensions import ToolOutputTrimmer

    trimmer = ToolOutputTrimmer()
    for found in requests(conversation):
        items: list[Any] = []
        for one in found:
            if one["role"] == "tool":
                output = {"type": "function_call_output", "call_id": one["tool_call_id"], "output": one["content"]}
                items.append(output)
                continue
            items.append({"role": one["role"], "content": one["content"]})
            for c in one.get("tool_calls") or ():
                made = {"name": c["function"]["name"], "arguments": c["function"]["arguments"]}
                items.append({"type": "function_call", "call_id": c["id"], **made})
        data = SimpleNamespace(model_data=SimpleNamespace(input=items, instructions=None), agent=None, context=None)
        sent = trimmer(data).input  # type: ignore[arg-type]
        rows: list[Row] = []
        for item in sent:
            if item.get("type") == "function_call_output":
                rows.append(row("tool", item["output"], answers=item["call_id"]))
            elif item.get("type") == "function_call":
                rows[-1] = [*rows[-1][:3], [*(rows[-1][3] if len(rows[-1]) > 3 else []), item["call_id"]]]
            else:
                rows.append(row(item["role"], item["content"]))
        yield rows


def openai_session_limit(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`SessionSettings` of 12 items."""
    from agents import SQLiteSession
    from agents.memory import SessionSettings

    async def limited(items: list[Any]) -> list[Any]:
        session = SQLiteSession("s", session_settings=SessionSettings(limit=12))
        await session.add_items(items)
        return await session.get_items()

    for found in requests(conversation):
        yield _openai_rows(asyncio.run(limited(_openai_items(found))))


def openai_compaction_session(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """Where `OpenAIResponsesCompactionSession` compacts; what comes of it is as the server's documentation says."""
    from agents.memory import openai_responses_compaction_session as theirs

    kept: list[Any] = []
    for new in added(conversation):
        kept += _openai_items(new)
        candidates = theirs.select_compaction_candidate_items(kept)
        if theirs.default_should_trigger_compaction({"compaction_candidate_items": candidates}):
            kept = [one for one in kept if one.get("role") == "user"] + [{"type": "compaction", "content": STUB}]
        yield _openai_rows(kept)


def _openai_items(found: Iterable[Message]) -> list[Any]:
    items: list[Any] = []
    for one in found:
        if one["role"] == "tool":
            items.append({"type": "function_call_output", "call_id": one["tool_call_id"], "output": one["content"]})
            continue
        if one["content"]:
            items.append({"role": one["role"], "content": one["content"]})
        for c in one.get("tool_calls") or ():
            made = {"name": c["function"]["name"], "arguments": c["function"]["arguments"]}
            items.append({"type": "function_call", "call_id": c["id"], **made})
    return items


def _openai_rows(items: Iterable[Any]) -> list[Row]:
    rows: list[Row] = []
    before = ""
    for item in items:
        kind = item.get("type") or item["role"]
        if kind == "function_call_output":
            rows.append(row("tool", item["output"], answers=item["call_id"]))
        elif kind != "function_call":
            rows.append(row(item.get("role", "assistant"), item["content"]))
        elif before in ("assistant", "function_call"):
            rows[-1] = [*rows[-1][:3], [*(rows[-1][3] if len(rows[-1]) > 3 else []), item["call_id"]]]
        else:
            rows.append(row("assistant", "", [item["call_id"]]))
        before = kind
    return rows
