"""AG2, over a conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from drivers.conversation import Row, added, row, together


def _to_ag2(conversation: dict[str, Any]) -> Iterator[list[Any]]:
    """The new events of each request: results that answer one response are one."""
    from ag2 import events as theirs

    for new in added(conversation):
        made: list[Any] = []
        for group in together(new):
            one = group[0]
            if one["role"] == "tool":
                results = [
                    theirs.ToolResultEvent(
                        parent_id=one["tool_call_id"], name=one["name"], result=theirs.ToolResult(one["content"])
                    )
                    for one in group
                ]
                made.append(theirs.ToolResultsEvent(results))
            elif one["role"] == "user":
                made.append(theirs.ModelRequest([theirs.TextInput(one["content"])]))
            else:
                calls = [
                    theirs.ToolCallEvent(id=c["id"], name=c["function"]["name"], arguments=c["function"]["arguments"])
                    for c in one.get("tool_calls") or ()
                ]
                text = theirs.ModelMessage(one["content"]) if one["content"] else None
                made.append(theirs.ModelResponse(message=text, tool_calls=theirs.ToolCallsEvent(calls)))
        yield made


def _ag2_rows(found: Iterable[Any]) -> Iterator[Row]:
    for event in found:
        kind = type(event).__name__
        if kind == "ToolResultsEvent":
            for one in event.results:
                yield row("tool", one.result.parts[0].content, answers=one.parent_id)
        elif kind == "ModelRequest":
            yield row("user", event.parts[0].content)
        else:
            yield row("assistant", event.content or "", [call.id for call in event.tool_calls.calls])


def _ag2(conversation: dict[str, Any], act: Callable[[list[Any]], Any], lasting: bool = False) -> Iterator[list[Row]]:
    kept: list[Any] = []
    for new in _to_ag2(conversation):
        kept += new
        sent = asyncio.run(act(kept))
        yield list(_ag2_rows(sent))
        kept = list(sent) if lasting else kept


def ag2_sliding(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`HistoryLimiter` of 8 events: the sliding window that keeps the first text."""
    from ag2.middleware.builtin.history_limiter import HistoryLimiter

    return _ag2(conversation, _limited(HistoryLimiter(8)))


def ag2_token_limiter(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`TokenLimiter` of 2,500 tokens."""
    from ag2.middleware.builtin.token_limiter import TokenLimiter

    return _ag2(conversation, _limited(TokenLimiter(2_500)))


def _limited(limiter: Any) -> Callable[[list[Any]], Any]:
    async def sent(found: list[Any]) -> Any:
        async def model(events: Any, context: Any) -> Any:
            return events

        return await limiter(None, None).on_llm_call(model, found, None)

    return sent


def ag2_tail_window(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`TailWindowCompact` to 6 events once there are more than 12."""
    from ag2.compact import TailWindowCompact

    async def compacted(found: list[Any]) -> Any:
        return await TailWindowCompact(6).compact(found, None, None) if len(found) > 12 else found  # type: ignore[arg-type]

    return _ag2(conversation, compacted, lasting=True)
