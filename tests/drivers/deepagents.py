"""Deep Agents, over a conversation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from drivers.conversation import STUB, Row
from drivers.langchain import _langchain_rows, _to_langchain


def deepagents(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """Its summarization from 3,000 tokens on, keep 6 messages; usage is reported; nothing is written to files."""
    from deepagents.middleware import summarization as theirs
    from langchain.agents.middleware.types import ModelRequest, ModelResponse
    from langchain_core.language_models import FakeListChatModel
    from langchain_core.messages import AIMessage, SystemMessage

    class Summarizing(theirs._DeepAgentsSummarizationMiddleware):  # type: ignore[misc]
        """Says what every summarizer says."""

        def _offload_to_backend(self, *given: Any) -> None:
            return None

        def _offload_inline_media(self, backend: Any, messages: Any) -> Any:
            return messages, 0

        def _create_summary(self, messages: Any) -> str:
            return STUB

    model = FakeListChatModel(responses=[STUB])
    middleware = Summarizing(model, backend=None, trigger=("tokens", 3_000), keep=("messages", 6))
    state: dict[str, Any] = {}
    everything = _to_langchain(conversation["messages"], conversation["calls"])
    for call in conversation["calls"]:
        sent: list[Any] = []

        def handler(request: Any, sent: list[Any] = sent) -> Any:
            sent[:] = request.messages
            return ModelResponse(result=[AIMessage("done")])

        request = ModelRequest(
            model=model, messages=everything[: call["n"]], system_message=SystemMessage(conversation["system"]),
            tools=[], state=state, runtime=None,
        )  # fmt: skip
        command = getattr(middleware.wrap_model_call(request, handler), "command", None)
        state = state | (command.update if command else {})
        yield _langchain_rows(sent)
