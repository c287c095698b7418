"""Detectors, depth, escapes and repeats as one would write them down, slow: what the fast ones are tested against."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator

from ctxsim.simulator.measure.losses import EDGE_CHARS
from ctxsim.simulator.references.canonical import decoded, fold
from ctxsim.simulator.references.identifiers import is_value, tokens
from ctxsim.simulator.references.needs import Need
from ctxsim.simulator.references.quotations import TELLING, WORDS
from ctxsim.transcript import Item, Transcript

ADDRESS = re.compile(r"\w/+\w|\w@\w|://")
LETTERS = re.compile(r"(?:[\d_]*[^\W\d_]){3}")
NAME = re.compile(r"(?=.{6})(?:[^\W\d][\w-]*(?:\.[\w-]+)+|(?=\w+\Z)\w*[^\W_]_+[^\W_]\w*)")
CAMEL = re.compile(r"(?=.{6})(?=[A-Za-z0-9_]+\Z)[A-Za-z0-9_]*[a-z][A-Z][A-Za-z0-9_]*")
ESCAPES = (("\\n", "\n"), ("\\r", "\r"), ("\\t", "\t"), ("\\b", "\b"), ("\\f", "\f"), ('\\"', '"'), ("\\'", "'"), ("\\/", "/"))  # fmt: skip # noqa: E501


def resolved(text: str) -> str:
    """The text without escapes: one kind after the other."""
    text = re.sub(r"\\(?:\\|u005c)+", r"\\", text, flags=re.IGNORECASE)
    for escape, character in ESCAPES:
        text = text.replace(escape, character)
    text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), text)
    return unicodedata.normalize("NFC", text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))


def identifiers(text: str) -> set[str]:
    """The strict atoms of a resolved text."""
    found = {token for token in tokens(fold(text)) if is_value(token) or NAME.fullmatch(token)}
    return found | {fold(token) for token in tokens(text) if CAMEL.fullmatch(token)}


def runs(text: str) -> Iterator[str]:
    """All runs of five words on one line of a canonical text, parted by one space."""
    for line in text.split("\n"):
        words = re.findall(r"\w+", line)
        yield from (" ".join(words[start : start + WORDS]) for start in range(len(words) - WORDS + 1))


def quotations(text: str) -> set[str]:
    """The loose atoms of a canonical text."""
    found: set[str] = set()
    for line in text.split("\n"):
        words: list[tuple[str, bool]] = []
        for part in line.split():
            plain = ADDRESS.search(part) is None
            words += [(word, plain and LETTERS.match(word) is not None) for word in re.findall(r"\w+", part)]
        for start in range(len(words) - WORDS + 1):
            five = words[start : start + WORDS]
            if sum(telling for _, telling in five) >= TELLING:
                found.add(" ".join(word for word, _ in five))
    return found


def depth(need: Need, text: str) -> str:
    """Where a need first stands whole, else anyhow, in a canonical text."""
    words = need.atom.split(" ")
    edge = r"(?<!\w){}(?!\w)" if need.detector == "strict" else "{}"
    pattern = edge.format(r"\W*".join(map(re.escape, words)))
    match = re.search(pattern, text) or re.search(re.escape(words[0]), text)
    start, end = match.span() if match else (0, len(need.atom))
    if match and need.detector == "loose" and not re.search(pattern, text):
        end = start
    if not match and need.detector == "loose":
        end = 0
    return "head" if end <= EDGE_CHARS else ("tail" if start >= len(text) - EDGE_CHARS else "middle")


def repeats(transcript: Transcript) -> dict[int, int]:
    """For the place of each tool call that was made before the place of the newest such call, all compared whole."""
    found: dict[int, int] = {}
    newest: dict[tuple[str, bool, str], int] = {}
    for call in transcript.calls:
        asked = {
            item.place: _asked(item) for item in transcript.items[call.start : call.end] if item.kind == "tool_call"
        }
        found |= {place: newest[key] for place, key in asked.items() if key in newest}
        newest |= {key: place for place, key in asked.items()}
    return found


def _asked(item: Item) -> tuple[str, bool, str]:
    try:
        return item.tool, True, json.dumps(decoded(item.text), sort_keys=True)
    except ValueError:
        return item.tool, False, item.text
