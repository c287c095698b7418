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
from ctxsim.answers.bill.sums import Misses, Sum
from ctxsim.report.bill import (
    _range,
    bill_sheet,
    closing,
    group,
    names_of,
    opening,
    part_sheet,
    pauses,
    smaller_sheet,
    tokens,
    usd,
)
from ctxsim.report.sheet import text_rows, value_rows


def test_amounts_for_people() -> None:
    assert [usd(one) for one in (0, 999.994, 999.999, 1_000, 1_234.5)] == [
        "0.00",
        "999.99",
        "1,000.00",
        "1,000",
        "1,234",
    ]
    assert [tokens(one) for one in (999, 1_000, 999_400, 1e6, 2_340_000)] == ["999", "1K", "999K", "1.0 M", "2.3 M"]


def test_parts_belong_to_columns() -> None:
    parts = [facts.SYSTEM, f"{facts.SERVER}x", f"{facts.RESULTS}Bash", facts.ASSISTANT, facts.THINKING, facts.ASKED,
             facts.OUTPUT, facts.USER]  # fmt: skip
    assert list(map(group, parts)) == ["head", "head", "results", *["assistant"] * 4, ""]


def first_lines(
    total: Sum, sessions: int = 2, span_s: Any = None, begun: tuple[int, float] = (0, 0.0),
    compactions: tuple[int, float] = (0, 0.0), unrecorded: int = 0,
) -> list[str]:  # fmt: skip
    """Each session has a sub-agent's beside it, which is no session of its own."""
    found = [SimpleNamespace(root=f"{n}", format="claude-code", responses=[1]) for n in range(sessions)] * 2
    bill: Any = SimpleNamespace(sessions=found, span_s=lambda: span_s, unrecorded=unrecorded)
    return list(opening(bill, total, begun, compactions))


def test_the_first_lines_say_what_it_cost_and_what_that_rests_on() -> None:
    listed, stated = Sum(usd_listed=3.0, responses=9), Sum(usd_recorded=2.0, responses=9)
    day = datetime(2026, 3, 5, 12).timestamp()
    assert first_lines(Sum(read=4_000, plain=1_000))[0].endswith(": 2 sessions, 5K tokens.")
    assert len(first_lines(Sum(read=4_000))) == 1
    found = first_lines(listed, span_s=(day, day), sessions=1)
    assert found[0].endswith(": 1 session, 5 March 2026, 3.00 USD.") and "list prices" in found[1] and len(found) == 2
    assert "logs state" in first_lines(stated)[1]
    both = first_lines(Sum(usd_listed=3.0, usd_recorded=2.0))
    assert both[0].endswith("5.00 USD.") and both[1].startswith("2.00 USD as logs state, 3.00 USD from")
    line = first_lines(Sum(usd_listed=1.0, responses=9, unpriced=2))[2]
    assert line.startswith("Dollars are missing for 2 of 9 responses:")
    silent = first_lines(Sum(usd_listed=1.0, sessions={"0"}), unrecorded=3)[2]
    assert silent == "Not included: 3 responses without recorded usage, among them all of 1 session."
    assert len(first_lines(listed, begun=(999, 1.0))) == 2
    assert "about 1.50 USD for 1K output tokens" in first_lines(listed, begun=(1_000, 1.5))[2]
    assert first_lines(listed, compactions=(1, 0.0))[2].startswith("Not included: the requests of 1 compaction,")
    assert "about 0.25 USD for the requests of 2 compactions," in first_lines(listed, compactions=(2, 0.25))[2]


@pytest.mark.parametrize(
    ("first", "last", "text"),
    [((2026, 3, 5), (2026, 3, 5), "5 March 2026"), ((2026, 3, 5), (2026, 4, 6), "5 March to 6 April 2026"),
     ((2025, 12, 31), (2026, 1, 1), "31 December 2025 to 1 January 2026")],
)  # fmt: skip
def test_a_span_names_a_year_once(first: tuple[int, ...], last: tuple[int, ...], text: str) -> None:
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


def test_a_path_is_named_by_the_end_that_tells_it_apart() -> None:
    assert names_of("project", ["/a/b/c", "/x/y/z"]) == {"/a/b/c": "b/c", "/x/y/z": "y/z"}
    assert names_of("project", ["/a/b/c", "/x/b/c"]) == {"/a/b/c": "a/b/c", "/x/b/c": "x/b/c"}
    assert names_of("session", ["one", "d\\e\\f"]) == {"one": "one", "d\\e\\f": "e/f"}
    assert names_of("model", ["a/b/c"]) == {"a/b/c": "a/b/c"}
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
     ("day", rows(12), "r02", "2 more", 11), ("week", rows(13), "r03", "3 more", 11),
     ("day", rows(12, "no date"), "r00", "2 more", 11)],
)  # fmt: skip
def test_people_see_ten_rows_and_the_rest_in_one(
    by: str, found: dict[str, Sum], first: str, last: str, many: int
) -> None:
    told = text_rows(bill_sheet(by, found, whole=False))
    assert (told[0][by], told[-1][by], len(told)) == (first, last, many)
    assert told[-1]["USD"] == ("1.00" if last == "r10" else f"{last[0]}.00")
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
    usual = {"name": "shorter", "usd": 5.0, "low": 4.004, "high": 6.0, "share": 0.1, "months": None, "loses": "some",
             "how": "set it", "kept": 0.9, "times": 1}  # fmt: skip
    return Saving(**{**usual, **given})


def test_what_it_saves_is_a_range() -> None:
    assert _range(saving()) == "4.00 to 6.00" and _range(saving(low=-0.001)) == "0.00 to 6.00"
    assert _range(saving(low=8.6, high=10.0)) == "9 to 10" and _range(saving(high=9.99)) == "4.00 to 9.99"


def test_changes_that_save_are_told_with_how_to_make_them() -> None:
    found = Smaller([saving(), saving(name="fewer", how="")], saving(name="both"), 4)
    assert list(closing(found)) == [
        "These changes overlap. The best of them together save 4.00 to 6.00 USD:", "  both", "", "shorter: set it",
        "For settings, ctxsim advise is more exact: it replays these sessions.",
    ]  # fmt: skip
    assert list(closing(Smaller([], None, 4))) == ["None of 4 changes tried would have made the bill 2 % smaller."]
    people, programs = smaller_sheet(found, whole=False), smaller_sheet(found, whole=True)
    assert text_rows(people)[0] == {"change": "shorter", "saves, USD": "4.00 to 6.00", "what it costs you": "some"}
    assert value_rows(programs)[0] == {
        "change": "shorter", "usd": 5.0, "costs": "some", "share": 0.1, "low": 4.004, "high": 6.0, "month_low": None,
        "month_high": None, "kept": 0.9, "how": "set it",
    }  # fmt: skip
