"""AutoGen, over a conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from drivers.conversation import Row, digest, tokens


def _autogen(conversation: dict[str, Any], context: Any) -> Iterator[list[Row]]:
    from autogen_core import FunctionCall
    from autogen_core.models import (
        AssistantMessage,
        FunctionExecutionResult,
        FunctionExecutionResultMessage,
        UserMessage,
    )

    known = 0
    names = {}
    for call in conversation["calls"]:
        results: list[Any] = []
        for one in [*conversation["messages"][known : call["n"]], {"role": "end"}]:
            if one["role"] == "tool":
                results.append(
                    FunctionExecutionResult(content=one["content"], name=one["name"], call_id=one["tool_call_id"])
                )
                continue
            if results:
                asyncio.run(context.add_message(FunctionExecutionResultMessage(content=results)))
                results = []
            if one["role"] == "user":
                asyncio.run(context.add_message(UserMessage(content=one["content"], source="user")))
            elif one["role"] == "assistant" and one.get("tool_calls"):
                calls = [
                    FunctionCall(c["id"], c["function"]["arguments"], c["function"]["name"]) for c in one["tool_calls"]
                ]
                names |= {c.id: c.name for c in calls}
                said = AssistantMessage(content=calls, thought=one["content"] or None, source="agent")
                asyncio.run(context.add_message(said))
            elif one["role"] == "assistant":
                asyncio.run(context.add_message(AssistantMessage(content=one["content"], source="agent")))
        known = call["n"]
        rows: list[Row] = []
        for sent in asyncio.run(context.get_messages()):
            if isinstance(sent, FunctionExecutionResultMessage):
                rows += [["tool", len(r.content), digest(r.content), r.call_id] for r in sent.content]
            elif isinstance(sent.content, str):
                role = "user" if isinstance(sent, UserMessage) else "assistant"
                rows.append([role, len(sent.content), digest(sent.content)])
            else:
                thought = sent.thought or ""
                rows.append(["assistant", len(thought), digest(thought), [c.id for c in sent.content]])
        yield rows


def autogen_buffered(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`BufferedChatCompletionContext` of 10."""
    from autogen_core.model_context import BufferedChatCompletionContext

    return _autogen(conversation, BufferedChatCompletionContext(buffer_size=10))


def autogen_head_tail(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`HeadAndTailChatCompletionContext` of 2 and 8."""
    from autogen_core.model_context import HeadAndTailChatCompletionContext

    return _autogen(conversation, HeadAndTailChatCompletionContext(head_size=2, tail_size=8))


def autogen_token_limited(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`TokenLimitedChatCompletionContext` of 2,000 tokens by the injected counter."""
    from autogen_core.model_context import TokenLimitedChatCompletionContext

    class Client:
        """Counts, and does nothing else."""

        def count_tokens(self, messages: Any, tools: Any = ()) -> int:
            return sum(tokens(_autogen_text(one)) for one in messages)

    context = TokenLimitedChatCompletionContext.__new__(TokenLimitedChatCompletionContext)
    context._messages, context._initial_messages = [], []
    context._token_limit, context._model_client, context._tool_schema = 2_000, Client(), []  # type: ignore[assignment]
    return _autogen(conversation, context)


def _autogen_text(message: Any) -> str:
    if isinstance(message.content, str):
        return message.content
    parts = [getattr(message, "thought", None) or ""]
    parts += [p.content if hasattr(p, "call_id") else p.name + p.arguments for p in message.content]
    return "".join(parts)
