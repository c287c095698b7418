"""More lines and tables of the bill: who is left out, what comes at this pace, and which columns leave first."""

from __future__ import annotations

from datetime import datetime
from types import SimpleNamespace
from typing import Any

import pytest

from ctxsim.answers.bill import facts
from ctxsim.answers.bill.smaller import Saving, Smaller
from ctxsim.answers.bill.sums import Sum
from ctxsim.answers.forecast.drift import Change
from ctxsim.answers.forecast.forecast import Amount, Forecast
from ctxsim.answers.forecast.sessions import Next
from ctxsim.report.bill import bill_sheet, closing, names_of, older, opening, pace, part_sheet, smaller_sheet
from ctxsim.report.sheet import text_rows, value_rows


def session(root: str, format: str = "claude-code", responses: int = 1) -> Any:
    return SimpleNamespace(root=root, format=format, responses=[1] * responses)


@pytest.mark.parametrize(
    ("gone", "lines"),
    [
        ([], []),
        # A session that goes on within the days isn't left out, nor is its sub-agent another one.
        ([session("a")], []),
        ([session("b"), session("b")], ["Left out: 1 older session; --days 0 takes all."]),
        ([session("b"), session("c", "codex"), session("d", "pi"), session("e", "pi")],
         ["Left out: 4 older sessions, all sessions of codex and pi among them; --days 0 takes all."]),
    ],
)  # fmt: skip
def test_older_sessions_are_counted_with_agents_that_are_gone(gone: list[Any], lines: list[str]) -> None:
    bill: Any = SimpleNamespace(sessions=[session("a")], older=gone)
    assert list(older(bill)) == lines


def opened(total: Sum, sessions: list[Any]) -> list[str]:
    bill: Any = SimpleNamespace(sessions=sessions, span_s=lambda: None, unrecorded=0)
    return list(opening(bill, total, (0, 0.0), (0, 0.0)))


def test_the_agent_with_the_most_responses_is_named_first() -> None:
    found = [session("a", "codex"), session("b", "claude-code", 3), session("c", "codex", 2)]
    assert opened(Sum(read=1_500), found) == ["Claude Code, codex: 3 sessions, 2K tokens."]
    dollars = "Claude Code: 1 session, 1,234 USD."
    assert opened(Sum(usd_listed=1_234.4), [session("a")]) == [
        dollars, "Dollars are computed from recorded tokens at that day's list prices."
    ]  # fmt: skip
    assert opened(Sum(usd_recorded=1_234.4, unsaid=2, alone=1), [session("a")]) == [
        dollars, "Dollars are as the logs state them.",
        "Tokens are missing for 1 session: the logs state dollars alone.",
        "All input of 2 responses is counted as uncached: the logs don't say what was read from the cache.",
    ]  # fmt: skip


def test_names_are_for_people() -> None:
    assert names_of("agent", ["claude-code", "nobodys"]) == {"claude-code": "Claude Code", "nobodys": "nobodys"}
    assert names_of("day", ["2026/01/02"]) == {"2026/01/02": "2026/01/02"}
    # A path of one part, an empty one, and two of which one is the end of the other.
    assert names_of("project", ["a", "", "/c/d", "/b/c/d"]) == {"a": "a", "": "", "/c/d": "//c/d", "/b/c/d": "b/c/d"}


def columns(sheet: Any) -> list[tuple[str, str, int, bool]]:
    return [(one.name, one.heading, one.rank, one.left) for one in sheet.columns]


def test_columns_of_a_bill_leave_a_narrow_terminal_in_this_order() -> None:
    found = {"m": Sum(usd_listed=1.0, responses=1)}
    people = [
        ("model", "model", 0, True), ("usd", "USD", 0, False), ("head", "head", 1, False),
        ("results", "results", 2, False), ("assistant", "assistant", 3, False), ("read_again", "read", 5, False),
        ("new", "new", 4, False),
    ]  # fmt: skip
    assert columns(bill_sheet("model", found, whole=False)) == people
    assert columns(bill_sheet("model", found, whole=True))[: len(people)] == people
    assert columns(part_sheet(Sum(), whole=False)) == [
        ("part", "part", 0, True), ("usd", "USD", 0, False), ("share", "of all", 1, False),
        ("tokens_read", "read again", 4, False), ("tokens_written", "written", 3, False),
        ("tokens_new", "uncached", 2, False), ("tokens_output", "output", 5, False),
    ]  # fmt: skip
    assert columns(smaller_sheet(Smaller([], None, 0), whole=False)) == [
        ("change", "change", 0, True), ("usd", "saves, USD", 0, False), ("costs", "what it costs you", 1, True)
    ]  # fmt: skip


def test_names_are_whole_for_programs_and_the_rest_is_added_up() -> None:
    paths = [f"/home/me/project-{n:02}/src" for n in range(13)]
    parts = {facts.SYSTEM: [1, 2, 3, 0.5], facts.USER: [0, 0, 1, 0.25]}
    rows = {path: Sum({"s"}, 1, 2, 3, 4, 5, 0.25, 0.75, 0.5, 0.25, 0, parts) for path in paths}
    assert [row["project"] for row in value_rows(bill_sheet("project", rows, whole=True))] == paths
    told = text_rows(bill_sheet("project", rows, whole=False))
    assert told[0]["project"] == "project-00/src" and len(told) == 11
    # Three rows of a dollar each, half of it for the head, half for what is read, a quarter for what is new.
    assert told[-1] == {"project": "3 more", "USD": "3.00", "head": "50%", "results": "0%", "assistant": "0%",
                        "read": "50%", "new": "25%"}  # fmt: skip


def test_parts_of_the_same_dollars_stand_by_their_tokens_and_then_by_name() -> None:
    parts = {"b": [1, 1, 1, 2.0], "a": [1, 1, 1, 2.0], "c": [9, 0, 0, 2.0], "d": [0, 0, 0, 3.0]}
    total = Sum(responses=1, usd_listed=9.0, parts=parts)  # type: ignore[arg-type]
    assert [row["part"] for row in text_rows(part_sheet(total, whole=False))] == ["d", "c", "a", "b"]
    # Without dollars there are no shares.
    unpriced = text_rows(part_sheet(Sum(responses=1, parts={"a": [1_000, 0, 0, 0.0]}), whole=False))
    assert list(unpriced[0].values()) == ["a", "-", "-", "1K", "0", "0", "-"]
    # What was read is no figure where no log tells it, nor is any token beside dollars alone.
    unsaid = text_rows(part_sheet(Sum(responses=1, unsaid=1, parts={"a": [0, 0, 1_000, 0.0]}), whole=False))
    assert list(unsaid[0].values()) == ["a", "-", "-", "-", "-", "1K", "-"]
    alone = text_rows(part_sheet(Sum(usd_recorded=4.5, alone=1, parts={"unknown": [0, 0, 0, 4.5]}), whole=False))
    assert list(alone[0].values()) == ["unknown", "4.50", "100%", "-", "-", "-", "-"]
    twenty = Sum(usd_listed=21.0, parts={f"p{n:02}": [0, 0, 0, 1.0] for n in range(20)})
    assert len(part_sheet(twenty, whole=False).rows) == 20


def saving(**given: Any) -> Saving:
    usual = {"name": "shorter", "usd": 5.0, "low": 4.0, "high": 6.0, "share": 0.1, "months": 2.0, "loses": "some",
             "how": "set it", "kept": None, "times": 1}  # fmt: skip
    return Saving(**{**usual, **given})


def test_of_a_week_and_more_a_month_is_told() -> None:
    found = Smaller([saving(), saving(months=None, how="")], saving(name="both"), 4)
    # 4 to 6 dollars of two months.
    assert text_rows(smaller_sheet(found, whole=False)) == [
        {"change": "shorter", "saves, USD a month": "2.00 to 3.00", "what it costs you": "some"},
        {"change": "shorter", "saves, USD a month": "4.00 to 6.00", "what it costs you": "some"},
    ]
    programs = smaller_sheet(found, whole=True)
    assert [(row["month_low"], row["month_high"]) for row in value_rows(programs)] == [(2.0, 3.0), (None, None)]
    assert {one.name: one.about for one in programs.columns} == {
        "change": "", "usd": "", "costs": "what is lost", "share": "", "low": "5th percentile", "high": "95th",
        "month_low": "5th percentile", "month_high": "95th", "kept": "of the uses of older results", "how": "to do it",
    }  # fmt: skip
    assert list(closing(found)) == [
        "These changes overlap. The best of them together save 2.00 to 3.00 USD a month:", "  both", "",
        "shorter: set it",
    ]  # fmt: skip
    assert list(closing(Smaller([saving(kept=0.5)], None, 1))) == [
        "shorter: set it", "For settings, ctxsim advise is more exact: it replays these sessions."
    ]  # fmt: skip


SINCE = datetime(2026, 3, 5, 12).timestamp()


@pytest.mark.parametrize(
    ("basis", "change", "since", "amounts", "line"),
    [
        ("sessions", None, None, ("usd", "tokens"),
         "At this pace the next 7 days: 1.00 to 1,500 USD (90 %)."),
        ("sessions", None, None, ("tokens",), "At this pace the next 7 days: 1 to 2K tokens (90 %)."),
        ("far", None, None, ("usd",), "At this pace the next 7 days: 1.00 to 1,500 USD (a widened 90 % range)."),
        ("priors", None, None, ("usd",),
         "At this pace the next 7 days: 1.00 to 1,500 USD (too few sessions, 1,005 seen: a range from other "
         "projects)."),
        ("priors", Change(3, "size", 0.001, True), SINCE, ("usd",),
         "At this pace the next 7 days: 1.00 to 1,500 USD (too few sessions, only 1,005 of 2,000 since 5 March 2026 "
         "count: a range from other projects)."),
    ],
)  # fmt: skip
def test_what_comes_at_this_pace(basis: Any, change: Any, since: Any, amounts: tuple[str, ...], line: str) -> None:
    amount = Amount(9.0, {"50": (4.0, 5.0), "90": (1.0, 1_500.0)})
    found = Forecast("", Next(7, days=True), basis, 1_005, 2_000, 2_000, change, since, amount,
                     dict.fromkeys(amounts, amount), {})  # fmt: skip
    assert pace(found) == line
