"""AutoGen, over a conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from drivers.conversation import Row, added, row, together, tokens


def _autogen(conversation: dict[str, Any], context: Any) -> Iterator[list[Row]]:
    from autogen_core import FunctionCall
    from autogen_core.models import (
        AssistantMessage,
        FunctionExecutionResult,
        FunctionExecutionResultMessage,
        UserMessage,
    )

    for new in added(conversation):
        for group in together(new):
            said: Any
            one = group[0]
            if one["role"] == "tool":
                results = [
                    FunctionExecutionResult(content=one["content"], name=one["name"], call_id=one["tool_call_id"])
                    for one in group
                ]
                said = FunctionExecutionResultMessage(content=results)
            elif one["role"] == "user":
                said = UserMessage(content=one["content"], source="user")
            elif one.get("tool_calls"):
                calls = [
                    FunctionCall(c["id"], c["function"]["arguments"], c["function"]["name"]) for c in one["tool_calls"]
                ]
                said = AssistantMessage(content=calls, thought=one["content"] or None, source="agent")
            else:
                said = AssistantMessage(content=one["content"], source="agent")
            asyncio.run(context.add_message(said))
        rows: list[Row] = []
        for sent in asyncio.run(context.get_messages()):
            if isinstance(sent, FunctionExecutionResultMessage):
                rows += [row("tool", one.content, answers=one.call_id) for one in sent.content]
            elif isinstance(sent.content, str):
                rows.append(row("user" if isinstance(sent, UserMessage) else "assistant", sent.content))
            else:
                rows.append(row("assistant", sent.thought or "", [call.id for call in sent.content]))
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
