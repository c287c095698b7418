"""The search for cheaper schedules, before a provider that says what each schedule costs. A dollar a token."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from ctxsim.simulator.bounds.schedule import Dead
from ctxsim.simulator.bounds.search import Search, Times
from ctxsim.simulator.ledger import Step
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import Prices, Split

DOLLAR = Provider(prices=Prices(input=1e6, output=0.0))


class Told:
    """Each cleared item saves its tokens with each call; each call that clears any costs more by `breaks`."""

    def __init__(self, sent: list[int], dead: list[Dead], breaks: Mapping[int, float]) -> None:
        calls = [SimpleNamespace(model="") for _ in sent]
        self.provider, self.transcript = DOLLAR, SimpleNamespace(calls=calls)
        self.kept = [Step(float(tokens), Split(0, 0, tokens), 0, 0) for tokens in sent]
        self.dead = dead
        self.breaks = breaks
        self.walked: list[tuple[Times, int]] = []
        """The schedules that were asked for, and how many of their requests were looked at."""

    def usd_if_cleared(self, times: Mapping[int, int], stub: str) -> Iterator[float]:
        self.walked.append((dict(times), 0))
        for call, step in enumerate(self.kept, 1):
            self.walked[-1] = (self.walked[-1][0], call)
            saved = sum(item.saved for item in self.dead if times.get(item.position, call + 1) <= call)
            yield step.usd - saved + (self.breaks.get(call, 0.0) if call in times.values() else 0.0)

    def total(self, times: Mapping[int, int]) -> float:
        return sum(Told([int(one.usd) for one in self.kept], self.dead, self.breaks).usd_if_cleared(times, ""))


def search_of(told: Any, limit: int) -> Search:
    return Search(told, told.dead, "", limit)


def three_calls() -> Told:
    """Item 2 dies at call 2, item 5 at call 3, a token each; an edit at call 2 costs 1.5, at call 3 0.5."""
    return Told([3, 5, 7], [Dead(2, 1, 2), Dead(5, 1, 3)], {2: 1.5, 3: 0.5})


def searched(limit: int) -> tuple[Search, list[tuple[Times, int]]]:
    told = three_calls()
    found = search_of(told, limit)
    # Two tokens less at call 3, one at call 2, both edits paid: 15 - 3 + 2.
    found.offer({2: 2, 5: 3})
    assert (found.best, found.usd) == ({2: 2, 5: 3}, 14.0)
    found.run()
    return found, told.walked[1:]


MOVES: list[tuple[Times, int]] = [
    # The edit at call 2 never: 15 - 1 + 0.5. At call 3 with the other: 15 - 2 + 0.5, which is taken.
    ({5: 3}, 3), ({2: 3, 5: 3}, 3),
    # Never, or at call 2, where item 5 isn't dead yet: 3 + 5.5, and at least 5 more, are no less than 13.5.
    ({}, 3), ({2: 2, 5: 3}, 2),
    # Item 2 alone never, or at call 2; item 5 alone never.
    ({5: 3}, 3), ({2: 2, 5: 3}, 2), ({2: 3}, 3),
]  # fmt: skip
ALL: list[tuple[Times, int]] = [
    # From no clearing on: what is dead at call 2, then what is dead at call 3, the most first.
    ({2: 2}, 2), ({2: 3, 5: 3}, 3), ({2: 3}, 3), ({5: 3}, 3),
]  # fmt: skip


def test_edits_are_moved_and_then_all_schedules_tried_that_can_be_cheaper() -> None:
    found, walked = searched(1_000)
    assert (found.best, found.usd) == ({2: 3, 5: 3}, 13.5)
    assert walked == [*MOVES, *ALL]


@pytest.mark.parametrize("limit", range(32))
def test_a_schedule_is_begun_as_long_as_requests_are_left(limit: int) -> None:
    found, walked = searched(limit)
    expected, left = [], limit
    for schedule, requests in [*MOVES, *ALL]:
        if left <= 0:
            break
        expected.append((schedule, requests))
        left -= requests
    assert walked == expected
    assert found.usd == (13.5 if limit > 3 else 14.0)


@pytest.mark.parametrize(("less", "taken"), [(0.8e-9, False), (1.2e-9, True)])
def test_what_is_cheaper_by_less_than_bills_are_rounded_to_is_no_cheaper(less: float, taken: bool) -> None:
    told = Told([1, 1], [Dead(2, 0, 2)], {2: -less})
    found = search_of(told, 0)
    found.offer({2: 2})
    assert (found.best == {2: 2}) is taken


def test_what_is_found_is_the_cheapest_of_all() -> None:
    dice = Random(4)
    for _ in range(60):
        calls = dice.randint(2, 5)
        dead = [Dead(place, dice.randint(1, 3), dice.randint(2, calls)) for place in range(dice.randint(1, 3))]
        told = Told([9 + call for call in range(calls)], dead, {n: dice.choice([0, 0.5, 3, 6]) for n in range(9)})
        found = search_of(told, 100_000)
        found.run()
        everything = product(*(range(item.dies, calls + 2) for item in dead))
        least = min(told.total(dict(zip(range(3), times, strict=False))) for times in everything)
        assert found.usd == pytest.approx(least) == told.total(found.best)


def test_a_search_that_may_walk_nothing_walks_nothing() -> None:
    told = three_calls()
    search_of(told, 0).run()
    assert told.walked == []
