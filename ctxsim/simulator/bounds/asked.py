"""What a transcript asks of a provider where nothing is cleared, as numbers: each request rendered once."""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.simulator.provider import MockLLM, Provider
from ctxsim.simulator.provider.cache import marked_positions, response_length
from ctxsim.simulator.provider.course import course
from ctxsim.simulator.provider.prices import Prices
from ctxsim.simulator.provider.rendering import HEAD_POSITIONS, Rendered, Rendering
from ctxsim.simulator.provider.vendor import CacheRule, load_vendor
from ctxsim.transcript import Item, Transcript

NOWHERE = 1 << 62
"""A place behind all others."""


class Piece(NamedTuple):
    """For a place and each behind it, up to a request's end: its tokens before it, and the number of the run that ends
    there.
    """

    place: int
    tokens: list[int]
    runs: list[int]


class Asked(NamedTuple):
    """One request where nothing is cleared: the items from the place `first` on that stand before the place `end`.

    `marks` are the places before which a cache is asked to remember it. `answered` is where a response ends that stands
    behind the request before. `changed` is the first place whose reasoning is left out from now on, if any.
    `piece` is what the request before doesn't have.
    """

    first: int
    end: int
    now_s: float
    cold: bool
    marks: list[int]
    answered: int
    changed: int
    piece: Piece
    output: int
    prices: Prices | None


class Present:
    """The present request of a schedule: tokens up to each place, less what has gone."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.runs: list[int] = []
        self.gone: list[int] = []
        self._saved = [0]

    def begin(self, asked: Asked) -> None:
        """Become the next request."""
        place, tokens, runs = asked.piece
        self.tokens[place:], self.runs[place:] = tokens, runs

    def clear(self, place: int, saved: int) -> None:
        """Send a stub there from now on."""
        at = bisect_left(self.gone, place)
        self.gone.insert(at, place)
        self._saved[at + 1 :] = [before + saved for before in self._saved[at:]]

    def before(self, place: int) -> int:
        """Tokens of the head and of all items before a place."""
        return self.tokens[place] - self._saved[bisect_left(self.gone, place)]


def asked_of(
    transcript: Transcript, provider: Provider, counter: Counter, rendered: Rendered | None = None
) -> list[Asked]:
    """Return the requests of a transcript to a provider without a rate limit. `rendered`: items as it renders them."""
    rule = load_vendor(provider.cache).cache
    rendering = MockLLM(provider, counter, transcript.head, rendered).rendering
    answers = rule.kind == "prefix" and rule.keeps_responses(provider.model)
    items: list[Item] = []
    found: list[Asked] = []
    present, end, now_s = Present(), 0, 0.0
    thought: int | None = None
    for leg in course(transcript, provider, counter):
        changed, same = NOWHERE, len(items)
        for at, item in enumerate(leg.joining):
            if at == leg.turn and thought is not None:
                # The vendor leaves out the reasoning of finished turns.
                same = bisect_left(items, thought, key=_place)
                items[same:] = [one for one in items[same:] if one.kind != "reasoning"]
                changed, thought = thought, None
            if item.kind == "reasoning" and thought is None:
                thought = item.place
            items.append(item)
        rendering.follow(items, min(same, len(rendering.items)))
        call = leg.call
        marks = _marks(rendering, rule, provider) if rule.kind == "breakpoints" else []
        answered = end
        if answers and (length := response_length(items, behind := bisect_left(items, end, key=_place))):
            answered = items[behind + length - 1].place + 1
        now_s = max(now_s, leg.scheduled_s)
        asked = Asked(
            items[0].place if items else NOWHERE, call.start, now_s, call.cold, marks, answered,
            changed, _piece(rendering, present.runs, min(changed, end) + 1 if found else 0, call.start),
            leg.tokens_output, provider.prices.at(now_s) if provider.prices else None,
        )  # fmt: skip
        present.begin(asked)
        found.append(asked)
        items += leg.answered
        if thought is None:
            thought = next((item.place for item in leg.answered if item.kind == "reasoning"), None)
        end = call.start
    return found


def _place(item: Item) -> int:
    return item.place


def _marks(rendering: Rendering, rule: CacheRule, provider: Provider) -> list[int]:
    positions = marked_positions(rendering, provider.breakpoints)[-rule.max_breakpoints :]
    if rule.implicit:
        positions = sorted({*positions, len(rendering.tokens) - 1})
    # What can be read up to the tools can be read up to the system prompt.
    items = [at - HEAD_POSITIONS for at in positions if at >= HEAD_POSITIONS - 1]
    return [rendering.items[at].place + 1 if at >= 0 else 0 for at in items]


def _piece(rendering: Rendering, last_runs: list[int], start: int, end: int) -> Piece:
    items, before = rendering.items, rendering.tokens
    tokens: list[int] = []
    runs: list[int] = []
    run = last_runs[start - 1] if start else 0
    begin = bisect_left(items, start - 1, key=_place)
    for position in range(begin, len(items)):
        item, last = items[position], items[position - 1]
        missing = item.place + 1 - start - len(tokens)
        tokens += [before[position + HEAD_POSITIONS - 1]] * missing
        runs += [run] * missing
        # As the provider counts them: the first two items are never one run.
        run += position < 2 or last.kind != item.kind or not item.kind.startswith("tool")
    missing = end + 1 - start - len(tokens)
    return Piece(start, tokens + [before[-1]] * missing, runs + [run] * missing)
