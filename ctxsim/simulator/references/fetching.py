"""Whether a tool call's result can be fetched again, by its tool and command. fetching.toml lists the tools.

What was read can be read again. An answer of another agent or of a person, and the output of a call that changed
something, are lost for good: a second call doesn't repeat the first.
"""

import re
import tomllib
from collections.abc import Sequence
from functools import cache, cached_property
from importlib import resources
from typing import Any

from ctxsim.simulator.references.canonical import content
from ctxsim.transcript import Item, Transcript

_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
_SEVERAL = re.compile(r"\|\||&&|[;\n|]")
_REDIRECTED = re.compile(r"(?<![0-9&<>=-])>{1,2}\s*(?!/dev/null|&)[\w./~$\"']")
_NAMED = re.compile(r"[\w~-]*+[./][\w.~/-]*+")
"""A word that can hold a path. Most words can't, and this pattern finds those that can faster than `_PATH`."""
_PATH = re.compile(r"[\w.~/-]*(?:/[\w.-]+|\w\.[A-Za-z]\w{0,4})")


@cache
def _table() -> dict[str, Any]:
    text = resources.files(__package__).joinpath("fetching.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    return {key: value if key == "subcommands" else frozenset(value) for key, value in table.items()}


def only_looks(call: Item) -> bool:
    """Return whether a tool call changes nothing, so that the same call returns the same result again."""
    table, words = _table(), {word.lower() for word in _WORDS.findall(call.tool)}
    if words & table["acting"]:
        return False
    if words & table["shells"]:
        return not any(map(_changes, filter(str.strip, _SEVERAL.split(content(call)))))
    return bool(words & table["looking"])


def _changes(command: str) -> bool:
    table, words = _table(), command.split()
    first = words[0].rpartition("/")[2]
    more = table["subcommands"].get(first, ())
    return first in table["commands"] or any(word in more for word in words[1:]) or bool(_REDIRECTED.search(command))


class Fetching:
    """Which results of one transcript can be fetched again."""

    def __init__(self, transcript: Transcript) -> None:
        self._items = transcript.items
        self._looks: dict[int, bool] = {}
        self._since: dict[int, int] = {}
        """By place of a result, the place of the first later tool call that wrote to one of its paths."""

    def source(self, sources: Sequence[int]) -> int | None:
        """Return the newest of some results, given by place, that can be fetched again; None if there is none."""
        return next(filter(self.again, reversed(sources)), None)

    def again(self, place: int) -> bool:
        """Return whether the result at a place can be fetched again."""
        known = self._looks.get(place)
        if known is None:
            asking = self._items[place].answers
            known = self._looks[place] = asking is not None and only_looks(self._items[asking])
        return known

    def changed(self, place: int, before: int) -> bool:
        """Return whether, between the result at `place` and the place `before`, a tool call that doesn't only look
        named a path of the result's own call, so that fetching again returns something else.
        """
        if place not in self._since:
            asking = self._items[place].answers
            paths = _paths(self._items[asking]) if asking is not None else frozenset()
            written = (at for at, written in self._written if at > place and paths & written)
            self._since[place] = next(written, len(self._items))
        return self._since[place] < before

    @cached_property
    def _written(self) -> list[tuple[int, frozenset[str]]]:
        calls = (item for item in self._items if item.kind == "tool_call")
        return [(item.place, _paths(item)) for item in calls if not only_looks(item)]


def _paths(call: Item) -> frozenset[str]:
    return frozenset(found[0] for named in _NAMED.findall(content(call)) if (found := _PATH.match(named)))
