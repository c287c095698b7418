"""Semantic Kernel, over a conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from drivers.conversation import STUB, Row, added, row


def _semantic_kernel(conversation: dict[str, Any], reducer: Any) -> Iterator[list[Row]]:
    from semantic_kernel.contents import (
        ChatMessageContent,
        FunctionCallContent,
        FunctionResultContent,
        TextContent,
    )

    reducer.messages = [ChatMessageContent(role="system", content=conversation["system"])]  # type: ignore[arg-type]
    for new in added(conversation):
        for one in new:
            items: list[Any] = [TextContent(text=one["content"])] if one["content"] else []
            if one["role"] == "tool":
                items = [FunctionResultContent(id=one["tool_call_id"], name=one["name"], result=one["content"])]
            for c in one.get("tool_calls") or ():
                made = c["function"]
                items.append(FunctionCallContent(id=c["id"], name=made["name"], arguments=made["arguments"]))
            reducer.messages = [*reducer.messages, ChatMessageContent(role=one["role"], items=items)]
        asyncio.run(reducer.reduce())
        rows: list[Row] = []
        for sent in reducer.messages[1:]:
            text = "".join(part.text for part in sent.items if isinstance(part, TextContent))
            if result := next((part for part in sent.items if isinstance(part, FunctionResultContent)), None):
                rows.append(row(sent.role.value, str(result.result), answers=result.id))
            else:
                calls = [part.id for part in sent.items if isinstance(part, FunctionCallContent)]
                rows.append(row(sent.role.value, text, calls))
        yield rows


def sk_truncate(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`ChatHistoryTruncationReducer` to 8, with a threshold of 3."""
    from semantic_kernel.contents import ChatHistoryTruncationReducer

    return _semantic_kernel(conversation, ChatHistoryTruncationReducer(target_count=8, threshold_count=3))


def sk_summarize(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`ChatHistorySummarizationReducer` to 8, with a threshold of 3."""
    from semantic_kernel.connectors.ai.chat_completion_client_base import ChatCompletionClientBase
    from semantic_kernel.contents import ChatHistorySummarizationReducer, ChatMessageContent

    class Summarizing(ChatHistorySummarizationReducer):
        """Says what every summarizer says."""

        async def _summarize(self, messages: Any) -> Any:
            return ChatMessageContent(role="assistant", content=STUB)  # type: ignore[arg-type]

    client = ChatCompletionClientBase(ai_model_id="none")
    return _semantic_kernel(conversation, Summarizing(service=client, target_count=8, threshold_count=3))
