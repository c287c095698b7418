"""When to edit: the best times against brute force, and one item worked by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxsim.bounds.schedule import Dead, KeepOrBreak, _all_dead, best_times

READ = 0.1


WRITE = 1.25


def prices_of(sizes: list[int], born: list[int], dies: dict[int, int], calls: int) -> KeepOrBreak:
    """The price of a break: what earlier requests had cached behind the cut, dead ones gone."""

    def break_at(call: int, position: int, behind: float, dead: float) -> float:
        gone = [size if dies.get(p, calls + 9) <= call else 0 for p, size in enumerate(sizes)]
        cached = [size if born[p] < call else 0 for p, size in enumerate(sizes)]
        assert dead == sum(gone) and behind == sum(gone[position + 1 :])
        return (WRITE - READ) * (sum(cached[position + 1 :]) - behind)

    return KeepOrBreak(np.array([0.0] + [READ] * calls), frozenset(), break_at)


def walked(sizes: list[int], born: list[int], dies: dict[int, int], times: dict[int, int], calls: int) -> float:
    """What a schedule really costs beyond a free editing, walked call by call."""
    total = 0.0
    for call in range(1, calls + 1):
        total += READ * sum(sizes[p] for p, death in dies.items() if death <= call < times[p])
        cut = min((p for p, at in times.items() if at == call), default=None)
        if cut is not None:
            behind = [p for p in range(cut + 1, len(sizes)) if born[p] < call and times.get(p, calls + 9) > call]
            total += (WRITE - READ) * sum(sizes[p] for p in behind)
    return total


@st.composite
def dying(draw: st.DrawFn) -> tuple[list[int], list[int], dict[int, int], int]:
    """Sizes and births of items in order, when some of them die, and the number of calls."""
    calls = draw(st.integers(2, 6))
    count = draw(st.integers(1, 5))
    born = sorted(draw(st.lists(st.integers(1, calls), min_size=count, max_size=count)))
    sizes = draw(st.lists(st.integers(1, 90), min_size=count, max_size=count))
    dies = {p: draw(st.integers(born[p] + 1, calls)) for p in range(count) if born[p] < calls and draw(st.booleans())}
    return sizes, born, dies, calls


@settings(max_examples=150)
@given(dying())
def test_best_times_equal_brute_force(given: tuple[list[int], list[int], dict[int, int], int]) -> None:
    sizes, born, dies, calls = given
    items = [Dead(p, sizes[p], death) for p, death in dies.items()]
    prices = prices_of(sizes, born, dies, calls)
    found = best_times(items, prices)
    end = calls + 1
    everything = [dict(zip(dies, at, strict=True)) for at in product(*(range(d, calls + 2) for d in dies.values()))]
    least_cost = min(walked(sizes, born, dies, times, calls) for times in everything)
    assert walked(sizes, born, dies, found.times, calls) == pytest.approx(least_cost)
    assert found.cost == pytest.approx(least_cost)
    if items:
        together = _all_dead(
            sorted(items, key=lambda item: item.position), prices, [0, *sorted(set(dies.values())), end]
        )
        of_their_kind = [
            walked(sizes, born, dies, times, calls)
            for edits in product([False, True], repeat=calls)
            for times in [{p: next((e for e in range(d, calls + 1) if edits[e - 1]), end) for p, d in dies.items()}]
        ]
        assert walked(sizes, born, dies, together.times, calls) == pytest.approx(min(of_their_kind))
        assert together.cost == pytest.approx(min(of_their_kind))


def test_one_item_worked_by_hand() -> None:
    # 100 tokens die at call 2 of 6 before 40 live ones: clearing at once saves 5 calls x 100 x 0.1 = 50 and costs
    # 40 x 1.15 = 46. Before 50 live ones it costs 57.5: keeping for good (50) is cheaper.
    for behind, expected in ((40, 2), (50, 7)):
        prices = prices_of([100, behind], [1, 1], {0: 2}, 6)
        assert best_times([Dead(0, 100, 2)], prices).times == {0: expected}
