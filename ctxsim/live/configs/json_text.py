"""JSON and JSON with comments: finds where values are in the text, so that one is set without touching the others.

No library that keeps comments is both maintained and free of Node. So the text is cut into tokens, which give the
positions of the values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_TOKEN = re.compile(
    r"""(?P<blank>[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)"""
    r"""|(?P<text>"(?:[^"\\\x00-\x1f]|\\.)*")|(?P<mark>[{}\[\],:])|(?P<word>[-+.\w]+)""",
    re.DOTALL,
)

_END_OF_LINE = re.compile(r"[ \t]*(?://[^\r\n]*)?(?=\r?\n)")


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


class _Node(NamedTuple):
    """A value and its position. `members` are an object's or a list's values by key."""

    data: Any
    start: int
    end: int
    members: dict[str | int, _Node]


def parsed(text: str) -> Any:
    """Return the data of a text. Raises ValueError if it isn't JSON, with or without comments."""
    return _read(text).data


def edited(text: str, path: tuple[str | int, ...], value: Any) -> str:
    """Return the text with a value set at a path. A missing key is added at the start of its object."""
    if not text.strip("\ufeff \t\r\n"):
        text = "{}\n"
    node, depth = _read(text), 0
    while depth < len(path) and path[depth] in node.members:
        node, depth = node.members[path[depth]], depth + 1
    if depth == len(path):
        return text[: node.start] + json.dumps(value, ensure_ascii=False) + text[node.end :]
    for key in reversed(path[depth + 1 :]):
        value = {key: value}
    return _inserted(text, node, str(path[depth]), value)


def _inserted(text: str, node: _Node, key: str, value: Any) -> str:
    """Return the text with one more member at the start of an object, indented like the others."""
    line_end = "\r\n" if "\r\n" in text else "\n"
    at = node.start + 1
    if node.members and "\n" not in text[at : next(iter(node.members.values())).start]:
        return f"{text[:at]}{json.dumps({key: value}, ensure_ascii=False)[1:-1]}, {text[at:]}"
    # One step of indentation: the first in the text.
    step = re.search(r'\n([ \t]+)"', text)
    unit = step[1] if step else "  "
    line = text[text.rfind("\n", 0, node.start) + 1 : node.start]
    outer = line[: len(line) - len(line.lstrip(" \t"))]
    found = re.search(r'\n([ \t]*)"', text[at : node.end])
    indent = found[1] if found else outer + unit
    shown = json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", line_end + indent)
    added = f"{line_end}{indent}{json.dumps(key, ensure_ascii=False)}: {shown}"
    if node.members:
        added += ","
    elif "\n" not in text[at : node.end]:
        added += line_end + outer
    # A comment on the bracket's line stays there.
    rest = _END_OF_LINE.match(text, at)
    at = rest.end() if rest else at
    return text[:at] + added + text[at:]


def _tokens(text: str) -> Iterator[_Token]:
    place = 0
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise ValueError(f"line {text.count(chr(10), 0, place) + 1}: {text[place : place + 20]!r}")
        if found.lastgroup != "blank":
            yield _Token(str(found.lastgroup), found[0], place, found.end())
        place = found.end()


def _read(text: str) -> _Node:
    tokens = [*_tokens(text), _Token("end", "", len(text), len(text))]
    node, place = _value(tokens, 0)
    if tokens[place].kind != "end":
        raise ValueError(f"more follows after the value: {tokens[place].text!r}")
    return node


def _value(tokens: list[_Token], place: int) -> tuple[_Node, int]:
    token = tokens[place]
    if token.text not in ("{", "["):
        if token.kind not in ("text", "word"):
            raise ValueError(f"a value is expected, not {token.text!r}")
        return _Node(json.loads(token.text, strict=False), token.start, token.end, {}), place + 1
    closing = "}" if token.text == "{" else "]"
    members: dict[str | int, _Node] = {}
    place += 1
    while tokens[place].text != closing or tokens[place].kind != "mark":
        key: str | int = len(members)
        if closing == "}":
            if tokens[place].kind != "text" or tokens[place + 1].text != ":":
                raise ValueError(f"a key and a colon are expected, not {tokens[place].text!r}")
            key, place = json.loads(tokens[place].text, strict=False), place + 2
        if key in members:
            raise ValueError(f"the key {key!r} stands there twice")
        members[key], place = _value(tokens, place)
        if tokens[place].text == "," and tokens[place].kind == "mark":
            place += 1
        elif tokens[place].text != closing:
            raise ValueError(f"a comma or {closing} is expected, not {tokens[place].text!r}")
    data: Any = {key: one.data for key, one in members.items()}
    if closing == "]":
        data = list(data.values())
    return _Node(data, token.start, tokens[place].end, members), place + 1
