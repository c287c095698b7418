"""When to edit: the best times against brute force, and one item worked by hand."""

from __future__ import annotations

from itertools import accumulate, product
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxsim.simulator.bounds.schedule import Dead, KeepOrBreak, best_times

READ = 0.1


WRITE = 1.25


def prices_of(sizes: list[int], born: list[int], dies: dict[int, int], calls: int) -> KeepOrBreak:
    """The price of a break: what earlier requests had cached behind the cut, dead ones gone."""
    readable = [sum(size for size, at in zip(sizes, born, strict=True) if at < call) for call in range(calls + 1)]
    keep, usd, reach = np.array([0.0] + [READ] * calls), [WRITE - READ] * (calls + 1), [0.0] * (calls + 1)
    return KeepOrBreak(keep, frozenset(), usd, readable, reach, list(accumulate(sizes)), [0] * len(sizes))


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
    least = min(
        walked(sizes, born, dies, times, calls)
        for edits in product([False, True], repeat=calls)
        for times in [{p: next((e for e in range(d, calls + 1) if edits[e - 1]), calls + 1) for p, d in dies.items()}]
    )
    assert walked(sizes, born, dies, found.times, calls) == pytest.approx(least)
    assert found.cost == pytest.approx(least)


def random_case(rng: Random) -> tuple[list[Dead], KeepOrBreak, list[int]]:
    """Some two dozen items over some calls, with prices that change, pauses, and items out of reach."""
    calls, count = rng.randint(2, 14), rng.randint(1, 20)
    items = [Dead(3 * n, rng.randint(1, 90), rng.randint(2, calls)) for n in range(count)]
    usd = [rng.choice([0.0, 1.0, 1.15]) for _ in range(calls + 1)]
    readable = [float(rng.choice([0, 40 * call, 60 * call])) for call in range(calls + 1)]
    cheaper = frozenset(call for call in range(2, calls + 1) if rng.random() < 0.3)
    reach = [float(rng.choice([0, call // 2])) for call in range(calls + 1)]
    ends = list(accumulate(rng.randint(1, 40) for _ in range(3 * count)))
    keep = np.array([0.0] + [rng.choice([0.1, 1.25]) for _ in range(calls)])
    prices = KeepOrBreak(keep, cheaper, usd, readable, reach, ends, [n // 4 for n in range(3 * count)])
    return items, prices, [0, *sorted({*(item.dies for item in items), *cheaper}), calls + 1]


def dead_tokens(items: list[Dead], call: int, behind: int = -1) -> int:
    return sum(item.saved for item in items if item.dies <= call and item.position > behind)


def waited(item: Dead, prices: KeepOrBreak, until: int) -> float:
    return item.saved * float(sum(prices.keep[item.dies : until]))


def plainly(items: list[Dead], prices: KeepOrBreak, moments: list[int]) -> float:
    """Each edit looks back to each one that can be the one before."""
    least = {0: 0.0}
    for e in moments[1:]:
        found = []
        for a in least:
            going = [item for item in items if a < item.dies <= e]
            paid = least[a] + sum(waited(item, prices, e) for item in going)
            if going and e < moments[-1]:
                cut = going[0].position
                paid += prices.break_at(e, cut, dead_tokens(items, e, cut), dead_tokens(items, e))
            found.append(paid)
        least[e] = min(found)
    return least[moments[-1]]


def test_a_schedule_equals_the_plain_recurrence() -> None:
    rng = Random(1)
    for _ in range(150):
        items, prices, moments = random_case(rng)
        assert best_times(items, prices).cost == pytest.approx(plainly(items, prices, moments))


def test_times_cost_what_their_schedule_says() -> None:
    rng = Random(2)
    for _ in range(150):
        items, prices, moments = random_case(rng)
        times, cost = best_times(items, prices)
        paid = sum(waited(item, prices, times[item.position]) for item in items)
        for e in moments[1:-1]:
            cut = min((place for place, at in times.items() if at == e), default=None)
            if cut is not None:
                paid += prices.break_at(e, cut, dead_tokens(items, e, cut), dead_tokens(items, e))
        assert cost == pytest.approx(paid)


def test_one_item_worked_by_hand() -> None:
    # 100 tokens die at call 2 of 6 before 40 live ones: clearing at once saves 5 calls x 100 x 0.1 = 50 and costs
    # 40 x 1.15 = 46. Before 50 live ones it costs 57.5: keeping for good (50) is cheaper.
    for behind, expected in ((40, 2), (50, 7)):
        prices = prices_of([100, behind], [1, 1], {0: 2}, 6)
        assert best_times([Dead(0, 100, 2)], prices).times == {0: expected}


def test_a_token_saved_in_the_last_call_is_worth_it() -> None:
    prices = prices_of([10, 10, 10, 10], [1] * 4, {}, 4)
    assert best_times([], prices) == ({}, 0.0)
    # Nothing behind it is in the cache. It dies with the first call too.
    assert best_times([Dead(3, 1, 4)], prices) == ({3: 4}, 0.0)
    assert best_times([Dead(3, 1, 1)], prices) == ({3: 1}, 0.0)
    # Behind the first item 30 tokens would be written: 34.5, and 10 cost 3 to keep.
    assert best_times([Dead(0, 10, 2)], prices) == ({0: 5}, pytest.approx(3.0))


def test_where_clearing_costs_what_keeping_does_nothing_is_cleared() -> None:
    # 10 tokens at a half in two calls, or 10 behind them at 1.
    prices = KeepOrBreak(np.array([0.0, 0.5, 0.5, 0.5]), frozenset(), [1.0] * 4, [20.0] * 4, [0.0] * 4, [10.0], [0])
    assert best_times([Dead(0, 10, 2)], prices) == ({0: 4}, 10.0)


def test_every_edit_clears_all_that_is_dead() -> None:
    # Two items of 10 tokens die at call 2 of 6, 1,000 live ones between them, 2 behind them. Clearing the later one
    # alone would cost 2 x 1.15 and save 5 calls x 10 x 0.1 = 5; clearing both costs 1,002 x 1.15, keeping both 10.
    items = [Dead(0, 10, 2), Dead(2, 10, 2)]
    prices = prices_of([10, 1_000, 10, 2], [1] * 4, {}, 6)
    assert best_times(items, prices) == ({0: 7, 2: 7}, pytest.approx(10.0))
