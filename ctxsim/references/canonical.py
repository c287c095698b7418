"""Canonical text: what two texts are compared by, however often one of them was escaped on its way.

Backslash escapes are resolved at all nesting levels (surrogate pairs joined), then NFC, then case folding. Of a tool
call's arguments only the decoded values count, not the keys. Source of the rule: docs/references.md, definition, 1.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

from ctxsim.transcript import Item

VERSION = "canonical-1"

_BACKSLASHES = re.compile(r"\\(?:\\|u005c)+", re.IGNORECASE)
_UNICODE = re.compile(r"\\u([0-9a-fA-F]{4})")
_SIMPLE = (("\\n", "\n"), ("\\r", "\r"), ("\\t", "\t"), ("\\b", "\b"), ("\\f", "\f"), ('\\"', '"'), ("\\'", "'"), ("\\/", "/"))  # fmt: skip # noqa: E501


def resolve(text: str) -> str:
    """Return the text without escapes, in NFC, its case kept. Lone surrogates become U+FFFD."""
    if "\\" in text:
        # One backslash or many before a letter: JSON inside JSON differs from JSON only in their number.
        if "u005" in text:
            text = _BACKSLASHES.sub(r"\\", text)
        while "\\\\" in text:
            text = text.replace("\\\\", "\\")
        for escape, character in _SIMPLE:
            text = text.replace(escape, character)
        if "\\u" in text:
            text = _UNICODE.sub(lambda match: chr(int(match[1], 16)), text)
    if text.isascii():
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return unicodedata.normalize("NFC", joined)


def fold(text: str) -> str:
    """Return a resolved text case-folded, in NFC."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text.casefold())


def canonical(text: str) -> str:
    """Return the canonical form of any text."""
    return fold(resolve(text))


def decoded(arguments: str) -> Any:
    """Return the JSON value of a tool call's arguments, numbers as the text they were written as.

    Raises ValueError if the text isn't JSON.
    """
    try:
        return json.loads(arguments, parse_int=str, parse_float=str)
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
    """Return the resolved text by which an item is compared: of a tool call its arguments' values."""
    return resolve(values(item.text) if item.kind == "tool_call" else item.text)
