"""Lines and tables of the bill: every figure and bound by hand."""

from __future__ import annotations

from datetime import datetime
from time import process_time
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from ctxsim.answers.bill import facts
from ctxsim.answers.bill.smaller import Saving, Smaller
from ctxsim.answers.bill.sums import LeftOut, Misses, Sum
from ctxsim.answers.forecast.forecast import Amount, Forecast
from ctxsim.answers.forecast.sessions import Next
from ctxsim.report.bill import (
    _range,
    bill_sheet,
    closing,
    group,
    names_of,
    older,
    opening,
    pace,
    part_sheet,
    pauses,
    smaller_sheet,
    tokens,
    usd,
)
from ctxsim.report.sheet import text_rows, value_rows


def test_amounts_for_people() -> None:
    amounts = ["0.00", "999.99", "1,000.00", "1,000", "1,234"]
    assert [usd(one) for one in (0, 999.994, 999.999, 1_000, 1_234.5)] == amounts
    assert [tokens(one) for one in (999, 1_000, 999_400, 1e6, 2_340_000)] == ["999", "1K", "999K", "1.0 M", "2.3 M"]


def test_parts_belong_to_columns() -> None:
    parts = [facts.SYSTEM, f"{facts.SERVER}x", f"{facts.RESULTS}Bash", facts.ASSISTANT, facts.THINKING, facts.ASKED,
             facts.OUTPUT, facts.USER]  # fmt: skip
    assert list(map(group, parts)) == ["head", "head", "results", *["assistant"] * 4, ""]


def first_lines(
    total: Sum, sessions: int = 2, span_s: Any = None, begun: LeftOut = (0, 0.0),
    compactions: LeftOut = (0, 0.0), unrecorded: int = 0,
) -> list[str]:  # fmt: skip
    """Each session has a sub-agent's beside it, which is no session of its own."""
    found = [SimpleNamespace(root=f"{n}", format="claude-code", responses=[1]) for n in range(sessions)] * 2
    bill: Any = SimpleNamespace(sessions=found, span_s=lambda: span_s, unrecorded=unrecorded)
    return list(opening(bill, total, begun, compactions))


def test_the_agent_with_the_most_responses_is_named_first() -> None:
    found = [SimpleNamespace(root=root, format=agent, responses=[1] * many)
             for root, agent, many in (("a", "codex", 1), ("b", "claude-code", 3), ("c", "codex", 2))]  # fmt: skip
    bill: Any = SimpleNamespace(sessions=found, span_s=lambda: None, unrecorded=0)
    assert list(opening(bill, Sum(read=1_500), (0, 0.0), (0, 0.0))) == ["Claude Code, codex: 3 sessions, 2K tokens."]


def test_the_first_lines_say_what_it_cost_and_what_that_rests_on() -> None:
    listed, stated = Sum(usd_listed=3.0, responses=9), Sum(usd_recorded=2.0, responses=9)
    day = datetime(2026, 3, 5, 12).timestamp()
    assert first_lines(Sum(read=4_000, plain=1_000))[0].endswith(": 2 sessions, 5K tokens.")
    assert len(first_lines(Sum(read=4_000))) == 1
    found = first_lines(listed, span_s=(day, day), sessions=1)
    assert found[0].endswith(": 1 session, 5 March 2026, 3.00 USD.") and "list prices" in found[1] and len(found) == 2
    odd = Sum(usd_recorded=2.0, unsaid=2, alone=1)
    assert first_lines(stated)[1:] == first_lines(odd)[1:2] == ["Dollars are as the logs state them."]
    assert first_lines(odd)[2:] == [
        "Tokens are missing for 1 session: the logs state dollars alone.",
        "All input of 2 responses is counted as uncached: the logs don't say what was read from the cache.",
    ]
    both = first_lines(Sum(usd_listed=3.0, usd_recorded=2.0))
    assert both[0].endswith("5.00 USD.") and both[1].startswith("2.00 USD as logs state, 3.00 USD from")
    line = first_lines(Sum(usd_listed=1.0, responses=9, unpriced=2))[2]
    assert line.startswith("Dollars are missing for 2 of 9 responses:")
    silent = first_lines(Sum(usd_listed=1.0, sessions={"0"}), unrecorded=3)[2]
    assert silent == "Not included: 3 responses without recorded usage, among them all of 1 session."
    assert len(first_lines(listed, begun=(999, 1.0))) == 2
    assert "about 1.50 USD for 1K output tokens" in first_lines(listed, begun=(1_000, 1.5))[2]
    assert first_lines(listed, begun=(1_000, None))[2] == "Not included: 1K output tokens that the logs don't count."
    assert first_lines(listed, compactions=(1, None))[2].startswith("Not included: the requests of 1 compaction,")
    assert "about 0.25 USD for the requests of 2 compactions," in first_lines(listed, compactions=(2, 0.25))[2]


@pytest.mark.parametrize(
    ("first", "last", "text"),
    [((2026, 3, 5), (2026, 3, 5), "5 March 2026"), ((2026, 3, 5), (2026, 4, 6), "5 March 2026 to 6 April 2026"),
     ((2025, 12, 31), (2026, 1, 1), "31 December 2025 to 1 January 2026")],
)  # fmt: skip
def test_a_span_of_one_day_names_it_once(first: tuple[int, ...], last: tuple[int, ...], text: str) -> None:
    span = tuple(datetime(*one, 12).timestamp() for one in (first, last))  # type: ignore[arg-type,misc]
    assert f", {text}, " in first_lines(Sum(usd_listed=1.0), span_s=span)[0]


def test_misses_are_told_from_a_hundredth_of_the_bill_on() -> None:
    total = Sum(usd_listed=100.0)
    one, two = Misses(1, 2_000, 1.0), Misses(2, 3_000, 0.99)
    assert list(pauses({"pause": one, "model": two}, total)) == [
        "1 pause longer than the cache lasts made the agent pay again for 2K tokens: 1.00 USD."
    ]
    assert "2 requests that missed the cache without" in next(pauses({"other": Misses(2, 2_000, 5.0)}, total))
    assert list(pauses({"pause": Misses(1, 5, 0.0)}, Sum())) == []


def test_names_are_for_people_and_a_path_is_named_by_the_end_that_tells_it_apart() -> None:
    assert names_of("agent", ["claude-code", "nobodys"]) == {"claude-code": "Claude Code", "nobodys": "nobodys"}
    assert names_of("day", ["2026/01/02"]) == {"2026/01/02": "2026/01/02"}
    # A path of one part, an empty one, and two of which one is the end of the other.
    assert names_of("project", ["a", "", "/c/d", "/b/c/d"]) == {"a": "a", "": "", "/c/d": "/c/d", "/b/c/d": "b/c/d"}
    assert names_of("project", ["/a/b/c", "/x/y/z"]) == {"/a/b/c": "b/c", "/x/y/z": "y/z"}
    long, other = (f"{'x' * 20}/{'y' * 6}{n}{'z' * 12}" for n in (1, 2))
    assert names_of("session", [long, other]) == {long: long[21:], other: other[21:]}
    assert names_of("project", ["/a/b/c", "/x/b/c"]) == {"/a/b/c": "a/b/c", "/x/b/c": "x/b/c"}
    assert names_of("session", ["one", "d\\e\\f"]) == {"one": "one", "d\\e\\f": "e/f"}
    assert len(names_of("project", ["/" + "x" * 40])["/" + "x" * 40]) == 24
    began = process_time()
    assert names_of("session", [f"/a/{n % 7}/{n}.jsonl" for n in range(3_000)])["/a/3/10.jsonl"] == "3/10.jsonl"
    assert process_time() - began < 1


def test_a_row_says_whose_share_of_the_dollars_it_is() -> None:
    # Of 10 dollars 4 are the system prompt's, 3 two tools' results, 2 answers; the user's 1 has no column.
    parts = {facts.SYSTEM: 4.0, f"{facts.RESULTS}Bash": 2.0, f"{facts.RESULTS}Read": 1.0, facts.ASSISTANT: 2.0,
             facts.USER: 1.0}  # fmt: skip
    shared = {name: [0, 0, 0, usd] for name, usd in parts.items()}
    one = Sum(responses=2, usd_listed=10.0, usd_read=6.0, usd_new=3.5, parts=shared)
    assert text_rows(bill_sheet("model", {"m": one}, whole=False)) == [
        {"model": "m", "USD": "10.00", "head": "40%", "results": "30%", "assistant": "20%", "read": "60%",
         "new": "35%"},
    ]  # fmt: skip
    unsaid = msgspec.structs.replace(one, unsaid=2)
    assert list(text_rows(bill_sheet("model", {"m": unsaid}, whole=False))[0].values())[2:] == [
        "40%", "30%", "20%", "-", "-",
    ]  # fmt: skip
    alone = Sum(usd_recorded=4.5, alone=1, parts={facts.UNKNOWN: [0, 0, 0, 4.5]})
    assert list(text_rows(bill_sheet("model", {"m": alone}, whole=False))[0].values())[1:] == ["4.50", *"-----"]


def rows(count: int, last: str = "") -> dict[str, Sum]:
    names = [f"r{n:02}" for n in range(count)]
    if last:
        names[-1] = last
    return {name: Sum(usd_listed=1.0, responses=1) for name in names}


@pytest.mark.parametrize(
    ("by", "found", "first", "last", "many"),
    [("model", rows(11), "r00", "r10", 11), ("model", rows(12), "r00", "2 more", 11),
     ("day", rows(12), "2 earlier", "r11", 11), ("week", rows(13), "3 earlier", "r12", 11),
     ("day", rows(12, "no date"), "r00", "2 more", 11)],
)  # fmt: skip
def test_people_see_ten_rows_and_the_rest_in_one(
    by: str, found: dict[str, Sum], first: str, last: str, many: int
) -> None:
    told = text_rows(bill_sheet(by, found, whole=False))
    assert (told[0][by], told[-1][by], len(told)) == (first, last, many)
    assert [told[at]["USD"] for at in (0, -1)] == [
        f"{name[0]}.00" if name[0] in "23" else "1.00" for name in (first, last)
    ]
    assert len(bill_sheet(by, found, whole=True).rows) == len(found)


def test_programs_get_every_figure_of_a_row() -> None:
    one = Sum({"s"}, 4, 10, 20, 30, 40, 1.5, 2.5, 3.0, 0.5, 1, {facts.SYSTEM: [1, 2, 3, 2.0]})
    [row] = value_rows(bill_sheet("model", {"m": one, "n": Sum(responses=2, unpriced=2)}, whole=True))[:1]
    assert row == {
        "model": "m", "usd": 4.0, "head": 0.5, "results": 0.0, "assistant": 0.0, "read_again": 0.75, "new": 0.125,
        "sessions": 1, "responses": 4, "tokens_read": 10, "tokens_written": 20, "tokens_uncached": 30,
        "tokens_output": 40, "usd_recorded": 1.5, "usd_listed": 2.5, "unpriced": 1,
    }  # fmt: skip
    unpriced = bill_sheet("model", {"n": Sum(responses=2, unpriced=2)}, whole=False)
    assert unpriced.rows[0][1] == (None, "-") and text_rows(unpriced)[0]["head"] == "-"


def test_parts_stand_by_dollars_and_the_rest_is_one_row() -> None:
    parts = {f"{facts.RESULTS}{n:02}": [1, 2, 3, float(n)] for n in range(1, 23)}
    total = Sum(responses=1, usd_listed=253.0, parts={**parts, facts.OUTPUT: [0, 0, 7_000, 0.5]})
    told = text_rows(part_sheet(total, whole=False))
    # The sum of 1 to 22 is 253; three are left over: 2 + 1 + 0.5.
    assert list(told[0].values()) == [f"{facts.RESULTS}22", "22.00", "9%", "1", "2", "3", "-"]
    assert list(told[-1].values()) == ["3 more", "3.50", "1%", "2", "4", "7K", "-"] and len(told) == 21
    whole = text_rows(part_sheet(total, whole=True))
    assert len(whole) == 23 and list(whole[-1].values()) == [facts.OUTPUT, "0.50", "0%", "-", "-", "-", "7K"]


def saving(**given: Any) -> Saving:
    usual = {"name": "shorter", "usd": 5.0, "share": 0.1, "loses": "some", "how": "set it", "kept": 0.9}
    return Saving(**{**usual, **given})


def test_what_it_saves_is_a_range() -> None:
    def told(low: float, high: float) -> str:
        return _range(saving(ahead=(low, high)))

    assert told(4.004, 6.0) == "4.00 to 6.00" and told(-0.001, 6.0) == "0.00 to 6.00" and told(-0.4, 20.0) == "0 to 20"
    assert told(8.6, 10.0) == "9 to 10" and told(4.004, 9.99) == "4.00 to 9.99"
    # Where both ends are alike, and where no days are forecast, it is one figure.
    assert told(5.996, 6.0) == "6.00" and told(10.4, 10.4) == "10" and _range(saving()) == "5.00"


def test_changes_that_save_are_told_with_how_to_make_them() -> None:
    found = Smaller([saving(), saving(name="fewer", how="")], saving(name="both"), 4, settings=True)
    assert list(closing(found)) == [
        "These changes overlap. The best of them together save 5.00 USD:", "  both", "", "shorter: set it",
        "ctxsim advise tries more settings, and is more exact: it replays these sessions.",
    ]  # fmt: skip
    none = "None of 4 changes tried would have made the bill 2 % smaller."
    assert list(closing(Smaller([], None, 4))) == [none]
    # Where settings were tried, it says so too where none of them is listed.
    assert list(closing(Smaller([], None, 4, settings=True))) == [none, list(closing(found))[-1]]
    people, programs = smaller_sheet(found, whole=False), smaller_sheet(found, whole=True)
    assert text_rows(people)[0] == {"change": "shorter", "saves, USD": "5.00", "drawback": "some"}
    assert value_rows(programs)[0] == {
        "change": "shorter", "usd": 5.0, "costs": "some", "share": 0.1, "low": None, "high": None, "kept": 0.9,
        "how": "set it",
    }  # fmt: skip


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
        ("change", "change", 0, True), ("usd", "saves, USD", 0, False), ("costs", "drawback", 1, True)
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


def test_where_days_are_forecast_it_is_told_for_how_many() -> None:
    found = Smaller([saving(ahead=(2.0, 3.0), kept=None)], saving(ahead=(2.0, 3.0)), 4)
    (people,) = text_rows(smaller_sheet(found, whole=False))
    assert people["saves, USD/30 days"] == "2.00 to 3.00"
    programs = smaller_sheet(found, whole=True)
    assert [(row["low"], row["high"]) for row in value_rows(programs)] == [(2.0, 3.0)]
    assert {one.name: one.about for one in programs.columns if one.about} == {
        "costs": "what is lost", "low": "in 30 days, 90 %", "high": "in 30 days, 90 %",
        "kept": "of the uses of older results", "how": "to do it",
    }  # fmt: skip
    assert list(closing(found)) == [
        "These changes overlap. The best of them together save 2.00 to 3.00 USD in 30 days:", "  shorter", "",
        "shorter: set it",
    ]  # fmt: skip


SINCE = datetime(2026, 3, 5, 12).timestamp()


@pytest.mark.parametrize(
    ("basis", "since", "amounts", "priced", "line"),
    [
        ("sessions", None, ("usd", "tokens"), 2_000, "1.00 to 1,500 USD (90 %)."),
        ("sessions", None, ("usd",), 1_990,
         "1.00 to 1,500 USD (90 %; 10 of 2,000 sessions without a known price count as 0)."),
        ("sessions", None, ("tokens",), 0, "1 to 2K tokens (90 %)."),
        ("far", None, ("usd",), 2_000, "1.00 to 1,500 USD (90 %, widened because 1,005 sessions are few for 7 days)."),
        ("far", SINCE, ("usd",), 1_999,
         "1.00 to 1,500 USD (90 %, widened because the 1,005 sessions since 5 March 2026 are few for 7 days; all "
         "sessions of Codex are older; 1 of 2,000 sessions without a known price count as 0)."),
        ("sessions", SINCE, ("usd",), 2_000,
         "1.00 to 1,500 USD (90 %; only the 1,005 sessions since 5 March 2026 count; all sessions "
         "of Codex are older)."),
        ("priors", None, ("usd",), 2_000,
         "1.00 to 1,500 USD (too few sessions to go by, 1,005 of 2,000: the range is that of other projects)."),
        ("priors", SINCE, ("usd",), 2_000,
         "1.00 to 1,500 USD (too few sessions to go by, 1,005 of 2,000: the range is that of other projects)."),
    ],
)  # fmt: skip
def test_what_comes_at_this_pace(basis: Any, since: Any, amounts: tuple[str, ...], priced: int, line: str) -> None:
    amount = Amount(9.0, {"50": (4.0, 5.0), "90": (1.0, 1_500.0)})
    found = Forecast("", Next(7, days=True), basis, 1_005, 2_000, priced, None, since, amount,
                     dict.fromkeys(amounts, amount), {})  # fmt: skip
    called = [
        ("codex-rollout", -1.0),
        ("claude-code", -9.0),
        ("pi", 0.0),
        ("claude-code", 9.0),
        ("codex-rollout", -7.0),
    ]
    lines: Any = [
        SimpleNamespace(session=SimpleNamespace(format=format), response=SimpleNamespace(time_s=SINCE + after_s))
        for format, after_s in called
    ]
    bill: Any = SimpleNamespace(earlier=lines[:2], lines=lines[2:])
    assert pace(found, bill) == f"At this pace the next 7 days: {line}"
    left_out = f"{line[:-2]}; 12 sessions without a start time left out)."
    assert pace(msgspec.structs.replace(found, untimed=12), bill) == f"At this pace the next 7 days: {left_out}"
