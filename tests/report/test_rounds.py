"""Rounds of looks at planted facts: tables and curves of a few looks written by hand."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas
import pytest

from ctxsim.report import rounds
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
    return SimpleNamespace(
        table=lambda name: needles, info=SimpleNamespace(policies=("a", "b")), shown=lambda label: label.upper()
    )


def test_three_looks_at_all_facts_at_the_same_calls_are_rounds() -> None:
    assert rounds.in_rounds(run(LOOKS))["round"].tolist() == [0, 1, 2] * 4
    assert rounds.in_rounds(run(LOOKS[LOOKS.call < 9])) is None, "two looks are none"
    assert rounds.in_rounds(run(LOOKS[:0])) is None
    assert rounds.in_rounds(run(LOOKS.drop(index=0))) is None, "one fact was looked for less often"


def test_shares_by_round_and_by_when_it_was_told() -> None:
    one = run(LOOKS)
    needles = rounds.in_rounds(one)
    # Facts stand in the order in which they were planted: late before early. After the last round b has 1 of 2.
    assert rounds.round_rows(one, needles) == [
        {"policy": "A", "told": "100%", "rd 1": "100%", "rd 2": "100%", "late": "100%", "early": "100%"},
        {"policy": "B", "told": "100%", "rd 1": "100%", "rd 2": "50%", "late": "100%", "early": "100%"},
    ]
    assert rounds.kind_rows(one, needles) == [
        {"policy": "A", "name": "100%", "path": "100%", "stale": "0"},
        {"policy": "B", "name": "100%", "path": "0%", "stale": "1"},
    ]
    assert "stale" not in rounds.kind_rows(one, needles.assign(stale=0))[0]


@pytest.mark.parametrize(("bounds", "apart", "best"), [("", (-0.3, 0.3), "A still has 100%"),
                                                       ("a", (0.0, 0.3), "B still has 50%"),
                                                       ("ab", (0.0, 0.0), "A still has 100%")])  # fmt: skip
def test_curves_of_each_kind_and_part(bounds: str, apart: tuple[float, float], best: str, drawn: list[Any]) -> None:
    one: Any = SimpleNamespace(
        run=run(LOOKS), labels=("a", "b"), bound=lambda label: label in bounds, color=lambda label: OTHER_COLOR,
        marked=str, name=str.upper, title="T", mark="▶: advised",
    )  # fmt: skip
    assert rounds.curves(one, Path("x.png")) == Path("x.png")
    assert drawn[0].texts[0].get_text().startswith(best) and drawn[0].texts[1].get_text().endswith("; ▶: advised")
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
