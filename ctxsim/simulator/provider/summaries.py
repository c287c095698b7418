"""Summaries without a model: texts in place of those that a model would have written."""

import heapq
import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import chain

from ctxsim.transcript import Item

PROMPT = (
    "Summarize the conversation above for the assistant that will continue it. State what the user wants, what has "
    "been done and found so far, and keep every identifier, path, link and number that may be needed again."
)
EMPTY = "The earlier part of the conversation was summarized."

_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n")
_IDENTIFIER = re.compile(
    r"https?://\S+|[\w.+-]+@[\w-]+\.[\w.]+|(?:[\w.-]*/)+[\w.-]+|\b[\w-]*\d[\w-]{3,}\b|\b\w+[._]\w+\b"
)
"""Links, addresses, paths, numbers and dotted names. None has white space in it."""

_TELLING = re.compile(r"[@/._\d]")
"""A character that each of them has."""


@lru_cache(maxsize=1 << 16)
def _in_word(word: str) -> list[str]:
    return _IDENTIFIER.findall(word) if _TELLING.search(word) else []


def identifiers(text: str) -> list[str]:
    """Return the links, addresses, paths, numbers and dotted names in a text, in order."""
    return list(chain.from_iterable(map(_in_word, text.split())))


def extractive(items: Sequence[Item], max_tokens: int, count: Callable[[str], int], wanted: Sequence[str] = ()) -> str:
    """Return the first sentence of each user text, then the lines that add most new identifiers, until full.

    All stand in the recorded order of their items, lines of one item as they were chosen. What doesn't fit is left out.
    """
    lines: list[tuple[int, str]] = []
    room = max_tokens
    for number, item in enumerate(items):
        if item.kind == "user":
            sentence = _SENTENCE_END.split(item.text.strip(), maxsplit=1)[0][:400]
            cost = count(sentence) + 1
            if sentence and cost <= room:
                lines.append((number, sentence))
                room -= cost
    seen = {name for _, sentence in lines for name in identifiers(sentence)}
    lines += _richest_lines(items, seen, room, count)
    return "\n".join(text for _, text in sorted(lines, key=lambda line: line[0])) or EMPTY


def _richest_lines(
    items: Sequence[Item], seen: set[str], room: int, count: Callable[[str], int]
) -> list[tuple[int, str]]:
    """Choose lines greedily by new identifiers. Their number only falls, so a stale queue entry is pushed back."""
    naming = _naming_in(count)
    lines = [naming(item.text) if item.kind != "user" else [] for item in items]
    queue = [(-len(found), number, row) for number, of in enumerate(lines) for row, (_, found) in enumerate(of)]
    heapq.heapify(queue)
    chosen: list[tuple[int, str]] = []
    misses = 0
    while queue and misses < 20:
        worth, number, row = heapq.heappop(queue)
        line, found = lines[number][row]
        new = found - seen
        if len(new) < -worth:
            if new:
                heapq.heappush(queue, (-len(new), number, row))
            continue
        cost = count(line) + 1
        if cost > room:
            misses += 1
            continue
        room -= cost
        seen |= new
        chosen.append((number, line))
    return chosen


Naming = list[tuple[str, frozenset[str]]]
"""The lines of a text that hold an identifier, with those that each holds."""


def _naming(text: str) -> Naming:
    lines = (line.strip()[:300] for line in text.split("\n"))
    return [(line, frozenset(found)) for line in lines if (found := identifiers(line))]


@lru_cache(maxsize=1)
def _naming_in(count: object) -> Callable[[str], Naming]:
    """`_naming` with a memo for the transcript whose texts `count` counts. Only the newest memo is kept."""
    return cache(_naming)


def clairvoyant(items: Sequence[Item], max_tokens: int, count: Callable[[str], int], wanted: Sequence[str] = ()) -> str:
    """Return `wanted`, the atoms of these items that later calls will use, in order of use, until full: the most that
    any summarizer can keep.
    """
    room = max_tokens
    kept: list[str] = []
    for word in wanted:
        # An atom takes at least one token and a line's end.
        if room < 2:
            break
        if (cost := count(word) + 1) <= room:
            room -= cost
            kept.append(word)
    return "\n".join(kept) or EMPTY


MODES: dict[str, Callable[[Sequence[Item], int, Callable[[str], int], Sequence[str]], str]] = {
    "extractive": extractive,
    # The least that any summarizer keeps.
    "empty": lambda items, max_tokens, count, wanted: EMPTY,
    "clairvoyant": clairvoyant,
}
