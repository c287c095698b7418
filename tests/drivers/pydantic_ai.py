"""Pydantic AI, over a conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from drivers.conversation import STUB, Row, added, requests, row


def _pydantic(conversation: dict[str, Any], capability: Any, limit: int = 3_000) -> Iterator[list[Row]]:
    from types import SimpleNamespace

    from pydantic_ai.messages import (
        ModelRequest,
        ModelResponse,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
        repair_messages,
    )
    from pydantic_ai_harness.compaction._shared import exceeds

    state: list[Any] = []
    for new in added(conversation):
        for one in new:
            if one["role"] == "assistant":
                parts: list[Any] = [TextPart(one["content"])] if one["content"] else []
                parts += [
                    ToolCallPart(c["function"]["name"], c["function"]["arguments"], c["id"])
                    for c in one.get("tool_calls") or ()
                ]
                state.append(ModelResponse(parts))
                continue
            if one["role"] == "user":
                # A run begins with what is stored made valid, and merged.
                state = repair_messages(state, repair_last_response=False)
            part: Any = UserPromptPart(one["content"])
            if one["role"] == "tool":
                part = ToolReturnPart(one["name"], one["content"], one["tool_call_id"])
            if state and isinstance(state[-1], ModelRequest):
                state[-1] = ModelRequest([*state[-1].parts, part], instructions=conversation["system"])
            else:
                state.append(ModelRequest([part], instructions=conversation["system"]))
        # What stands before it in `before_model_request`: whether the limit is passed.
        if exceeds(state, None, limit, None):
            state = asyncio.run(capability.compact(list(state), SimpleNamespace(model=None)))
        rows: list[Row] = []
        for one in state:
            if isinstance(one, ModelResponse):
                text = "".join(p.content for p in one.parts if isinstance(p, TextPart))
                calls = [p.tool_call_id for p in one.parts if isinstance(p, ToolCallPart)]
                rows.append(row("assistant", text, calls))
                continue
            for p in one.parts:
                answers = p.tool_call_id if isinstance(p, ToolReturnPart) else None
                rows.append(row("user" if answers is None else "tool", p.content, answers=answers))
        yield rows


def pydantic_clear(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`ClearToolResults` at 3,000 tokens, if 500 come free."""
    from pydantic_ai_harness.compaction import ClearToolResults

    return _pydantic(conversation, ClearToolResults(max_tokens=3_000, min_clear_tokens=500))


def pydantic_sliding(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`SlidingWindowCompaction` at 3,000 tokens, keep 1,500."""
    from pydantic_ai_harness.compaction import SlidingWindowCompaction

    return _pydantic(conversation, SlidingWindowCompaction(max_tokens=3_000, keep_tokens=1_500))


def pydantic_summarize(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`SummarizingCompaction` at 3,000 tokens, keep 6 messages."""
    from pydantic_ai_harness.compaction import SummarizingCompaction

    class Summarizing(SummarizingCompaction[Any]):
        """Says what every summarizer says."""

        async def _summarize(self, *asked: Any, **given: Any) -> str:
            return STUB

    return _pydantic(conversation, Summarizing(max_tokens=3_000, keep_messages=6))


def pydantic_tiered(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`TieredCompaction` to 3,000 tokens: clear, then keep 8 messages."""
    from pydantic_ai_harness.compaction import ClearToolResults, SlidingWindowCompaction, TieredCompaction

    tiers = [ClearToolResults(max_tokens=1), SlidingWindowCompaction(max_tokens=1, keep_messages=8)]
    capability = TieredCompaction(tiers=tiers, target_tokens=3_000)
    return _pydantic(conversation, capability)


def pydantic_clamp(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`ClampOversizedMessages` of 120 characters to 40 and 20."""
    from pydantic_ai_harness.compaction import ClampOversizedMessages

    capability = ClampOversizedMessages(max_part_chars=120, keep_head_chars=40, keep_tail_chars=20)
    return _pydantic(conversation, capability, -1)


def counted(conversation: dict[str, Any]) -> Iterator[int]:
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
    from pydantic_ai_harness.compaction._shared import estimate_token_count

    for found in requests(conversation):
        made: list[Any] = []
        for one in found:
            if one["role"] == "user":
                made.append(ModelRequest([UserPromptPart(one["content"])]))
            elif one["role"] == "tool":
                made.append(ModelRequest([ToolReturnPart(one["name"], one["content"], one["tool_call_id"])]))
            else:
                calls = [
                    ToolCallPart(c["function"]["name"], c["function"]["arguments"], c["id"])
                    for c in one.get("tool_calls") or ()
                ]
                made.append(ModelResponse([TextPart(one["content"]), *calls]))
        yield estimate_token_count(made)
