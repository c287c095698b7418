"""Sets of sessions of changed agents: a change that is there is found, and none is seen where there is none."""

from __future__ import annotations

import math
import random

import msgspec
import pytest

from ctxsim.answers.bill import unpaired
from ctxsim.answers.bill.facts import Response, Session
from ctxsim.answers.bill.sums import billed
from ctxsim.answers.bill.unpaired import FIGURES, Case, Difference, cases, compared, difference, differences
from ctxsim.errors import CtxsimError
from ctxsim.report.changes import unpaired_sheet

TRIALS = 100


def sessions(rng: random.Random, count: int) -> list[Case]:
    """Sessions of five projects, each with a head of its own that varies by 3 %; a tenth has twice as much, and calls
    and costs vary by a factor of ten.
    """
    made = []
    for _ in range(count):
        project = rng.randrange(5)
        head = (20_000 + 8_000 * project) * math.exp(rng.gauss(0, 0.03)) * (2 if rng.random() < 0.1 else 1)
        calls = round(math.exp(rng.gauss(3.5, 0.8))) + 1
        cost = calls * (head * 0.5e-6 + 0.02 * math.exp(rng.gauss(0, 0.3)))
        made.append(Case(f"project {project}", {"head": head, "calls": calls, "cost": cost, "compactions": 0.0}))
    return made


def larger(cases: list[Case], figure: str, by: float) -> list[Case]:
    return [msgspec.structs.replace(case, figures={**case.figures, figure: case.figures[figure] * by})
            for case in cases]  # fmt: skip


def test_a_head_larger_by_a_tenth_is_found_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpaired, "DRAWS", 999)
    monkeypatch.setattr(unpaired, "RESAMPLES", 2)
    monkeypatch.setattr(unpaired, "TRIES", 1)
    found = alarms = by_chance = 0
    for seed in range(TRIALS):
        rng = random.Random(seed)
        before, after = sessions(rng, 40), sessions(rng, 40)
        same = difference("head", before, after)
        changed = difference("head", before, larger(after, "head", 1.1))
        assert same and changed
        alarms += same.changed and same.effect > 5
        by_chance += same.changed
        found += changed.changed and changed.effect > 5
    assert found >= 95 and alarms <= 5, (found, alarms)
    # The test itself keeps its level: 5 of 100, and here at most as many as one in a thousand such tests would have.
    assert by_chance <= 12, by_chance


def test_power_says_how_often_a_change_would_be_found() -> None:
    rng = random.Random(1)
    before, after = sessions(rng, 40), sessions(rng, 40)
    head, cost = difference("head", before, after), difference("cost", before, after)
    assert head and cost and head.power is not None and cost.power is not None
    assert head.power > 0.9 > 0.5 > cost.power
    # As often as it is found in trials.
    few = (before[:10], after[:10])
    told = difference("head", *few)
    assert told and told.power is not None and told.power < head.power


def test_projects_that_one_set_alone_has_tell_of_no_change() -> None:
    rng = random.Random(2)
    before, after = sessions(rng, 40), sessions(rng, 40)
    other = [Case("elsewhere", {"head": 90_000.0, "compactions": 0.0})] * 15
    found = difference("head", before, [*after, *other])
    plain = difference("head", before, after)
    assert found == plain
    # Sets that share nothing are compared as they are.
    apart = difference("head", before, other)
    assert apart and apart.changed and apart.effect > 50


def test_an_effect_is_the_median_difference() -> None:
    before = [Case("p", {"head": value, "compactions": 0.0}) for value in (100.0, 110.0, 120.0, 130.0)]
    after = [Case("p", {"head": value * 1.2, "compactions": 2.0}) for value in (100.0, 110.0, 120.0, 130.0)]
    found = {one.figure: one for one in differences(before, after)}
    assert found["head"].effect == pytest.approx(20, abs=0.01) and found["head"].low < 20 < found["head"].high
    assert (found["head"].before, found["head"].after) == (115, pytest.approx(138))
    assert found["compactions"].effect == 2 and found["compactions"].power is None
    assert found["compactions"].chance < 0.05
    with pytest.raises(CtxsimError, match="3 and 4 sessions: each set needs 4"):
        differences(before[:3], after)


def test_with_too_few_of_the_same_projects_all_pairs_count() -> None:
    def of(**heads: tuple[float, ...]) -> list[Case]:
        return [Case(name, {"head": head, "compactions": 0.0}) for name, its in heads.items() for head in its]

    before, after = of(p=(100.0,), q=(200.0, 200.0, 200.0)), of(p=(400.0, 400.0), r=(200.0, 200.0))
    found = difference("head", before, after)
    # Of 16 pairs 6 are the same, 8 twice as much, 2 four times as much. Of the 8 pairs within p and within the others
    # 6 would be the same.
    assert found is not None and found.effect == pytest.approx(100)
    assert compared(before, after) == (False, (0, 0))


def test_who_is_left_out_is_told() -> None:
    def of(project: str, count: int) -> list[Case]:
        return [Case(project, {"head": 100.0 + number, "compactions": 0.0}) for number in range(count)]

    before, after = of("p", 5) + of("q", 2), of("p", 4) + of("r", 3)
    assert compared(before, after) == (True, (2, 3))
    assert compared(of("p", 5), of("p", 4)) == (True, (0, 0))
    # Too few in common: all are compared.
    assert compared(of("p", 5) + of("q", 1), of("r", 4) + of("q", 1)) == (False, (0, 0))
    table = unpaired_sheet(differences(before, after), (), *compared(before, after))
    assert table.title == "5 sessions before, 4 after"
    assert table.notes[-1] == "Left out: 2 and 3 sessions whose project and model only one set has."
    mixed = unpaired_sheet(differences(of("p", 5), of("r", 4)), (), *compared(of("p", 5), of("r", 4)))
    assert "All are compared" in mixed.notes[-1]
    assert "of one project" not in {column.name: column.about for column in mixed.columns}["effect"]


def test_what_is_no_difference_of_the_two_medians_is_not_called_so() -> None:
    # Medians 20 and 30: +50 %. Of the 16 pairs' ratios the middle two are 1.25 and 1.25: +25 %.
    before = [Case("p", {"head": value, "compactions": 0.0}) for value in (10.0, 20.0, 20.0, 80.0)]
    after = [Case("p", {"head": value, "compactions": 0.0}) for value in (10.0, 25.0, 35.0, 80.0)]
    found = [one for one in differences(before, after) if one.figure == "head"]
    assert (found[0].before, found[0].after) == (20, 30) and found[0].effect == pytest.approx(25)
    table = unpaired_sheet(found, found)
    said = {column.name: (column.heading, column.about) for column in table.columns}
    assert said["effect"][0] == "change" and "the medians of A and B may differ by another amount" in said["effect"][1]
    assert said["power"][0] == "finds +10%" and "larger ones are found more often" in said["power"][1]


def small(*figures: tuple[float, float, float]) -> list[Case]:
    """Sessions of two projects by turns: dollars, tokens of a head, compactions."""
    return [
        Case("pq"[n % 2], dict(zip(("cost", "head", "compactions"), one, strict=True))) for n, one in enumerate(figures)
    ]


def test_a_difference_has_all_its_figures() -> None:
    before = small(*((1.0 + n, 100.0 + 10 * n, float(n % 2)) for n in range(6)))
    after = small(*((1.5 + 1.5 * n, 130.0 + 12 * n, float(1 + n % 3)) for n in range(6)))
    cost, head, compactions = found = differences(before, after)
    # Each second session costs half as much again: medians of 3.5 and 5.25. Of 2,000 deals of six ranks in each project
    # a third are as far apart.
    assert cost == Difference("cost", 3.5, 5.25, pytest.approx(50), cost.low, cost.high, cost.chance, True, (6, 6),
                              cost.power)  # fmt: skip
    assert (cost.chance, cost.power) == (pytest.approx(0.344, abs=0.02), pytest.approx(0.055, abs=0.03))
    # Of six sessions an interval is almost the range of all resamples: half as much to 4.5 times as much.
    assert (cost.low, cost.high) == (pytest.approx(-50, abs=3), pytest.approx(350, abs=25))
    assert (head.before, head.after, head.effect) == (125, 160, pytest.approx(28.0124))
    assert head.chance == pytest.approx(0.0425, abs=0.01) and 0 < head.low < 5 and 54 < head.high < 64
    assert (compactions.before, compactions.after, compactions.effect, compactions.ratio) == (0.5, 2, 1.5, False)
    assert (compactions.low, compactions.high, compactions.power) == (0, 3, None)
    assert compactions.chance == pytest.approx(0.017, abs=0.006)
    assert [one.changed for one in found] == [False, True, True]
    # Less is as much of a change as more, and the other way round it is the inverse.
    turned = differences(after, before)[1]
    assert turned.effect == pytest.approx(100 * (1 / 1.280124 - 1)) and turned.chance == pytest.approx(
        head.chance, abs=0.01
    )


@pytest.mark.parametrize(("chance", "changed"), [(0.05, True), (0.0501, False)])
def test_a_twentieth_is_no_chance(chance: float, changed: bool) -> None:
    assert Difference("cost", 1, 1, 0, 0, 0, chance, True, (4, 4), None).changed is changed


def test_each_side_needs_four_sessions_with_the_figure() -> None:
    four = small(*[(1.0, 2.0, 0.0)] * 4)
    none = [Case("p", {"compactions": 0.0})]
    for before, after in ((four[:3], four), (four, four[:3])):
        with pytest.raises(CtxsimError, match="each set needs 4 for a comparison"):
            differences(before, after)
        assert difference("cost", [*before, *none], [*after, *none]) is None
    found = difference("cost", four, four)
    assert found is not None and (found.effect, found.chance, found.low, found.high, found.power) == (0, 1, 0, 0, 1)
    # Of a side's project that has no like on the other three in common are too few.
    assert compared(small(*[(1.0, 1.0, 0.0)] * 8), four[:3] * 2) == (True, (0, 0))
    assert list(FIGURES) == ["cost", "cost_per_call", "tokens", "tokens_per_call", "head", "calls", "compactions"]


@pytest.mark.parametrize("at", ["p", "p/.worktrees/fix/a", "p\\.claude\\worktrees\\b"])
def test_cases_are_sessions_of_a_project_with_their_sub_agents_whose_file_may_come_first(at: str) -> None:
    def session(name: str, tokens: int, parent: str = "", project: str = "p") -> Session:
        response = Response(None, "m", tokens, 0, 0, 0, 1, False, 2.0, head=tokens // 2)
        return Session(name, parent, "f", project, "1", (response,), (), ())

    class Prices:
        def of(self, model: str, time_s: float | None, served: str) -> None:
            return None

    made = [session("sub", 10, "own", "elsewhere"), session("own", 100), session("other", 7, project=at)]
    found = cases(billed(made, Prices(), None))  # type: ignore[arg-type]
    assert found == [
        Case("p m", {"cost": 4.0, "cost_per_call": 2.0, "tokens": 110.0, "tokens_per_call": 55.0, "head": 50.0,
                     "calls": 2.0, "compactions": 0.0}),
        Case("p m", {"cost": 2.0, "cost_per_call": 2.0, "tokens": 7.0, "tokens_per_call": 7.0, "head": 3.0,
                     "calls": 1.0, "compactions": 0.0}),
    ]  # fmt: skip
