"""The picture of a bill: bars by what was paid for, from sums written by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ctxsim.answers.bill import facts
from ctxsim.answers.bill.sums import Sum
from ctxsim.report import usd_plots
from ctxsim.report.style import COLORS, OTHER_COLOR


def paid(*usd: float) -> Sum:
    parts = (facts.SYSTEM, f"{facts.RESULTS}Bash", facts.ASSISTANT, facts.USER)
    return Sum(usd_listed=sum(usd), parts={part: [0, 0, 0, one] for part, one in zip(parts, usd, strict=True)})


def test_bars_follow_each_other_and_the_title_names_the_most(drawn: list[Any]) -> None:
    rows = {"/a/b/c": paid(1.0, 2.0, 4.0, 0.5), "/x/y/z": paid(3.0, 0.0, 1.0, 0.5)}
    assert usd_plots.plot_bill("project", rows, Path("b.png")) == Path("b.png")
    [axes] = drawn[0].axes
    bars = [(kind.get_label(), [(bar.get_x(), bar.get_width()) for bar in kind]) for kind in axes.containers]
    assert [one for _, one in bars] == [
        [(0, 1), (0, 3)], [(1, 2), (3, 0)], [(3, 4), (3, 1)], [(7, 0.5), (4, 0.5)]
    ]  # fmt: skip
    from matplotlib.colors import to_hex

    colors = [to_hex(kind[0].get_facecolor()) for kind in axes.containers]
    assert colors == [*COLORS[:3], OTHER_COLOR]
    assert [one.get_text() for one in axes.get_yticklabels()] == ["b/c", "y/z"] and axes.yaxis_inverted()
    assert drawn[0].legends[0]._ncols == 4, "one line"
    # 12 dollars in all, 5 of them for answers: 41.7 %.
    assert drawn[0].texts[0].get_text().startswith("12.00 USD, 42% of it for the assistant's answers")


@pytest.mark.parametrize(("by", "first"), [("model", "r/0"), ("day", "r/2")])
def test_twenty_bars_are_drawn_as_in_the_table_and_the_rest_is_one(by: str, first: str, drawn: list[Any]) -> None:
    usd_plots.plot_bill(by, {f"r/{n}": paid(1.0, 0.0, 0.0, 0.0) for n in range(22)}, Path("b.png"))
    # 1.8 inches, and 0.36 for each row; for four at least.
    assert drawn[0].get_size_inches().tolist() == pytest.approx([10, 1.8 + 21 * 0.36])
    bars = drawn[0].axes[0].containers[0]
    assert [bar.get_width() for bar in bars] == [1.0] * 20 + [2.0]
    assert drawn[0].texts[0].get_text().startswith("22.00 USD, 100%")
    names = [one.get_text() for one in drawn[0].axes[0].get_yticklabels()]
    assert (names[0], names[-1]) == (first, "2 more"), "of days the newest; a model's name is no path"
    usd_plots.plot_bill("day", {"a": paid(0.0, 0.0, 0.0, 0.0)}, Path("b.png"))
    assert drawn[1].texts[0].get_text() == "0.00 USD"
    assert drawn[1].get_size_inches().tolist() == pytest.approx([10, 1.8 + 4 * 0.36])
    assert drawn[1].texts[1].get_text() == "by what was paid for; parts fitted to recorded usage"
