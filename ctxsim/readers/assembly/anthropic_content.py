"""Messages of Anthropic's API and their content blocks, as several agents keep them.

Documentation: https://docs.anthropic.com/en/api/messages
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ctxsim.readers.assembly.assembly import Assembly, Part
from ctxsim.readers.assembly.blocks import IMAGE_TOKENS, text_and_media
from ctxsim.readers.source import compact_json, convert
from ctxsim.transcript import Usage


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


class Lifetimes(msgspec.Struct):
    """Tokens written to the cache, by how long they are kept."""

    ephemeral_5m_input_tokens: int | None = None
    ephemeral_1h_input_tokens: int | None = None


class BilledUsage(msgspec.Struct):
    """Usage of the Messages API: three parts of the prompt that add up to the whole."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation: Lifetimes | None = None

    def whole(self) -> Usage:
        """The same as tokens of the whole prompt and its cached parts."""
        written, read = self.cache_creation_input_tokens, self.cache_read_input_tokens
        return Usage(
            (self.input_tokens or 0) + (written or 0) + (read or 0),
            self.output_tokens,
            read,
            written,
            cache_write_long_tokens=self.cache_creation.ephemeral_1h_input_tokens if self.cache_creation else None,
        )


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
