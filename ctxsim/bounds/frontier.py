"""The frontier: the least tokens, and the least dollars, at each survival, for one who knows the future.

Two of them. `results`: the dialogue stays, each tool result stays whole up to some call and then leaves; edits are
free. `any`: all but the head may go and a kept reference costs one token: no policy can beat it, whatever it cuts.
docs/references.md, "Bounds".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from itertools import pairwise, product
from math import prod
from typing import Any, Literal, NamedTuple

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

FEW_STEPS = 20_000
"""Of a schedule on the curve; see `EXACT_STEPS`."""

FEW = 400
"""Choices that are all tried; where there are more, the linear relaxation gives the bound."""

SLACK = 1e-6
"""Survival shares are rounded to six digits."""


class Keeping(msgspec.Struct, frozen=True):
    """One thing that can be kept: up to the call `steps[m][0]` at the further price `steps[m][1]`, step by step."""

    source: int
    steps: tuple[tuple[int, float], ...]


class Point(NamedTuple):
    """The proven least amount at a survival, what a real choice costs, and up to which call that keeps each source."""

    bound: float
    found: float
    kept: dict[int, int]


class Goal(msgspec.Struct, frozen=True):
    """What to reach: a need counts `weight` and is met by any of its `sources` kept up to its `call`."""

    call: int
    weight: float
    sources: tuple[int, ...]


class Programme:
    """What can be kept, what it costs, and what it is good for.

    A step is taken only after those before it; a goal is met by any one of its sources. All goals together weigh 1.
    """

    def __init__(self, keepings: Sequence[Keeping], goals: Sequence[Goal]) -> None:
        self._keepings = keepings
        self._goals = goals
        self._prices = {(one.source, call): price for one in keepings for call, price in one.steps}
        self._few = prod(len(one.steps) + 1 for one in keepings) <= FEW

    def least(self, survival: float) -> Point:
        """Return the least that must be paid for goals of a total weight of at least `survival`.

        Exact where the choices are few enough to try them all; else the bound of the linear relaxation, and the choice
        that its steps make when they are rounded up.
        """
        if survival <= SLACK or not self._goals:
            return Point(0.0, 0.0, {})
        if self._few:
            price, _, kept = min(choice for choice in self._choices if choice[1] >= survival - SLACK)
            return Point(price, price, dict(kept))
        # Unsolved, nothing is proven, and everything kept is what is known to do.
        taken, bound = self._relaxed(survival) or (dict.fromkeys(self._prices, 1.0), 0.0)
        chosen: dict[int, int] = {}
        for (source, call), share in taken.items():
            if share > SLACK:
                chosen[source] = max(call, chosen.get(source, 0))
        found = sum(price for (source, call), price in self._prices.items() if call <= chosen.get(source, 0))
        return Point(max(0.0, min(bound, found)), found, chosen)

    @cached_property
    def _choices(self) -> list[tuple[float, float, tuple[tuple[int, int], ...]]]:
        """Every choice: its price, the weight that it reaches, and up to which call it keeps each source."""
        found = []
        for depths in product(*(range(len(one.steps) + 1) for one in self._keepings)):
            taken = [(one, n) for one, n in zip(self._keepings, depths, strict=True) if n]
            kept = {one.source: one.steps[n - 1][0] for one, n in taken}
            price = sum(step[1] for one, n in taken for step in one.steps[:n])
            met = (goal for goal in self._goals if any(kept.get(source, 0) >= goal.call for source in goal.sources))
            found.append((price, sum(goal.weight for goal in met), tuple(kept.items())))
        return found

    @cached_property
    def _rules(self) -> tuple[Any, Any, Any]:
        """The linear programme: what is paid, the matrix of rules, and how many rules; the last one is the survival."""
        from scipy.sparse import csr_array

        column = {key: number for number, key in enumerate(self._prices)}
        steps = len(column)
        entries: list[tuple[int, int, float]] = []
        row = 0
        for one in self._keepings:
            for (earlier, _), (later, _) in pairwise(one.steps):
                entries += [(row, column[one.source, later], 1.0), (row, column[one.source, earlier], -1.0)]
                row += 1
        for number, goal in enumerate(self._goals):
            entries.append((row, steps + number, 1.0))
            entries += [(row, column[source, goal.call], -1.0) for source in goal.sources]
            row += 1
        entries += [(row, steps + number, -goal.weight) for number, goal in enumerate(self._goals)]
        rows, columns, values = zip(*entries, strict=True)
        size = steps + len(self._goals)
        paid = np.zeros(size)
        # Scaled, because solvers have absolute tolerances.
        paid[:steps] = np.array(list(self._prices.values())) / self._scale
        return paid, csr_array((values, (rows, columns)), shape=(row + 1, size)), row

    @property
    def _scale(self) -> float:
        return max([*self._prices.values(), 1e-300])

    def _relaxed(self, survival: float) -> tuple[dict[tuple[int, int], float], float] | None:
        """Return the share of each step and the bound; None if the solver fails."""
        from scipy.optimize import linprog

        paid, matrix, last = self._rules
        limits = np.zeros(last + 1)
        limits[last] = -(survival - SLACK)
        # HiGHS fails on some programmes in its presolve; they are solved without it.
        for presolve in (True, False):
            solved = linprog(
                paid, A_ub=matrix, b_ub=limits, bounds=(0, 1), method="highs", options={"presolve": presolve}
            )
            if solved.x is not None:
                steps = len(self._prices)
                return dict(zip(self._prices, solved.x[:steps], strict=True)), float(solved.fun) * self._scale
        return None


def cheapest_alone(goals: Sequence[Goal], price: float, survival: float) -> Point:
    """Return the same where every goal costs the same and nothing else: the heaviest goals first, the last in part."""
    left, paid = survival - SLACK, 0.0
    for goal in sorted(goals, key=lambda goal: -goal.weight):
        if left <= 0:
            break
        paid += price * min(1.0, left / goal.weight)
        left -= goal.weight
    return Point(paid, paid, {})


class Frontier:
    """One transcript's frontier of one family; amounts are sums over its calls. `search` finds a point by tokens (side
    0) or dollars (side 1).
    """

    def __init__(self, base: tuple[float, float | None], search: Callable[[float, int], Point]) -> None:
        self._base = base
        self._point = cache(search)

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
    alone = cache(lambda head: MockLLM(provider, counter, head).rendering.total)
    heads = [alone(call.head or transcript.head) for call in transcript.calls]

    def base(requests: Sequence[int]) -> tuple[float, float | None]:
        new = sum(max(0, this - last) for last, this in zip([0, *requests], requests, strict=False))
        total = sum(requests)
        return total, None if output_usd is None else output_usd + new * first + (total - new) * again

    calls: dict[int, set[int]] = {}
    for goal in goals:
        for source in goal.sources:
            calls.setdefault(source, set()).add(goal.call)

    def whole(once: float, later: float) -> list[Keeping]:
        return [
            Keeping(source, tuple(_steps(sorted(wanted), sent[source], size[source], once, later)))
            for source, wanted in calls.items()
        ]

    programmes = (Programme(whole(1, 1), goals), Programme(whole(first, again), goals))
    prices = (1.0, again)
    return {
        "results": Frontier(base(dialogue), lambda survival, side: programmes[side].least(survival)),
        "any": Frontier(base(heads), lambda survival, side: cheapest_alone(goals, prices[side], survival)),
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
    # Any schedule is one: the curve doesn't need the very best, which takes most of a bench's time.
    return dialogue + results + cost(dead, prices, best_times(dead, prices, FEW_STEPS))
