"""Driven runs reduced to sizes: which places each request held, how large, and what was the agent's own.

A fixture is made from a run by `reduced`, and becomes an Observation again by `observation`, with invented words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.live.log import Entry
from ctxsim.live.observed import Observation, Shown
from ctxsim.transcript import Call, Head, Item, Transcript

FOLDER = Path(__file__).parent / "driven"


def reduced(seen: Observation, entries: Sequence[Entry], window: int, counter: Counter) -> dict[str, Any]:
    """Return a run without its words."""
    items = seen.transcript.items
    first: dict[int, str] = {}
    for tries in seen.attempts:
        for shown in tries[0]:
            if shown.place is not None:
                first.setdefault(shown.place, shown.text)

    def request(shown: Sequence[Shown], call: Call) -> dict[str, Any]:
        held = {one.place: one.text for one in shown if one.place is not None}
        gone = [place for place in range(call.start) if place not in held]
        cut = {place: counter.text(text) for place, text in held.items() if text != first[place]}
        own = [
            [sum(o.place is not None for o in shown[:n]), counter.text(one.text)]
            for n, one in enumerate(shown)
            if one.place is None
        ]
        return {"gone": _ranges(gone), **({"cut": cut} if cut else {}), **({"own": own} if own else {})}

    return {
        "label": seen.label,
        "window": window,
        "head": sum(map(counter.text, seen.transcript.head.texts)),
        "items": [
            [
                item.kind,
                item.message,
                counter.item(item),
                counter.text(first.get(item.place, item.text)),
                -1 if item.answers is None else item.answers,
            ]
            for item in items
        ],
        "calls": [[call.start, call.end] for call in seen.transcript.calls],
        "attempts": [
            [request(shown, call) for shown in tries]
            for tries, call in zip(seen.attempts, seen.transcript.calls, strict=True)
        ],
        "requests": [[e.kind, e.step, e.status, e.tokens, e.output] for e in entries if not e.retry],
    }


OF_ONE_RUN = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # ids
    r"|\d{4}-\d\d-\d\dT[\d:.]+Z?|\b\d{13}\b"  # times, as words and in milliseconds
    r"|(?<=Chunk ID: )[0-9a-f]{6}|(?<=Wall time: )[\d.]+"  # what codex says before an output
)
"""What differs between two runs that are the same otherwise. Paths don't: an agent always works in one folder."""


def normalised(request: Any) -> str:
    """Return a request as text, without what is of one run alone."""
    return OF_ONE_RUN.sub("_", json.dumps(request, sort_keys=True))


def _ranges(places: Sequence[int]) -> list[list[int]]:
    found: list[list[int]] = []
    for place in places:
        if found and found[-1][1] == place:
            found[-1][1] = place + 1
        else:
            found.append([place, place + 1])
    return found


def words(tokens: int, mark: str = "") -> str:
    """Return a text of exactly so many tokens of o200k_base: one each for ` a`."""
    return " a" * tokens


def load(name: str) -> dict[str, Any]:
    """Return a fixture."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return found


def observation(run: dict[str, Any]) -> Observation:
    """Return what a fixture says was observed. Texts have the sizes of the real ones, calls of tools no name."""
    items = [
        Item(kind, place, message, words(whole), answers=None if answers < 0 else answers)
        for place, (kind, message, whole, _, answers) in enumerate(run["items"])
    ]
    sent_first = [first if kind != "tool_call" else whole for kind, _, whole, first, _ in run["items"]]

    def request(one: dict[str, Any], start: int) -> tuple[Shown, ...]:
        gone = {place for low, high in one["gone"] for place in range(low, high)}
        cut = {int(place): tokens for place, tokens in one.get("cut", {}).items()}
        shown = [Shown(place, words(cut.get(place, sent_first[place]))) for place in range(start) if place not in gone]
        for position, tokens in reversed(one.get("own", [])):
            shown.insert(position, Shown(None, words(tokens)))
        return tuple(shown)

    calls = tuple(Call(start, end) for start, end in run["calls"])
    attempts = tuple(
        tuple(request(one, call.start) for one in tries) for tries, call in zip(run["attempts"], calls, strict=True)
    )
    transcript = Transcript("driven", Head(words(run["head"])), tuple(items), calls)
    return Observation(run["label"], transcript, attempts, {}, {}, ())
