"""Haystack, over a conversation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from drivers.conversation import STUB, Row, added, row


def _to_haystack(conversation: dict[str, Any]) -> list[Any]:
    from haystack.dataclasses import ChatMessage, ToolCall

    made = []
    asked: dict[str, Any] = {}
    for one in conversation["messages"]:
        if one["role"] == "user":
            made.append(ChatMessage.from_user(one["content"]))
        elif one["role"] == "tool":
            made.append(ChatMessage.from_tool(one["content"], origin=asked[one["tool_call_id"]]))
        else:
            calls = [
                ToolCall(c["function"]["name"], json.loads(c["function"]["arguments"]), c["id"])
                for c in one.get("tool_calls") or ()
            ]
            asked |= {call.id: call for call in calls}
            made.append(ChatMessage.from_assistant(one["content"] or None, tool_calls=calls))
    return made


def _haystack(conversation: dict[str, Any], compactor: Any) -> Iterator[list[Row]]:
    from haystack.dataclasses import ChatMessage
    from haystack.hooks.compaction import CompactionHook

    class State:
        """The messages of an agent that reports no usage."""

        def __init__(self) -> None:
            self.data: dict[str, Any] = {"messages": [ChatMessage.from_system(conversation["system"])]}

        def set(self, key: str, value: Any, handler_override: Any = None) -> None:
            self.data[key] = value

    hook, state = CompactionHook(compactor, context_window=3_000), State()
    for new in added(conversation, _to_haystack(conversation)):
        state.data["messages"] = [*state.data["messages"], *new]
        hook.run(state)  # type: ignore[arg-type]
        rows: list[Row] = []
        for sent in state.data["messages"][1:]:
            if result := sent.tool_call_result:
                rows.append(row("tool", result.result, answers=result.origin.id))
            else:
                rows.append(row(sent.role.value, sent.text or "", [call.id for call in sent.tool_calls]))
        yield rows


def haystack_sliding(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`SlidingWindowCompactor` as shipped, of a window of 3,000 tokens."""
    from haystack.hooks.compaction import SlidingWindowCompactor

    return _haystack(conversation, SlidingWindowCompactor())


def haystack_prune(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`ToolResultPruningCompactor` of results over 50 tokens, of a window of 3,000."""
    from haystack.hooks.compaction import ToolResultPruningCompactor

    return _haystack(conversation, ToolResultPruningCompactor(min_tokens=50))


def haystack_summarize(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`SummarizationCompactor` of a window of 3,000 tokens."""
    from haystack.dataclasses import ChatMessage
    from haystack.hooks.compaction import SummarizationCompactor

    class Generator:
        """Says what every summarizer says."""

        def run(self, messages: Any) -> Any:
            return {"replies": [ChatMessage.from_assistant(STUB)]}

    generator: Any = Generator()
    return _haystack(conversation, SummarizationCompactor(generator, approximate_summary_tokens=100))


def counted(conversation: dict[str, Any]) -> Iterator[int]:
    from haystack.token_counters import ApproximateTokenCounter

    counter, everything = ApproximateTokenCounter(), _to_haystack(conversation)
    for call in conversation["calls"]:
        yield counter.count(everything[: call["n"]])
