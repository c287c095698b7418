"""Canonical text: the form in which texts are compared, however often one of them was escaped.

Backslash escapes are resolved at all nesting levels (surrogate pairs joined), then NFC, then case folding. Of a tool
call's arguments only the decoded values count, not the keys. Source of the rule: docs/references.md, definition, 1.
"""

import json
import re
import unicodedata
from typing import Any

from ctxsim.transcript import Item

CANONICAL = "canonical-1"

_BACKSLASHES = re.compile(r"\\(?:\\|u005c)+", re.IGNORECASE)
_FOREIGN = re.compile(r"[^\x00-\x7f\w]+")
_FOREIGN_SPACE = re.compile(r"[^\x00-\x7f\S]+")
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)
_ESCAPE = re.compile(r"""\\(?:[nrtbf"'/]|u[0-9a-fA-F]{4})""")
_MEANING = {r"\n": "\n", r"\r": "\r", r"\t": "\t", r"\b": "\b", r"\f": "\f"}


def resolve(text: str) -> str:
    """Return the text without escapes, in NFC, its case kept. Lone surrogates become U+FFFD."""
    if "\\" in text:
        # JSON inside JSON differs from JSON only in the number of backslashes before a letter: one is left.
        if "u005" in text:
            text = _BACKSLASHES.sub(r"\\", text)
        while "\\\\" in text:
            text = text.replace("\\\\", "\\")
        text = _ESCAPE.sub(_unescaped, text)
    if text.isascii():
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return unicodedata.normalize("NFC", joined)


def _unescaped(escape: re.Match[str]) -> str:
    found = escape[0]
    return chr(int(found[2:], 16)) if found[1] == "u" else _MEANING.get(found, found[1])


def fold(text: str) -> str:
    """Return a resolved text case-folded, in NFC."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text.casefold())


def plain(text: str) -> str:
    """Return a text in which one control character replaces each run of non-ASCII characters that are in no word."""
    return text if text.isascii() else _FOREIGN.sub("\x02", text)


def spaced(text: str) -> str:
    """Return a text in which one space replaces each run of non-ASCII white space."""
    return text if text.isascii() else _FOREIGN_SPACE.sub(" ", text)


def canonical(text: str) -> str:
    """Return the canonical form of any text."""
    return fold(resolve(text))


def decoded(arguments: str) -> Any:
    """Return the JSON value of a tool call's arguments, numbers as the text they were written as.

    Raises ValueError if the text isn't JSON.
    """
    try:
        return _DECODER.decode(arguments)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def values(arguments: str) -> str:
    """Return the string and number values of JSON arguments, a line each; any other text as it is."""
    try:
        waiting = [decoded(arguments)]
    except ValueError:
        return arguments
    found: list[str] = []
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend(reversed(value.values()))
        elif isinstance(value, list):
            waiting.extend(reversed(value))
        elif isinstance(value, str):
            found.append(value)
    return "\n".join(found)


def content(item: Item) -> str:
    """Return the resolved text by which an item is compared; for a tool call, the values of its arguments."""
    return resolve(values(item.text) if item.kind == "tool_call" else item.text)
