"""Tool calls that a model wrote into its text, because it was offered no function calling.

In runs of SWE-agent and mini-swe-agent the user message after such a call is its result.
"""

import re
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import field

from ctxsim.readers.assembly import Assembly, Part, text_and_media

_TAGGED = re.compile(r"<function=([^>\s]+)|<tool_call>\s*\{\s*\"name\"\s*:\s*\"([^\"]+)\"")
_FENCED = re.compile(r"^```[\w+-]*[ \t]*\n[ \t]*(\S++).*?\n```", re.DOTALL | re.MULTILINE)


def call_in_text(text: str, name: tuple[int, int] | None) -> list[Part]:
    """Return a response as its text and a tool call, whose name is at the span `name`; joined, the parts are the text.

    If `name` is None, all of it is text; an empty text gives no part.
    """
    if name is None:
        return [Part("assistant", text)] if text else []
    start, end = name
    before = [Part("assistant", text[:start])] if start else []
    return [*before, Part("tool_call", text[end:], text[start:end])]


def command_parts(text: str, at: int | None) -> list[Part]:
    """Return a response as text and tool call; the call's name is the word at position `at`; None: no command."""
    word = None if at is None else re.compile(r"\S*").match(text, at)
    return call_in_text(text, word.span() if word else None)


def tagged_call(text: str) -> tuple[int, int] | None:
    """Return the span of the name of the first call in tags: `<function=NAME>`, or `<tool_call>` with JSON; or None."""
    call = _TAGGED.search(text)
    return call.span(1 if call[1] else 2) if call else None


def fenced_command(text: str) -> tuple[int, int] | None:
    """Return the span of the first word in the last fenced block, which SWE-agent and its kin run; or None."""
    *_, last = None, *_FENCED.finditer(text)
    return last.span(1) if last else None


class Described(msgspec.Struct):
    """A run's totals, from the part of a file that describes the run."""

    api_calls: int | None = field(default=None, name="info.model_stats.api_calls")
    tokens_sent: int | None = field(default=None, name="info.model_stats.tokens_sent")
    instance_cost: Any = field(default=None, name="info.model_stats.instance_cost")


class Run(msgspec.Struct):
    """Adds a run's messages to a transcript; knows whether the next user message answers a command."""

    assembly: Assembly
    _awaiting: str = ""

    def awaits(self, parts: Iterable[Part]) -> None:
        """Take the next user message as the observation of the first call among these parts, if there is one."""
        self._awaiting = next((part.tool for part in parts if part.kind == "tool_call"), "")

    def message(self, role: str, content: Any, call_id: str = "", vendor: str = "openai") -> None:
        """Add a message that the model didn't make. If a command waits for its observation, a user message is that."""
        if self._awaiting and role in ("user", "tool"):
            text, media = text_and_media(content, vendor)
            self.assembly.result(text, call_id, self._awaiting, media)
            self._awaiting = ""
        else:
            self.assembly.message(role, content, call_id, vendor=vendor)
