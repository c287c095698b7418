"""Tool calls that a model wrote into its text, because it was offered no function calling."""

from __future__ import annotations

import re

from ctxsim.readers.assembly.assembly import Part


def call_in_text(text: str, name: tuple[int, int] | None) -> list[Part]:
    """Return a response as its text and a tool call whose name stands at these places; joined, they are the text.

    None if there is no call in it: then all is text, and nothing is no part.
    """
    if name is None:
        return [Part("assistant", text)] if text else []
    start, end = name
    before = [Part("assistant", text[:start])] if start else []
    return [*before, Part("tool_call", text[end:], text[start:end])]


def command_parts(text: str, at: int | None) -> list[Part]:
    """Return a response as text and tool call, whose name is the word at that place; None if it has no command."""
    word = None if at is None else re.compile(r"\S*").match(text, at)
    return call_in_text(text, word.span() if word else None)
