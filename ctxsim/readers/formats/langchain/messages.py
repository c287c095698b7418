"""One LangChain message in any of its three dumped forms, and what it adds to a transcript.

Documentation: https://python.langchain.com/api_reference/core/messages.html
"""

from collections import Counter as Frequencies
from typing import Any

import msgspec
from msgspec import field

from ctxsim.readers.assembly import IMAGE_TOKENS, Assembly, Part, chat_messages, text_and_media
from ctxsim.readers.source import compact_json, convert
from ctxsim.transcript import Usage

_CLASSES = {
    "HumanMessage": "human",
    "AIMessage": "ai",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "function",
    "ChatMessage": "chat",
    "RemoveMessage": "remove",
}
_ROLES = {"user": "human", "assistant": "ai", "system": "system", "developer": "system", "tool": "tool"}
_CALL_BLOCKS = ("tool_use", "tool_call", "function_call", "input_json_delta", "invalid_tool_call")


class ToolCall(msgspec.Struct):
    """A call; arguments that LangChain couldn't parse are a string."""

    name: str | None = None
    args: Any = None
    id: str | None = None


_USAGE = "usage_metadata"
_GIVEN = f"{_USAGE}.input_token_details"


class Message(msgspec.Struct):
    """The fields of all kinds of messages."""

    content: str | list[Any] = ""
    role: str = ""
    name: str | None = None
    tool_calls: list[ToolCall] | None = None
    invalid_tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None
    input_tokens: int | None = field(default=None, name=f"{_USAGE}.input_tokens")
    output_tokens: int | None = field(default=None, name=f"{_USAGE}.output_tokens")
    read: int | None = field(default=None, name=f"{_GIVEN}.cache_read")
    written: int | None = field(default=None, name=f"{_GIVEN}.cache_creation")
    written_5m: int | None = field(default=None, name=f"{_GIVEN}.ephemeral_5m_input_tokens")
    written_1h: int | None = field(default=None, name=f"{_GIVEN}.ephemeral_1h_input_tokens")
    reasoning: int | None = field(default=None, name=f"{_USAGE}.output_token_details.reasoning")
    response_metadata: dict[str, Any] | None = None
    additional_kwargs: dict[str, Any] | None = None

    @property
    def model(self) -> str:
        """The model as the provider names it."""
        metadata = self.response_metadata or {}
        return str(metadata.get("model_name") or metadata.get("model") or "")

    @property
    def usage(self) -> Usage | None:
        """What was counted, if anything was; `input_tokens` is the whole prompt."""
        # LangChain leaves written tokens out of `cache_creation` where it tells their lifetimes.
        written = self.written or (self.written_5m or 0) + (self.written_1h or 0) or self.written
        counted = (self.output_tokens, self.read, written, self.reasoning, None, self.written_1h)
        return Usage(self.input_tokens, *counted) if self.input_tokens else None


def kind_and_fields(value: Any) -> tuple[str, Any]:
    """Return what kind of message a JSON value is and where its fields are; '' if it is none."""
    if not isinstance(value, dict):
        return "", None
    identity = value.get("id")
    if value.get("lc") and isinstance(identity, list) and identity and isinstance(value.get("kwargs"), dict):
        name = str(identity[-1]).removesuffix("Chunk")
        return _CLASSES.get(name, ""), value["kwargs"]
    kind = str(value.get("type"))
    # Pieces of a stream, when they were put together, carry the name of their class.
    kind = _CLASSES.get(kind.removesuffix("Chunk"), kind)
    if kind not in _CLASSES.values():
        return "", None
    if isinstance(value.get("data"), dict) and "content" in value["data"]:
        return kind, value["data"]
    # `model_dump` has the fields beside the kind; these two stand in messages of every kind.
    return (kind, value) if "content" in value and "additional_kwargs" in value else ("", None)


def is_message(value: Any) -> bool:
    """Whether a JSON value is a message in one of the dumped forms."""
    return kind_and_fields(value)[0] != ""


def add_messages(assembly: Assembly, values: list[Any], where: str, skipped: Frequencies[str]) -> None:
    """Add messages to a transcript; every message of the model is a call. What is no message is counted."""
    for number, value in enumerate(values):
        kind, fields = kind_and_fields(value)
        if kind in ("", "remove"):
            skipped["mark that removes a message" if kind else "entry that is no message"] += 1
            continue
        message = convert(fields, Message, f"{where} message {number}")
        if kind == "chat":
            kind = _ROLES.get(message.role, "human")
        text, media = text_and_media(message.content, IMAGE_TOKENS["openai"])
        match kind:
            case "system" if not assembly.calls:
                assembly.system.append(text)
            case "system":
                skipped["system message in mid-conversation, kept as user text instead"] += 1
                assembly.user(text)
            case "human":
                assembly.user(Part("user", text, media=media))
            case "ai":
                assembly.response(response_parts(message), message.usage, model=message.model)
            case _:
                assembly.result(text, message.tool_call_id or "", message.name or "", media)


def response_parts(message: Message) -> list[Part]:
    """Return reasoning, text and tool calls of a message of the model."""
    extra = message.additional_kwargs or {}
    reasoning = extra.get("reasoning_content")
    parts = [Part("reasoning", reasoning)] if isinstance(reasoning, str) and reasoning else []
    blocks = message.content if isinstance(message.content, list) else [message.content] if message.content else []
    for block in blocks:
        fields: dict[str, Any] = block if isinstance(block, dict) else {}
        kind = fields.get("type", "text")
        if kind in ("thinking", "reasoning", "redacted_thinking"):
            # Without the text, what is there is encrypted.
            text = next((fields[key] for key in ("thinking", "reasoning") if isinstance(fields.get(key), str)), "")
            parts.append(Part("reasoning", text))
        elif kind not in _CALL_BLOCKS or not (message.tool_calls or message.invalid_tool_calls):
            text, media = text_and_media([block], IMAGE_TOKENS["openai"])
            parts += [Part("assistant", text, media=media)] if text or media else []
    written = _written_arguments(extra)
    for call in [*(message.tool_calls or []), *(message.invalid_tool_calls or [])]:
        arguments = written.get(call.id or "") or compact_json(call.args)
        parts.append(Part("tool_call", arguments, call.name or "", call.id or ""))
    return parts


def _written_arguments(extra: dict[str, Any]) -> dict[str, str]:
    """Return by id the arguments as the model wrote them, where the provider's own form was kept too."""
    try:
        calls = msgspec.convert(extra.get("tool_calls") or [], list[chat_messages.ToolCall])
    except msgspec.ValidationError:
        # Another provider's form; `tool_calls` of the message has the same, parsed.
        return {}
    return {
        call.id: call.function.arguments
        for call in calls
        if call.id and call.function and isinstance(call.function.arguments, str)
    }
