"""Inspect, over a conversation."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from drivers.conversation import STUB, Row, row, tokens

FRAMED = "[CONTEXT COMPACTION SUMMARY]\n\n"


def _to_inspect(conversation: dict[str, Any]) -> list[Any]:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageTool, ChatMessageUser
    from inspect_ai.tool import ToolCall

    made: list[Any] = []
    for n, one in enumerate(conversation["messages"]):
        given = {"id": f"m{n}", "content": one["content"]}
        if one["role"] == "user":
            made.append(ChatMessageUser(source=None if made else "input", **given))
        elif one["role"] == "tool":
            made.append(ChatMessageTool(tool_call_id=one["tool_call_id"], function=one["name"], **given))
        else:
            calls = [
                ToolCall(id=c["id"], function=c["function"]["name"], arguments=json.loads(c["function"]["arguments"]))
                for c in one.get("tool_calls") or ()
            ]
            made.append(ChatMessageAssistant(tool_calls=calls or None, **given))
    return made


def _shown(message: Any) -> str:
    """A message's text; of a summary without the frame around it."""
    return f"{FRAMED}{STUB}" if message.text.startswith(FRAMED) else message.text


@cache
def _model() -> Any:
    from inspect_ai.model import ModelAPI, ModelOutput, get_model, modelapi

    @modelapi(name="still")
    class Still(ModelAPI):
        """Counts as Strands does, and says what every summarizer says."""

        async def generate(self, *asked: Any, **given: Any) -> Any:
            return ModelOutput.from_content("still", STUB)

        async def count_tokens(self, input: Any, *given: Any) -> int:
            found = [input] if isinstance(input, str) else input
            return sum(map(_counted, found))

        async def count_tool_tokens(self, tools: Any) -> int:
            return 0

    return get_model("still/none")


def _counted(message: Any) -> int:
    if isinstance(message, str):
        return tokens(message)
    calls = getattr(message, "tool_calls", None) or ()
    made = sum(tokens(call.function) + -(-len(json.dumps(call.arguments)) // 2) for call in calls)
    return tokens(_shown(message)) + made


def _rows(found: Iterable[Any]) -> Iterator[Row]:
    for message in found:
        if message.role == "system":
            continue
        if message.role == "tool":
            yield row("tool", _shown(message), answers=message.tool_call_id)
        else:
            yield row(message.role, _shown(message), [call.id for call in getattr(message, "tool_calls", None) or ()])


def _inspect(conversation: dict[str, Any], strategy: Any) -> Iterator[list[Row]]:
    from inspect_ai.model import ChatMessageSystem, compaction

    system = ChatMessageSystem(content=conversation["system"], id="s")
    everything = [system, *_to_inspect(conversation)]
    handler = compaction(strategy, prefix=everything[:2], tools=[], model=_model())
    for call in conversation["calls"]:
        given = everything[: call["n"] + 1]
        try:
            sent, _ = asyncio.run(handler.compact_input(list(given)))
        except RuntimeError:
            # It gives up: what is too large is all that there is.
            sent = given
        yield list(_rows(sent))


def inspect_edit(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`CompactionEdit` over 5,000 tokens."""
    from inspect_ai.model import CompactionEdit

    return _inspect(conversation, CompactionEdit(threshold=5_000, memory=False))


def inspect_trim(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`CompactionTrim` over 2,500 tokens, to half."""
    from inspect_ai.model import CompactionTrim

    return _inspect(conversation, CompactionTrim(threshold=2_500, memory=False, preserve=0.5))


def inspect_summary(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`CompactionSummary` over 2,500 tokens."""
    from inspect_ai.model import CompactionSummary

    return _inspect(conversation, CompactionSummary(threshold=2_500, memory=False))


def inspect_trim_messages(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`trim_messages` as shipped."""
    from inspect_ai.model import trim_messages

    everything = _to_inspect(conversation)
    for call in conversation["calls"]:
        yield list(_rows(asyncio.run(trim_messages(everything[: call["n"]]))))
