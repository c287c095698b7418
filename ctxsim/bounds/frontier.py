"""The frontier: the least tokens, and the least dollars, at each survival, for one who knows the future.

Two of them. `results`: the dialogue stays, each tool result stays whole up to some call and then leaves; edits are
free. `any`: all but the head may go and a kept reference costs one token: no policy can beat it, whatever it cuts.
docs/references.md, "Bounds".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from ctxsim.bounds.lossless import cache_prices, leaving
from ctxsim.bounds.schedule import best_times, cost
from ctxsim.provider import MockLLM, Provider
from ctxsim.provider.prices import Prices, Rate
from ctxsim.references import References, first_sent
from ctxsim.tokenizers.counter import Counter
from ctxsim.transcript import Transcript

Family = Literal["results", "any"]

LEVELS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0)
"""Survival at which a frontier is drawn."""

SEARCH_NODES = 500
"""Branch-and-bound nodes; a search cut short still has a proven bound, which is what is reported."""

SLACK = 1e-6
"""Survival shares are rounded to six digits."""


class Keeping(msgspec.Struct, frozen=True):
    """One thing that can be kept: up to the call `steps[m][0]` at the further price `steps[m][1]`, step by step."""

    source: int
    steps: tuple[tuple[int, float], ...]


class Point(NamedTuple):
    """The proven least amount at a survival, the least that was found, and up to which call each source is kept."""

    bound: float
    found: float
    kept: dict[int, int]


class Goal(msgspec.Struct, frozen=True):
    """What to reach: a need counts `weight` and is met by any of its `sources` kept up to its `call`."""

    call: int
    weight: float
    sources: tuple[int, ...]


def least(keepings: Sequence[Keeping], goals: Sequence[Goal], survival: float) -> Point:
    """Return the least that must be paid for goals of a total weight of at least `survival`.

    A mixed-integer programme: a step is taken only after those before it, a goal is met by one of its sources.
    """
    if survival <= SLACK or not goals:
        return Point(0.0, 0.0, {})
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    column = {(one.source, call): 0 for one in keepings for call, _ in one.steps}
    column = {key: number for number, key in enumerate(column)}
    prices = [price for one in keepings for _, price in one.steps]
    steps, size = len(prices), len(prices) + len(goals)
    entries: list[tuple[int, int, float]] = []
    row = 0
    for one in keepings:
        for (earlier, _), (later, _) in zip(one.steps, one.steps[1:], strict=False):
            entries += [(row, column[one.source, later], 1.0), (row, column[one.source, earlier], -1.0)]
            row += 1
    for number, goal in enumerate(goals):
        entries.append((row, steps + number, 1.0))
        entries += [(row, column[source, goal.call], -1.0) for source in goal.sources]
        row += 1
    entries += [(row, steps + number, -goal.weight) for number, goal in enumerate(goals)]
    limits = np.zeros(row + 1)
    limits[row] = -(survival - SLACK)
    rows, columns, values = zip(*entries, strict=True)
    whole = np.zeros(size)
    whole[:steps] = 1
    # Scaled, because solvers have absolute tolerances.
    scale = max([*prices, 1e-300])
    objective = np.array([price / scale for price in prices] + [0.0] * len(goals))
    rule = LinearConstraint(coo_array((values, (rows, columns)), shape=(row + 1, size)).tocsr(), ub=limits)
    # HiGHS fails on some small programmes in its presolve; they are solved without it.
    for presolve in (True, False):
        options = {"node_limit": SEARCH_NODES, "mip_rel_gap": 1e-6, "presolve": presolve}
        solved = milp(objective, integrality=whole, bounds=Bounds(0, 1), constraints=rule, options=options)
        if solved.x is not None:
            break
    else:
        # Nothing is proven, and everything kept is what is known to do.
        return Point(0.0, sum(prices), {one.source: one.steps[-1][0] for one in keepings})
    kept: dict[int, int] = {}
    for (source, call), number in column.items():
        if solved.x[number] > 0.5:
            kept[source] = max(call, kept.get(source, 0))
    bound = min(solved.mip_dual_bound, solved.fun)
    return Point(max(0.0, bound * scale), float(solved.fun * scale), kept)


class Frontier:
    """One transcript's frontier of one family; amounts are sums over its calls."""

    def __init__(
        self,
        base: tuple[float, float | None],
        keepings: tuple[Sequence[Keeping], Sequence[Keeping]],
        goals: Sequence[Goal],
    ) -> None:
        self._base = base
        self._keepings = keepings
        self._goals = goals
        self._points: dict[tuple[float, int], Point] = {}

    def _point(self, survival: float, side: int) -> Point:
        key = (survival, side)
        if key not in self._points:
            self._points[key] = least(self._keepings[side], self._goals, survival)
        return self._points[key]

    def tokens(self, survival: float) -> float:
        """Return the least input tokens at a survival of 0 to 1."""
        return self._base[0] + self._point(survival, 0).bound

    def cost_usd(self, survival: float) -> float | None:
        """Return the least dollars at a survival of 0 to 1, output included, if edits were free; None if unknown."""
        base = self._base[1]
        return None if base is None else base + self._point(survival, 1).bound

    def kept(self, survival: float) -> Mapping[int, int]:
        """Return the last call for which each source is kept at the least dollars."""
        return self._point(survival, 1).kept


def frontiers(
    transcript: Transcript,
    references: References,
    provider: Provider,
    counter: Counter,
    tokens_full: Sequence[int],
    output_usd: float | None,
) -> dict[Family, Frontier]:
    """Return both frontiers. `tokens_full` are the uncompacted requests, `output_usd` what all responses cost."""
    sent = first_sent(transcript)
    items = transcript.items
    size = {item.place: counter.item(item) for item in items if item.kind == "tool_result"}
    goals = _goals(references)
    first, again = _cheapest(provider)
    arrived = [0] * (len(tokens_full) + 2)
    for place, tokens in size.items():
        arrived[sent[place]] += tokens
    dialogue, results = [], 0
    for number, tokens in enumerate(tokens_full, 1):
        results += arrived[number]
        dialogue.append(tokens - results)
    heads = [
        MockLLM(provider, counter, call.head or transcript.head).rendering.total if call.head or not number else 0
        for number, call in enumerate(transcript.calls)
    ]
    for number, tokens in enumerate(heads):
        heads[number] = tokens or heads[0]

    def base(requests: Sequence[int]) -> tuple[float, float | None]:
        new = sum(max(0, this - last) for last, this in zip([0, *requests], requests, strict=False))
        total = sum(requests)
        return total, None if output_usd is None else output_usd + new * first + (total - new) * again

    def whole(once: float, later: float) -> list[Keeping]:
        calls: dict[int, set[int]] = {}
        for goal in goals:
            for source in goal.sources:
                calls.setdefault(source, set()).add(goal.call)
        return [
            Keeping(source, tuple(_steps(sorted(wanted), sent[source], size[source], once, later)))
            for source, wanted in calls.items()
        ]

    def alone(price: float) -> list[Keeping]:
        return [Keeping(number, ((goal.call, price),)) for number, goal in enumerate(goals)]

    apart = [msgspec.structs.replace(goal, sources=(number,)) for number, goal in enumerate(goals)]
    return {
        "results": Frontier(base(dialogue), (whole(1, 1), whole(first, again)), goals),
        "any": Frontier(base(heads), (alone(1), alone(again)), apart),
    }


def _goals(references: References) -> list[Goal]:
    """The aged strict needs; each call that has any counts the same."""
    by_call = [
        [need for need in needs if need.detector == "strict" and need.age >= 1] for needs in references.needs_by_call
    ]
    calls = sum(map(bool, by_call))
    return [
        Goal(number, 1 / len(needs) / calls, need.sources) for number, needs in enumerate(by_call, 1) for need in needs
    ]


def _steps(calls: Sequence[int], born: int, tokens: int, once: float, later: float) -> list[tuple[int, float]]:
    """What keeping a result costs from one of its readers to the next; its first request is dearer."""
    found, last = [], born - 1
    for call in calls:
        first = once if last < born else later
        found.append((call, tokens * (first + (call - last - 1) * later)))
        last = call
    return found


def _cheapest(provider: Provider) -> tuple[float, float]:
    """USD per token at its first request and at each later one, at the lowest rate that any request can have."""
    prices = provider.prices or Prices(0.0, 0.0)

    def low(*rates: Rate | None) -> float:
        return min(price for rate in rates if rate is not None for price in _rates(rate)) / 1e6

    if provider.cache == "none":
        return low(prices.input), low(prices.input)
    return low(prices.input, prices.cache_write), low(prices.input, prices.cache_write, prices.cache_read)


def _rates(rate: Rate) -> list[float]:
    return [price for _, price in rate] if isinstance(rate, tuple) else [rate]


def scheduled_usd(
    transcript: Transcript, provider: Provider, counter: Counter, frontier: Frontier, survival: float
) -> float | None:
    """Return the dollars of a schedule near the `results` frontier: results are sent once, edits at the best times."""
    dialogue = frontier.cost_usd(0.0)
    if dialogue is None:
        return None
    kept = frontier.kept(survival)
    first, again = _cheapest(provider)
    calls = first_sent(transcript)
    results = sum(
        counter.item(item) * (first + again * max(0, kept.get(item.place, 0) - calls[item.place]))
        for item in transcript.items
        if item.kind == "tool_result" and calls[item.place] <= len(transcript.calls)
    )
    if provider.cache == "none":
        return dialogue + results
    dead = leaving(transcript, counter, kept)
    prices = cache_prices(transcript, provider, counter, dead)
    return dialogue + results + cost(dead, prices, best_times(dead, prices))
