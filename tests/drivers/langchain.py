"""LangChain and LangMem, over a conversation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from drivers.conversation import STUB, Message, Row, added, requests, row


def _to_langchain(found: Iterable[Message], answered: Iterable[dict[str, Any]] = ()) -> list[Any]:
    """Messages of LangChain; responses of the calls `answered` have the usage that was reported to a fake model."""
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

    usage = {call["n"]: (call["input_tokens"], call["output_tokens"]) for call in answered if "input_tokens" in call}
    told = {"response_metadata": {"model_provider": "fakelistchatmodel"}} if usage else {}
    made: list[Any] = []
    for n, one in enumerate(found):
        content: Any = one["content"]
        if one.get("images"):
            content = [{"type": "text", "text": content}]
            content += [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}] * one["images"]
        if one["role"] == "user":
            made.append(HumanMessage(content, id=str(n)))
        elif one["role"] == "tool":
            made.append(ToolMessage(content, tool_call_id=one["tool_call_id"], name=one["name"], id=str(n)))
        else:
            calls = [
                {"name": c["function"]["name"], "args": json.loads(c["function"]["arguments"]), "id": c["id"]}
                for c in one.get("tool_calls") or ()
            ]
            made.append(AIMessage(one["content"], tool_calls=calls, id=str(n), **told))
            if n in usage:
                of, out = usage[n]
                made[-1].usage_metadata = {"input_tokens": of, "output_tokens": out, "total_tokens": of + out}
    return made


def _langchain_rows(found: Iterable[Any]) -> list[Row]:
    rows = []
    for one in found:
        role = {"human": "user", "ai": "assistant"}.get(one.type, one.type)
        text = one.content
        if isinstance(text, list):
            text = "".join(part if isinstance(part, str) else part.get("text", "") for part in text)
        calls = [call["id"] for call in one.tool_calls] if role == "assistant" else []
        rows.append(row(role, text, calls, one.tool_call_id if role == "tool" else None))
    return rows


def langchain_trim(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`trim_messages` at 2,000 tokens, from a user or a response on."""
    from langchain_core.messages import SystemMessage, trim_messages
    from langchain_core.messages.utils import count_tokens_approximately

    for found in requests(conversation):
        given = [SystemMessage(conversation["system"]), *_to_langchain(found)]
        kept = trim_messages(
            given, max_tokens=2_000, token_counter=count_tokens_approximately, start_on=["human", "ai"],
            include_system=True, allow_partial=True,
        )  # fmt: skip
        yield _langchain_rows(one for one in kept if one.type != "system")


def langchain_clear(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`ClearToolUsesEdit` at 2,000 tokens, keep 3."""
    from langchain.agents.middleware import ClearToolUsesEdit
    from langchain_core.messages.utils import count_tokens_approximately

    for found in requests(conversation):
        given = _to_langchain(found)
        ClearToolUsesEdit(trigger=2_000, keep=3).apply(given, count_tokens=count_tokens_approximately)
        yield _langchain_rows(given)


def langchain_summarize(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`SummarizationMiddleware` at 3,000 tokens, keep 10 messages; usage is reported."""
    from langchain.agents.middleware import SummarizationMiddleware
    from langchain_core.language_models import FakeListChatModel

    middleware = SummarizationMiddleware(
        FakeListChatModel(responses=[STUB] * 100), trigger=("tokens", 3_000), keep=("messages", 10)
    )
    state: list[Any] = []
    for new in added(conversation, _to_langchain(conversation["messages"], conversation["calls"])):
        state = [*state, *new]
        changed = middleware.before_model({"messages": state}, None)  # type: ignore[typeddict-item,arg-type]
        if changed:
            state = [one for one in changed["messages"] if one.type != "remove"]
        yield _langchain_rows(state)


def langmem(conversation: dict[str, Any]) -> Iterator[list[Row]]:
    """`summarize_messages` at 2,500 tokens."""
    from langchain_core.language_models import FakeListChatModel
    from langchain_core.messages import SystemMessage
    from langmem.short_term import summarize_messages

    model = FakeListChatModel(responses=[STUB] * 100)
    summary = None
    for found in requests(conversation):
        given = [SystemMessage(conversation["system"], id="system"), *_to_langchain(found)]
        result = summarize_messages(given, running_summary=summary, model=model, max_tokens=2_500)
        summary = result.running_summary or summary
        yield _langchain_rows(one for one in result.messages if one.id != "system")


def counted(conversation: dict[str, Any]) -> Iterator[int]:
    from langchain_core.messages.utils import count_tokens_approximately

    for found in requests(conversation):
        yield count_tokens_approximately(_to_langchain(found))
