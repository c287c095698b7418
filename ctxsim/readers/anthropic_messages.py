"""Anthropic messages: content blocks `tool_use` and `tool_result`, as a list, an object with `messages`, or JSONL.

Documentation: https://docs.anthropic.com/en/api/messages

    {"system": "Be brief.", "messages": [
      {"role": "user", "content": "Any mail?"},
      {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "search", "input": {"q": "mail"}}]},
      {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "2 messages"}]},
      {"role": "assistant", "content": [{"type": "text", "text": "Two."}]}]}
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
from ctxsim.transcript import Transcript, Usage

NAME = "anthropic-messages"
TITLE = "Anthropic messages"
DOCS = "https://docs.anthropic.com/en/api/messages"
VERSIONS = "any: tool, thinking and image blocks"
READS = "A list, an object with `messages` (and `system`, `tools`), JSONL of either."
NOT_READ = "Signatures, citations, the content of encrypted thinking."


class Message(msgspec.Struct):
    """One message; `content` is a string or a list of blocks."""

    role: Literal["user", "assistant", "system"]
    content: str | list[Any] | None = None


class Block(msgspec.Struct):
    """The fields of the block types that are more than text."""

    type: str
    text: str = ""
    thinking: str = ""
    data: str = ""
    id: str | None = None
    name: str = ""
    input: Any = None
    tool_use_id: str | None = None
    content: Any = None


class BilledUsage(msgspec.Struct):
    """Usage of the Messages API: three parts of the prompt that add up to the whole."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None

    def whole(self) -> Usage:
        """The same as tokens of the whole prompt and its cached parts."""
        written, read = self.cache_creation_input_tokens, self.cache_read_input_tokens
        return Usage((self.input_tokens or 0) + (written or 0) + (read or 0), self.output_tokens, read, written)


def matches(sample: Sample) -> bool:
    """Messages of role user or assistant whose content has tool or thinking blocks."""
    return bool(sample.records) and looks_like_anthropic(_messages(sample.records[0]) or sample.records)


def looks_like_anthropic(messages: list[Any]) -> bool:
    """Whether a message list holds Anthropic tool blocks."""
    return all(isinstance(m, dict) and m.get("role") in ("user", "assistant", "system") for m in messages) and any(
        isinstance(block, dict) and block.get("type") in ("tool_use", "tool_result", "thinking")
        for message in messages
        if isinstance(message.get("content"), list)
        for block in message["content"]
    )


def _messages(value: Any) -> list[Any]:
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        return list(value["messages"])
    return list(value) if isinstance(value, list) else []


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return one transcript per message list."""
    for found in conversations(source, sample, one_per_line=bool(_messages(sample.records[0]))):
        yield _one(*found)


def _one(name: str, where: str, value: Any, notes: list[str]) -> Transcript:
    assembly = Assembly(name, NAME)
    assembly.notes += notes
    assembly.head_recorded = isinstance(value, dict) and bool(value.get("system"))
    if isinstance(value, dict):
        if value.get("system"):
            assembly.system.append(text_and_media(value["system"], 0)[0])
        tools = value.get("tools")
        assembly.tools += [compact_json(tool) for tool in tools] if isinstance(tools, list) else []
    messages = _messages(value)
    if not messages:
        raise InputError(where, "has no messages")
    for number, entry in enumerate(messages):
        message = convert(entry, Message, f"{where} message {number}")
        if message.role == "assistant":
            assembly.response(response_parts(message.content, f"{where} message {number}"))
        elif message.role == "system":
            assembly.system.append(text_and_media(message.content, 0)[0])
            assembly.head_recorded = True
        else:
            add_user_content(assembly, message.content, f"{where} message {number}")
    return assembly.transcript()


def response_parts(content: str | list[Any] | None, where: str) -> list[Part]:
    """Return the parts of an assistant message's content."""
    if not isinstance(content, list):
        return [Part("assistant", content)] if content else []
    parts: list[Part] = []
    for value in content:
        block = convert(value, Block, where) if isinstance(value, dict) else Block("text", text=str(value))
        match block.type:
            case "text":
                if block.text:
                    parts.append(Part("assistant", block.text))
            case "thinking":
                parts.append(Part("reasoning", block.thinking))
            case "redacted_thinking":
                # Encrypted: its size is not known from its bytes.
                parts.append(Part("reasoning"))
            case "tool_use" | "server_tool_use":
                parts.append(Part("tool_call", compact_json(block.input), block.name, block.id or ""))
            case _:
                parts.append(Part("assistant", compact_json(value)))
    return parts


def add_user_content(assembly: Assembly, content: str | list[Any] | None, where: str) -> None:
    """Add a user message: its tool results first, then its other blocks as one message."""
    if not isinstance(content, list):
        if content:
            assembly.user(content)
        return
    others: list[Any] = []
    for value in content:
        if isinstance(value, dict) and value.get("type") == "tool_result":
            block = convert(value, Block, where)
            text, media = text_and_media(block.content, IMAGE_TOKENS["anthropic"])
            assembly.result(text, block.tool_use_id or "", media=media)
        else:
            others.append(value)
    texts = [text_and_media([value], IMAGE_TOKENS["anthropic"]) for value in others]
    assembly.user(*(Part("user", text, media=media) for text, media in texts if text or media))
