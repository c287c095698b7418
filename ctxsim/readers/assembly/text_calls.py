"""Tool calls that a model wrote into its text, because it was offered no function calling."""

import re

from ctxsim.readers.assembly import Part

_TAGGED = re.compile(r"<function=([^>\s]+)|<tool_call>\s*\{\s*\"name\"\s*:\s*\"([^\"]+)\"")
_FENCED = re.compile(r"^```[\w+-]*[ \t]*\n(?=[ \t]*\S)(?=.*?^```)", re.DOTALL | re.MULTILINE)


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


def tagged_call(text: str) -> tuple[int, int] | None:
    """Return the places of the name of the first call in tags: `<function=NAME>`, or `<tool_call>` with JSON."""
    call = _TAGGED.search(text)
    return call.span(1 if call[1] else 2) if call else None


def fenced_command(text: str) -> tuple[int, int] | None:
    """Return the places of the first word in the last fenced block: what SWE-agent and its kin run."""
    blocks = [block.end() for block in _FENCED.finditer(text)]
    # A closing fence begins no block: of each pair the first one counts.
    opening, closed = None, -1
    for end in blocks:
        if end > closed:
            opening, closed = end, text.find("\n```", end) + 4
    word = None if opening is None else re.compile(r"\s*(\S+)").match(text, opening)
    return word.span(1) if word else None
