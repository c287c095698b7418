"""JSON and JSON with comments: finds where values are in the text, so that one is set without touching the others.

No library that keeps comments is both maintained and free of Node. So values are looked for in a copy of the text, in
which blanks stand for the comments.
"""

import json
import re
from typing import Any

from ctxsim.plugins.files import without_comments

_BLANK = " \t\r\n\ufeff"
_BLANKS = re.compile(f"[{_BLANK}]*")

_DECODER = json.JSONDecoder()
_END_OF_LINE = re.compile(r"[ \t]*(?://[^\r\n]*)?(?=\r?\n)")

_Members = dict[str | int, tuple[int, int]]
"""The start and the end of an object's or a list's values, by key."""


def edited(text: str, path: tuple[str | int, ...], value: Any) -> str:
    """Return the text, which is valid, with a value set at a path. A missing key is added at its object's start."""
    if not without_comments(text).strip(_BLANK):
        line_end = "\r\n" if "\r\n" in text else "\n"
        said = text.rstrip(_BLANK)
        text = f"{said}{line_end}{{}}{line_end}" if said else "{}\n"
    plain = without_comments(text)
    start = _after_blanks(plain, 0)
    end = _DECODER.raw_decode(plain, start)[1]
    for depth, key in enumerate(path):
        members = _members(plain, start)
        if key not in members:
            for inner in reversed(path[depth + 1 :]):
                value = {inner: value}
            return _inserted(text, start, end, members, str(key), value)
        start, end = members[key]
    return text[:start] + json.dumps(value, ensure_ascii=False) + text[end:]


def _inserted(text: str, start: int, end: int, members: _Members, key: str, value: Any) -> str:
    """Return the text with one more member at the start of an object, indented like the others."""
    line_end = "\r\n" if "\r\n" in text else "\n"
    at = start + 1
    if members and "\n" not in text[at : next(iter(members.values()))[0]]:
        return f"{text[:at]}{json.dumps({key: value}, ensure_ascii=False)[1:-1]}, {text[at:]}"
    # One step of indentation: the first in the text.
    step = re.search(r'\n([ \t]+)"', text)
    unit = step[1] if step else "  "
    line = text[text.rfind("\n", 0, start) + 1 : start]
    outer = line[: len(line) - len(line.lstrip(" \t"))]
    found = re.search(r'\n([ \t]*)"', text[at:end])
    indent = found[1] if found else outer + unit
    shown = json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", line_end + indent)
    added = f"{line_end}{indent}{json.dumps(key, ensure_ascii=False)}: {shown}"
    if members:
        added += ","
    elif "\n" not in text[at:end]:
        added += line_end + outer
    # A comment on the bracket's line stays there.
    rest = _END_OF_LINE.match(text, at)
    at = rest.end() if rest else at
    return text[:at] + added + text[at:]


def _members(plain: str, start: int) -> _Members:
    """Return the members of the object or list that begins at `start`; none for another value. Raises ValueError for a
    key that stands there twice: agents may read either.
    """
    found: _Members = {}
    opening = plain[start]
    at = _after_blanks(plain, start + 1)
    while opening in "{[" and plain[at] not in "}]":
        key: str | int = len(found)
        if opening == "{":
            key, at = _DECODER.raw_decode(plain, at)
            colon = _after_blanks(plain, at)
            at = _after_blanks(plain, colon + 1)
        if key in found:
            raise ValueError(f"the key {key!r} stands there twice")
        found[key] = at, _DECODER.raw_decode(plain, at)[1]
        at = _after_blanks(plain, found[key][1])
        if plain[at] == ",":
            at = _after_blanks(plain, at + 1)
    return found


def _after_blanks(plain: str, at: int) -> int:
    return _BLANKS.match(plain, at).end()  # type: ignore[union-attr]
