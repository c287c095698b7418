"""Planted facts: tables of a few looks written by hand, and curves of rounds."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas
import pytest

from ctxsim.report import planted
from ctxsim.report.sheet import text_rows
from ctxsim.report.style import OTHER_COLOR

# Two facts, looked for at calls 3, 5 and 9: the first is kept by `b` up to the second look, the other one always.
LOOKS = pandas.DataFrame(
    {"transcript": "t", "policy": policy, "needle": needle, "kind": kind, "depth": depth, "call": call,
     "kept": float(policy == "a" or needle == 2 or call < 9), "stale": int(policy == "b" and needle == 1 and call == 9)}
    for policy in "ab"
    for needle, kind, depth in ((1, "path", "late"), (2, "name", "early"))
    for call in (3, 5, 9)
)  # fmt: skip


def run(needles: pandas.DataFrame) -> Any:
    return SimpleNamespace(table=lambda name: needles, labels=["a", "b"], shown=lambda label: label.upper())


def test_three_looks_at_all_facts_at_the_same_calls_are_rounds() -> None:
    assert planted.in_rounds(run(LOOKS))["round"].tolist() == [0, 1, 2] * 4
    assert planted.in_rounds(run(LOOKS[LOOKS.call < 9])) is None, "two looks are none"
    assert planted.in_rounds(run(LOOKS[:0])) is None
    assert planted.in_rounds(run(LOOKS.drop(index=0))) is None, "one fact was looked for less often"


def test_facts_of_rounds_are_told_by_round_by_when_they_were_told_and_by_kind() -> None:
    by_round, by_kind = planted.needle_sheets(run(LOOKS))
    assert (by_round.name, len(by_round.notes), by_kind.name, by_kind.notes) == ("rounds", 1, "kinds", ())
    # Facts stand in the order in which they were planted: late before early. After the last round b has 1 of 2.
    assert text_rows(by_round) == [
        {"policy": "A", "told": "100%", "rd 1": "100%", "rd 2": "100%", "late": "100%", "early": "100%"},
        {"policy": "B", "told": "100%", "rd 1": "100%", "rd 2": "50%", "late": "100%", "early": "100%"},
    ]
    assert text_rows(by_kind) == [
        {"policy": "A", "name": "100%", "path": "100%", "stale": "0"},
        {"policy": "B", "name": "100%", "path": "0%", "stale": "1"},
    ]
    assert "stale" not in text_rows(planted.needle_sheets(run(LOOKS.assign(stale=0)))[1])[0]
    # Of twelve looks those as told and after the 1st, 2nd, 5th and 10th round are shown.
    many = pandas.concat(LOOKS[LOOKS.call == 3].assign(call=call) for call in range(12))
    shown = [name for name in text_rows(planted.needle_sheets(run(many))[0])[0] if name.startswith("rd")]
    assert shown == ["rd 1", "rd 2", "rd 5", "rd 10"]


def test_facts_are_told_by_rule_place_and_age() -> None:
    rows = [
        ("a", "rule", "head", 3, True), ("a", "json", "tail", 10, True), ("a", "log", "head", 2, False),
        ("b", "rule", "head", 3, False), ("b", "json", "tail", 10, True), ("b", "log", "head", 2, True),
    ]  # fmt: skip
    facts = pandas.DataFrame(rows, columns=["policy", "kind", "depth", "age", "kept"])
    facts = facts.assign(transcript="t", needle=facts.kind, call=facts.age)
    [found] = planted.needle_sheets(run(facts))
    assert (found.name, found.title) == ("needles", "Planted facts and rules that were still in view when used")
    assert text_rows(found) == [
        {"policy": "A", "rules": "100%", "facts": "50%", "head": "0%", "middle": "-", "tail": "100%", "age 2": "0%",
         "age 10": "100%"},
        {"policy": "B", "rules": "0%", "facts": "100%", "head": "100%", "middle": "-", "tail": "100%",
         "age 2": "100%", "age 10": "100%"},
    ]  # fmt: skip
    # A share is of the looks that are known.
    unknown = facts.assign(kept=[True, None, False, None, None, None])
    assert [row["facts"] for row in text_rows(planted.needle_sheets(run(unknown))[0])] == ["0%", "-"]
    assert len(found.notes) == 1 and planted.needle_sheets(run(facts[:0])) == []


def test_many_curves_stay_within_their_panel(drawn: list[Any]) -> None:
    labels = [f"p{number:02}" for number in range(40)]
    looks = pandas.concat([LOOKS[LOOKS.policy == "a"].assign(policy=label) for label in labels])
    one: Any = SimpleNamespace(
        run=run(looks), labels=labels, bound=lambda label: False, color=lambda label: OTHER_COLOR, marked=str, name=str,
        title="T", mark="",
    )  # fmt: skip
    planted.curves(one, Path("x.png"))
    heights = [line.get_ydata()[0] for line in drawn[0].axes[0].lines]
    # Five points in all, an eighth between neighbours.
    assert (heights[0], heights[1], heights[-1]) == pytest.approx((100 - 39 / 16, 100 - 37 / 16, 100 + 39 / 16))
    assert drawn[0].texts[0].get_text().startswith("p00 and 39 more still have 100%")
    assert "shifted by up to 2.5 points" in " ".join(drawn[0].texts[1].get_text().split())
    one.labels = labels[:1]
    planted.curves(one, Path("x.png"))
    assert "shifted" not in drawn[1].texts[1].get_text()


@pytest.mark.parametrize(("bounds", "apart", "best"), [("", (-0.3, 0.3), "A still has 100%"),
                                                       ("a", (0.0, 0.3), "B still has 50%"),
                                                       ("ab", (0.0, 0.0), "A still has 100%")])  # fmt: skip
def test_curves_of_each_kind_and_part(bounds: str, apart: tuple[float, float], best: str, drawn: list[Any]) -> None:
    one: Any = SimpleNamespace(
        run=run(LOOKS), labels=("a", "b"), bound=lambda label: label in bounds, color=lambda label: OTHER_COLOR,
        marked=str, name=str.upper, title="T", mark="▶: advised",
    )  # fmt: skip
    assert planted.curves(one, Path("x.png")) == Path("x.png")
    assert drawn[0].texts[0].get_text().startswith(best) and drawn[0].texts[1].get_text().endswith("; ▶: advised")
    assert "curves are shifted by up to 0.3 points" in " ".join(drawn[0].texts[1].get_text().split())
    # Both are grey.
    assert [line.get_linestyle() for line in drawn[0].axes[0].lines] == ["-", "--"]
    panels = drawn[0].axes[:4]
    assert [panel.get_title(loc="left") for panel in panels] == [
        "name (1 facts)", "path (1 facts)", "told: late (1 facts)", "told: early (1 facts)"
    ]  # fmt: skip
    for panel, last in zip(panels, (100, 0, 0, 100), strict=True):
        lines = [(list(line.get_xdata()), list(line.get_ydata())) for line in panel.lines]
        for line, end, moved in zip(lines, (100, last), apart, strict=True):
            assert line == ([0, 1, 2], pytest.approx([100 + moved, 100 + moved, end + moved]))
        assert (panel.get_xlim(), panel.get_ylim()) == ((0, 2), (-6, 106))
    assert [bool(panel.get_xlabel()) for panel in panels] == [False, True, True, True]
    assert [bool(panel.get_ylabel()) for panel in panels] == [True, False, False, True]
