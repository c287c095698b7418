"""LlamaIndex, over a conversation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from drivers.conversation import STUB, Row, added, requests, row, row_of, tokens


def llamaindex_summary(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`ChatSummaryMemoryBuffer` of 2,500 tokens by the injected counter."""
    from llama_index.core.llms import ChatMessage, ChatResponse, MockLLM
    from llama_index.core.memory import ChatSummaryMemoryBuffer

    class Summarizer(MockLLM):
        """Says what every summarizer says."""

        def chat(self, *asked: Any, **given: Any) -> Any:
            return ChatResponse(message=ChatMessage(role="assistant", content=STUB))

    buffer: Any = None
    for new in added(conversation, list(enumerate(conversation["messages"]))):
        for n, one in new:
            told = ChatMessage(role=one["role"], content=one["content"], additional_kwargs={"n": n})
            if buffer is None:
                buffer = ChatSummaryMemoryBuffer.from_defaults(
                    chat_history=[told],
                    llm=Summarizer(),
                    token_limit=2_500,
                    tokenizer_fn=lambda text: range(tokens(text)),  # type: ignore[arg-type,return-value]
                )
            else:
                buffer.put(told)
        places = [(sent.additional_kwargs.get("n"), sent) for sent in buffer.get()]
        yield [row("user", sent.content) if n is None else row_of(conversation["messages"][n]) for n, sent in places]


def llamaindex_buffer(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`ChatMemoryBuffer` of 2,500 tokens by the injected counter."""
    from llama_index.core.llms import ChatMessage
    from llama_index.core.memory import ChatMemoryBuffer

    class Tokens:
        """As many as the joined text has by the injected counter; upstream asks for their number alone."""

        def __init__(self, text: str) -> None:
            self.number = tokens(text)

        def __len__(self) -> int:
            return self.number

    for found in requests(conversation):
        told = [
            ChatMessage(role=one["role"], content=one["content"], additional_kwargs={"n": n})
            for n, one in enumerate(found)
        ]
        buffer = ChatMemoryBuffer.from_defaults(
            chat_history=told,
            token_limit=2_500,
            tokenizer_fn=Tokens,  # type: ignore[arg-type]
        )
        yield [row_of(found[sent.additional_kwargs["n"]]) for sent in buffer.get()]
