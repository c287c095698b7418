"""Records of Kimi Code's wire file: steps of an agent, and what the model is sent of a tool's result.

Source: https://github.com/MoonshotAI/kimi-code (`packages/agent-core/src/agent/context/tool-result-render.ts`)
"""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from ctxsim.readers.assembly import IMAGE_TOKENS, Part, text_and_media
from ctxsim.readers.assembly.numbers import in_parts
from ctxsim.readers.source import compact_json, time_s
from ctxsim.transcript import Media, Usage

_FAILED = "ERROR: Tool execution failed."
_EMPTY = "Tool output is empty."


class TokenUsage(msgspec.Struct, rename="camel"):
    """Usage of a step."""

    input_other: int = 0
    output: int | None = None
    input_cache_read: int | None = None
    input_cache_creation: int | None = None

    def whole(self) -> Usage:
        """Tokens of the whole prompt, of which there are three parts."""
        return in_parts(self.input_other, self.output, self.input_cache_read, self.input_cache_creation)


class Result(msgspec.Struct, rename="camel"):
    """A tool's result; `note` is for the model only."""

    output: str | list[Any] = ""
    note: str = ""
    is_error: bool = False


class Event(msgspec.Struct, rename="camel"):
    """Something that happened in a step."""

    type: str
    part: dict[str, Any] | None = None
    tool_call_id: str = ""
    name: str = ""
    args: Any = None
    result: Result | None = None
    usage: TokenUsage | None = None

    def said(self) -> Part:
        """A piece of the response."""
        part = self.part or {}
        if part.get("type") == "think":
            return Part("reasoning", str(part.get("think") or ""))
        return Part("assistant", str(part.get("text") or "") if part.get("type") == "text" else compact_json(part))


class Request(msgspec.Struct):
    """A request; `time` is when it was sent. Of several attempts the last one was answered."""

    time: float | None = None
    model: str = ""

    @property
    def time_s(self) -> float | None:
        """The time in epoch seconds."""
        return time_s(self.time)


class Compaction(msgspec.Struct, rename="camel"):
    """That a summary replaced the history."""

    tokens_before: int | None = None
    tokens_after: int | None = None
    summary: str | None = None
    compacted_count: int | None = None


@dataclass
class Step:
    """One response in the making, and its results."""

    parts: list[Part] = field(default_factory=list)
    results: list[tuple[str, str, tuple[Media, ...]]] = field(default_factory=list)
    usage: TokenUsage | None = None


def result_text(result: Result) -> tuple[str, tuple[Media, ...]]:
    """Return what the model is sent of a result: a line for failure or emptiness, the output, the note."""
    text, media = text_and_media(result.output, IMAGE_TOKENS["openai"])
    if not text.strip() and not media:
        text = f"{_FAILED} {_EMPTY}" if result.is_error else _EMPTY
    elif result.is_error and not text.lstrip().startswith("ERROR:"):
        text = f"{_FAILED}\n{text}"
    return (f"{text}\n{result.note}" if result.note else text), media
