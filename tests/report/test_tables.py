"""Tables for programs and for people."""

from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from command_line import ctxsim
from made_runs import made_run
from project import ROOT
from rich.console import Console

from ctxsim.answers.advice.advice import advise
from ctxsim.answers.advice.pooled import Pooled, figures_of
from ctxsim.report.cells import EVERY
from ctxsim.report.sheet import Sheet, text_rows
from ctxsim.report.tables import bench_sheet, fitting, print_sheet, sweep_sheet
from ctxsim.results import Run, read_run


@pytest.fixture(scope="module")
def documented() -> tuple[Run, list[Sheet], Sheet]:
    """The documented case: its tables as bench and sweep print them, and one of all columns."""
    run = read_run(ROOT / "results" / "documented-53k")
    pooled, advice = Pooled(run), advise(run)
    printed = [bench_sheet(run, pooled, advice), sweep_sheet(run, pooled, advice)]
    return run, printed, bench_sheet(run, pooled, None, names=["*"])


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("wide", [False, True])
def test_a_table_fits_its_terminal_and_cuts_no_cell(width: int, wide: bool, documented: Any) -> None:
    _, two, every = documented
    out = Console(width=width, file=io.StringIO(), color_system=None)
    for one in [every] if wide else two:
        print_sheet(one, out.print, width, wide)
    printed = out.file.getvalue()  # type: ignore[attr-defined]
    assert max(map(len, printed.splitlines())) <= width
    assert "…" not in printed and "rate limit" in printed
    if wide:
        assert all(one.heading in printed for one in EVERY)


def test_columns_leave_in_their_order(documented: Any) -> None:
    one = documented[1][0]
    gone = [[column.name for column in fitting(one, width)[1]] for width in range(120, 30, -1)]
    assert gone[0] == [] and gone[-1] == ["tokens_share", "usd", "usd_share"]
    assert all(now[: len(before)] == before for before, now in pairwise(gone))


def test_columns_have_names_and_meanings() -> None:
    names = [one.name for one in EVERY]
    assert len(set(names)) == len(names) and all(one.about for one in EVERY)


def test_the_page_of_columns_is_the_tables(documented: Any) -> None:
    page = ctxsim("list", "columns", "--format", "md", cwd=ROOT).stdout
    for one in EVERY:
        assert f"| {one.name} |  | {one.kind} |  | {one.about} (heading: {one.heading}) |" in page
    gone = fitting(documented[2].only([one.name for one in EVERY]), 30)[1]
    assert [one.name for one in gone] == ["tokens", "tokens_share", "peak", "usd", "usd_share"]


def test_a_setting_that_doing_nothing_beats_is_not_worth_it(tmp_path: Path) -> None:
    def rows(cost: float, kept: float) -> list[dict[str, float]]:
        return [{"cost_usd": cost, "survival": kept}] * 2

    # Dearer than keep-all, and loses: nothing for it. The other one pays less for what it loses.
    run = made_run(tmp_path, {"keep-all": rows(10, 1.0), "mask:keep=9": rows(11, 0.9), "mask:keep=1": rows(5, 0.5)})
    table = sweep_sheet(run, figures_of(run), advise(run))
    worth = {row["policy"]: row["worth it"] for row in text_rows(table)}
    assert worth == {"keep-all (bound)": "", "mask:keep=9": "no", "mask:keep=1": "yes"}
