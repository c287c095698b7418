"""OpenAI chat-completions messages: `tool_calls` and role `tool`, as a list, an object with `messages`, or JSONL.

Documentation: https://platform.openai.com/docs/api-reference/chat

    {"messages": [
      {"role": "user", "content": "Any mail?"},
      {"role": "assistant", "content": null, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{\\"q\\": \\"mail\\"}"}}]},
      {"role": "tool", "tool_call_id": "c1", "content": "2 messages"},
      {"role": "assistant", "content": "Two."}]}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from ctxsim.errors import InputError
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.readers.blocks import IMAGE_TOKENS, text_and_media
from ctxsim.readers.conversations import conversations
from ctxsim.readers.source import Sample, Source, compact_json, convert
from ctxsim.transcript import Transcript

NAME = "openai-chat"
TITLE = "OpenAI chat-completions messages"
DOCS = "https://platform.openai.com/docs/api-reference/chat"
VERSIONS = "any: `tool_calls`, the older `function_call`, `reasoning_content`"
READS = "A list, an object with `messages` (and `tools`), JSONL of either; used by most frameworks and benchmarks."
NOT_READ = "Log probabilities, audio bytes, refusals apart from their text."

ROLES = {"system", "developer", "user", "assistant", "tool", "function"}


class Function(msgspec.Struct):
    """A called function; `arguments` is a JSON string, kept to the letter even where it isn't valid."""

    name: str
    arguments: Any = ""


class ToolCall(msgspec.Struct):
    """One entry of `tool_calls`."""

    function: Function
    id: str | None = None


class Message(msgspec.Struct):
    """One chat message; older sources have a single `function_call`, DeepSeek adds `reasoning_content`."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Any] | None = None
    tool_calls: list[ToolCall] | None = None
    function_call: Function | None = None
    tool_call_id: str | None = None
    name: str | None = None
    reasoning_content: str | None = None


def matches(sample: Sample) -> bool:
    """A list of chat messages, or objects that hold one under `messages`; `tool` or `system` roles, no block types."""
    if not sample.records:
        return False
    return looks_like_chat(_message_list(sample.records[0]) or _bare_messages(sample))


def looks_like_chat(messages: list[Any]) -> bool:
    """Whether these are chat messages, told from Anthropic's by roles, `tool_calls`, and the absence of tool blocks."""
    if not messages or not all(isinstance(m, dict) and isinstance(m.get("role"), str) for m in messages):
        return False
    if not any(m["role"] in ROLES for m in messages):
        return False
    return not any(
        isinstance(block, dict) and block.get("type") in ("tool_use", "tool_result", "thinking")
        for message in messages
        if isinstance(message.get("content"), list)
        for block in message["content"]
    ) and not any("parts" in message for message in messages)


def _message_list(value: Any) -> list[Any]:
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        return list(value["messages"])
    return list(value) if isinstance(value, list) else []


def _bare_messages(sample: Sample) -> list[Any]:
    """JSONL with one message a line."""
    return sample.records if all(isinstance(r, dict) and "role" in r and "content" in r for r in sample.records) else []


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return one transcript per message list."""
    for found in conversations(source, sample, one_per_line=not _bare_messages(sample)):
        yield _one(*found)


def _one(name: str, where: str, value: Any, notes: list[str]) -> Transcript:
    assembly = Assembly(name, NAME)
    assembly.notes += notes
    messages = _message_list(value)
    if isinstance(value, dict):
        tools = value.get("tools")
        assembly.tools += [compact_json(tool) for tool in tools] if isinstance(tools, list) else []
    if not messages:
        raise InputError(where, "has no messages")
    add_messages(assembly, messages, where)
    return assembly.transcript()


def add_messages(assembly: Assembly, values: list[Any], where: str) -> None:
    """Add chat messages to a transcript. Raises InputError with the message's number for one that doesn't fit."""
    for number, value in enumerate(values):
        message = convert(value, Message, f"{where} message {number}")
        add_message(assembly, message, first=number == 0 or assembly.calls == 0)
    if not any(message.get("role") in ("system", "developer") for message in values if isinstance(message, dict)):
        assembly.head_recorded = False


def add_message(assembly: Assembly, message: Message, first: bool) -> None:
    """Add one chat message; each assistant message is a call."""
    text, media = text_and_media(message.content, IMAGE_TOKENS["openai"])
    match message.role:
        case "system" | "developer" if first:
            assembly.system.append(text)
        case "system" | "developer":
            assembly.notes.append("a system message in mid-conversation is kept as user text")
            assembly.user(text)
        case "user":
            assembly.user(Part("user", text, media=media))
        case "tool" | "function":
            assembly.result(text, message.tool_call_id or "", message.name or "", media)
        case "assistant":
            assembly.response(response_parts(message, text))


def response_parts(message: Message, text: str) -> list[Part]:
    """Return the parts of an assistant message: reasoning, text, tool calls."""
    parts = [Part("reasoning", message.reasoning_content)] if message.reasoning_content else []
    if text:
        parts.append(Part("assistant", text))
    for call in message.tool_calls or []:
        function = call.function
        parts.append(Part("tool_call", compact_json(function.arguments), function.name, call.id or ""))
    if message.function_call:
        parts.append(Part("tool_call", compact_json(message.function_call.arguments), message.function_call.name))
    return parts
