"""Matches a request's items to the history by content: what an agent kept, cut, dropped, inserted or sent twice."""

import json
import re
from collections import Counter as Frequencies
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from ctxsim.live.script import Script, Wanted
from ctxsim.readers.assembly import Part
from ctxsim.transcript import Item

State = Literal["kept", "cut", "inserted", "twice"]

PIECE_CHARS = 200
"""Longer lines are searched for in pieces of this length."""

SURE_CHARS = 12
"""A line of at least this length identifies a result or a prompt by itself."""

AROUND_CHARS = 400
"""The most characters that an agent may add around a prompt that it sends again."""

_ESCAPED = re.compile(r"""\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})""")
_NUMBERED = re.compile(r"^\s*\d+\s*[|:→\t]\s?")


class Match(msgspec.Struct, frozen=True):
    """What one item of a request is. `place` is its item of the history, None for an item that the agent inserted."""

    place: int | None
    state: State


class Matched(msgspec.Struct, frozen=True):
    """The match of each item of a request, and the places of the history that the request lacks."""

    matches: tuple[Match, ...]
    dropped: tuple[int, ...]


class Matcher:
    """Holds the history as it grows: the endpoint's responses, the results of their calls, and the prompts."""

    def __init__(self) -> None:
        self._known: dict[int, Item] = {}
        self._prompts: list[Item] = []
        self._like: dict[str, tuple[list[int], int]] = {}
        """By text, the places of the prompts that it may be, and how many prompts it was compared with."""
        self._wrapped: dict[int, str] = {}
        self._said: dict[tuple[str, str, str], list[int]] = {}
        self._by_id: dict[tuple[str, str], int] = {}
        self._by_line: dict[str, int] = {}
        self._whole: dict[tuple[int, str], bool] = {}

    def learn(self, known: Iterable[Item]) -> None:
        """Add items to the history."""
        for one in known:
            self._known[one.place] = one
            if one.call_id:
                self._by_id[one.kind, one.call_id] = one.place
            if one.kind == "user":
                self._prompts.append(one)
            elif one.kind == "tool_result":
                for line in filter(lambda line: len(line) >= SURE_CHARS, map(str.strip, one.text.splitlines())):
                    # A line that two results share identifies neither.
                    self._by_line[line] = -1 if self._by_line.get(line, one.place) != one.place else one.place
            else:
                self._said.setdefault(_words(one), []).append(one.place)

    def match(self, items: Sequence[Item]) -> Matched:
        """Return the match of each item, and the places of the history that are missing."""
        used: set[int] = set()
        matches: list[Match] = []
        after = -1
        for item in items:
            found = self._of(item, used, after)
            place = found.place
            if place is not None:
                if place in used:
                    found = msgspec.structs.replace(found, state="twice")
                used.add(place)
                after = max(after, place)
            matches.append(found)
        return Matched(tuple(matches), tuple(place for place in sorted(self._known) if place not in used))

    def _of(self, item: Item, used: set[int], after: int) -> Match:
        if item.kind == "tool_result":
            return self._result(item)
        if item.kind == "tool_call" and (place := self._by_id.get(("tool_call", item.call_id))) is not None:
            return Match(place, "kept")
        if item.kind == "reasoning":
            return Match(None, "inserted")
        alike = self._prompts_like(item.text.strip()) if item.kind == "user" else self._said.get(_words(item), [])
        # Of equal items take the next unused one, else the first unused one; if all are used, this is a second copy.
        free = [place for place in alike if place not in used]
        place = next((one for one in free if one > after), next(iter(free or alike), None))
        return Match(place, "inserted" if place is None else "kept")

    def _prompts_like(self, given: str) -> list[int]:
        """Return the places of prompts that a text may be. Each pair is compared once, since its result is final."""
        places, looked_at = self._like.get(given, ([], 0))
        places += [one.place for one in self._prompts[looked_at:] if self._is_prompt(one, given)]
        self._like[given] = places, len(self._prompts)
        return places

    def _is_prompt(self, one: Item, given: str) -> bool:
        """Return whether a text is a prompt with the agent's additions, which may have any length the first time."""
        said = one.text.strip()
        if one.place not in self._wrapped and len(said) >= SURE_CHARS and said in given:
            self._wrapped[one.place] = given
        if given in (said, self._wrapped.get(one.place)):
            return True
        if len(said) < SURE_CHARS or said not in given:
            return False
        # Later a long text may be a summary that quotes the prompt. An agent's additions come before or after it.
        return len(given) <= len(said) + AROUND_CHARS or given.startswith(said) or given.endswith(said)

    def _result(self, item: Item) -> Match:
        place = self._by_id.get(("tool_result", item.call_id)) if item.call_id else None
        if place is None:
            place = self._by_content(item.text)
        if place is None:
            return Match(None, "inserted")
        if (place, item.text) not in self._whole:
            self._whole[place, item.text] = is_whole(self._known[place].text, item.text)
        return Match(place, "kept" if self._whole[place, item.text] else "cut")

    def _by_content(self, text: str) -> int | None:
        """Return the place of the result that most lines of a text belong to; None if no line identifies one."""
        votes = Frequencies(
            place
            for line in text.splitlines()
            for form in {line.strip(), _NUMBERED.sub("", line).strip()}
            if (place := self._by_line.get(form, -1)) >= 0
        )
        return votes.most_common(1)[0][0] if votes else None


def _words(one: Item) -> tuple[str, str, str]:
    return one.kind, one.tool, one.text.strip()


def is_whole(whole: str, text: str) -> bool:
    """Return whether a text holds all lines of a result, plain or escaped as in JSON."""
    if whole.strip() in text:
        return True
    if "\\" in text:
        # Some agents send results inside JSON strings.
        text += _ESCAPED.sub(lambda found: str(json.loads(f'"{found[0]}"')), text)
    lines = map(str.strip, whole.splitlines())
    return all(line[at : at + PIECE_CHARS] in text for line in lines for at in range(0, len(line), PIECE_CHARS))


def as_made(wanted: Sequence[Wanted], made: Sequence[Part]) -> Iterator[Item]:
    """Yield a step's calls as the endpoint made them, each with its result; nothing if it made more or fewer calls."""
    for part, asked in zip(made, wanted if len(made) == len(wanted) else (), strict=False):
        said = {"tool": part.tool, "call_id": part.call_id}
        yield msgspec.structs.replace(asked.call, text=part.text, **said)
        if asked.result:
            yield msgspec.structs.replace(asked.result, **said)


class History:
    """The history, which grows step by step. It maps requests to places of the script's transcript."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._matcher = Matcher()
        self._joined = 0

    def match(self, items: Sequence[Item], step: int) -> Matched:
        """Return the match of each item of a request for a step, counted from 1."""
        calls = self._script.transcript.calls
        start = calls[min(step, len(calls)) - 1].start
        new = self._script.transcript.items[self._joined : start]
        self._matcher.learn(item for item in new if item.kind == "user")
        self._joined = max(self._joined, start)
        return self._matcher.match(items)

    def answered(self, step: int, made: Sequence[Part]) -> None:
        """Add the response of a step, answered with these tool calls, and their results to the history.

        Calls that the script doesn't have, such as one that ends a turn, are left out.
        """
        if step > len(self._script.steps):
            return
        call = self._script.transcript.calls[step - 1]
        said = self._script.transcript.items[call.start : call.end]
        self._matcher.learn(one for one in said if one.kind == "assistant")
        self._matcher.learn(as_made(self._script.steps[step - 1].wanted, made))
