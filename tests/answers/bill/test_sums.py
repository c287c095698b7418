"""The bill added up by hand: classes and parts, days, misses, unfinished answers; and whole sessions as cases."""

from __future__ import annotations

from itertools import permutations
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from ctxsim.answers.bill import unpaired
from ctxsim.answers.bill.dollars import Rates
from ctxsim.answers.bill.extract import _missed
from ctxsim.answers.bill.facts import CAUSES, OUTPUT, UNKNOWN, Response, Session
from ctxsim.answers.bill.sums import Misses, Sum, billed, key_of, misses, project_of, unfinished
from ctxsim.answers.bill.sums import sessions_of as sessions_of_bill
from ctxsim.answers.forecast.ranges import DAY

# Dollars of one token: read 1, written 10, for an hour 20, uncached 5, output 50.
RATES = {"m": Rates(1e6, 10e6, 20e6, 5e6, 50e6), "n": Rates(1e6, 10e6, 20e6, 5e6, 50e6)}
PRICES: Any = SimpleNamespace(of=lambda model, time_s, served="": RATES.get(model))


def response(read: int, write: int, plain: int, output: int = 10, model: str = "m", **more: Any) -> Response:
    return msgspec.structs.replace(Response(None, model, read, write, 0, plain, output, False, None), **more)


def session(*responses: Response, **more: Any) -> Session:
    made = Session("folder/s", "", "claude-code", "", "1", responses, (), ("a", "b"))
    return msgspec.structs.replace(made, **more)


def test_every_token_and_dollar_is_added_once() -> None:
    one = session(
        response(100, 20, 4, parts=(0, 70, 20, 0, 1, 30, 0, 4)), response(10, 0, 0, 3, usd=160.0),
        response(1, 1, 1, 1, "nobodys"),
    )  # fmt: skip
    total = billed([one], PRICES, None).total()
    # Listed: 100 x 1, 20 x 10, 4 x 5, 10 x 50. Stated: 160, as 10 x 1 and 3 x 50 are. Of the third nothing is known.
    assert (total.read, total.write, total.plain, total.output, total.input) == (111, 21, 5, 14, 137)
    assert (total.usd_listed, total.usd_recorded, total.usd, total.unpriced) == (820, 160, 980, 1)
    assert (total.usd_read, total.usd_new) == (110, 220) and (total.responses, total.sessions) == (3, {"folder/s"})
    assert total.parts == {
        "a": [70, 20, 0, 70 + 200], "b": [30, 0, 4, 30 + 20], OUTPUT: [0, 0, 14, 500 + 150],
    }  # fmt: skip
    assert billed([], PRICES, None).total() == Sum()


def test_the_dollars_that_a_session_states_are_those_of_its_sub_agents_too() -> None:
    # Listed: 100 x 1 + 500, 60 x 10 + 30 x 50, beside them 7 x 5 + 500; of the sub-agent 65 x 1 + 500. Twice their sum.
    one = session(response(100, 0, 0), response(0, 60, 0, 30), usd=7_600.0, beside=(response(0, 0, 7),))
    of_one = {"parent": "folder/s"}
    agent = session(response(65, 0, 0), response(1, 0, 0, usd=9.0), name="agent", **of_one)
    # One states its own: 110 and 90 tokens without a price, of 200.
    unlisted = [response(100, 0, 0, model="nobodys"), response(0, 60, 0, 30, "nobodys")]
    other = session(*unlisted, usd=400.0, name="other", **of_one)
    # The log of the last states nothing: 60 are written at 10, 40 for an hour at 20.
    last = session(response(0, 100, 0, 0, long=40), name="last")
    lines = billed([agent, one, other, last], PRICES, None).lines
    assert [(line.session.name, line.paid.usd) for line in lines] == [
        ("agent", pytest.approx(1_130)), ("agent", 9), ("folder/s", pytest.approx(1_200)),
        ("folder/s", pytest.approx(4_200)), ("folder/s", pytest.approx(1_070)), ("other", pytest.approx(220)),
        ("other", pytest.approx(180)), ("last", 60 * 10 + 40 * 20),
    ]  # fmt: skip
    assert [line.paid.how for line in lines] == ["recorded"] * 7 + ["listed"]


def test_dollars_without_tokens_are_added_and_no_token_is_made_up() -> None:
    whole = response(0, 0, 0, 0, usd=4.5)
    one, two = session(whole), session(response(0, 60, 0, unsaid=True), name="folder/t")
    total = billed([one], PRICES, None).total()
    assert (total.usd_recorded, total.responses, total.alone, total.parts) == (4.5, 0, 1, {UNKNOWN: [0, 0, 0, 4.5]})
    assert [total.told(kind) for kind in ("read", "write", "plain", "output")] == [None] * 4
    both = billed([one, two], PRICES, None)
    # 60 written at 10, 10 answered at 50. Whether some were read the log doesn't say.
    assert (both.total().usd, both.total().unsaid, both.total().responses) == (1_104.5, 1, 1)
    assert [both.total().told(kind) for kind in ("read", "write", "plain", "output")] == [None, None, 0, 10]
    assert sessions_of_bill(both).names == ("folder/t",) and len(unpaired.cases(both)) == 1


def test_days_are_counted_back_from_the_last_response() -> None:
    def at(day: float, name: str) -> Session:
        return session(response(1, 0, 0, time_s=day * DAY), name=name)

    old, edge, new = at(7, "old"), at(8, "edge"), at(10, "new")
    undated = session(response(2, 0, 0), name="undated", unrecorded=(None, None, None))
    found = billed([old, edge, new, undated, msgspec.structs.replace(new, name="copy")], PRICES, 2)
    assert [one.name for one in found.sessions] == ["edge", "new", "undated"] and found.older == [old]
    assert [line.session.name for line in found.earlier] == ["old"] and (found.repeated, found.unrecorded) == (1, 3)
    assert found.span_s() == (8 * DAY, 10 * DAY) and billed([undated], PRICES, None).span_s() is None
    # What is repeated among the older ones isn't told, and what has no time is never taken for the same.
    assert billed([old, msgspec.structs.replace(old, name="copy"), new], PRICES, 2).repeated == 0
    assert len(billed([undated, undated], PRICES, None).lines) == 2


@pytest.mark.parametrize("order", list(permutations("abc")))
def test_a_sub_agents_sub_agent_is_of_the_first_session_in_any_order(order: tuple[str, ...]) -> None:
    def roots(parents: dict[str, str]) -> list[str]:
        found = [session(response(1, 0, 0), name=one, parent=parents[one]) for one in order]
        return [one.root for one in billed(found, PRICES, None).sessions]

    assert roots({"a": "", "b": "a", "c": "b"}) == ["a"] * 3
    # Of sessions that name each other each is its own.
    assert roots({"a": "b", "b": "c", "c": "a"}) == list(order) == roots({"a": "a", "b": "", "c": ""})


def test_a_parent_is_known_by_its_id_wherever_its_file_lies() -> None:
    first = "019ed50c-0000-7000-8000-000000000001"
    parent = session(response(1, 0, 0), name=f"old/rollout-{first}.jsonl.zst")
    agents = [
        session(response(1, 0, 0), name=f"new/{number}.jsonl", parent=named)
        for number, named in enumerate((first, f"new/rollout-{first}.jsonl", parent.name, "nowhere"))
    ]
    roots = [one.root for one in billed([*agents, parent], PRICES, None).sessions]
    assert roots == [*[parent.name] * 3, "nowhere", parent.name]


def test_lines_are_counted_under_day_week_folder_and_names() -> None:
    # 2026-01-07 was a Wednesday; noon, UTC.
    one = session(response(1, 0, 0, time_s=1_767_787_200.0), response(1, 0, 0, model=""))
    first, second = billed([one], PRICES, None).lines
    assert [key_of(by)(first) for by in ("day", "week", "session", "model", "agent", "project")] == [
        "2026-01-07", "2026-01-05", "folder/s", "m", "claude-code", "folder",
    ]  # fmt: skip
    assert [key_of(by)(second) for by in ("day", "week", "model")] == ["no date", "no date", "unknown"]
    assert project_of(msgspec.structs.replace(first, session=session(project="p"))) == "p"


def test_a_miss_costs_what_writing_costs_more_than_reading() -> None:
    # 30 tokens each: written for an hour 20, written 10, plain 5, less 1; without prices no dollars.
    lines = (response(0, 50, 0, missed=30, cause=1, long=50), response(0, 50, 0, missed=30, cause=2),
             response(0, 0, 50, missed=30, cause=2), response(0, 50, 0, missed=30, cause=3, model="x"),
             response(0, 50, 0))  # fmt: skip
    assert misses(billed([session(*lines)], PRICES, None)) == {
        CAUSES[1]: Misses(1, 30, 30 * 19), CAUSES[2]: Misses(2, 60, 30 * 9 + 30 * 4), CAUSES[3]: Misses(1, 30, 0.0),
    }  # fmt: skip


def test_of_an_unfinished_answer_counts_what_isnt_stated() -> None:
    # Of 50 tokens 10 are stated; 10 are no more than these.
    lines = (response(0, 0, 9, begun=True, written=50), response(0, 0, 9, begun=True, written=10),
             response(0, 0, 9, written=50))  # fmt: skip
    assert unfinished(billed([session(*lines)], PRICES, None)) == (40, 40 * 50)
    unpriced = response(0, 0, 9, begun=True, written=20, model="x")
    assert unfinished(billed([session(*lines, unpriced)], PRICES, None)) == (40 + 10, None)
    assert unfinished(billed([], PRICES, None)) == (0, 0.0)
    # Dollars that are stated include it.
    assert unfinished(billed([session(*lines, unpriced, usd=9.0)], PRICES, None)) == (50, 0.0)


LAST = response(0, 10_000, 0, time_s=1_000.0)


@pytest.mark.parametrize(("this", "found"), [
    # Of the smaller request what wasn't read. How long nobody's model is cached nobody says.
    (response(0, 10_500, 0, time_s=1_400.0), (10_000, 3, 400.0)),
    (response(4_000, 6_500, 0, time_s=1_100.0), (6_000, 3, 100.0)),
    (response(2_000, 7_900, 0, time_s=1_100.0), (7_900, 3, 100.0)),
    (response(0, 10_500, 0, time_s=1_400.0, model="n"), (10_000, 2, 400.0)),
    (response(10_000, 500, 0, time_s=1_400.0), (0, 0, 400.0)),
    # Nothing says that there is a cache; a history was cut; the clock went back; no clock.
    (response(0, 0, 10_500, time_s=1_400.0), (0, 0, 400.0)),
    (response(0, 1_000, 0, time_s=1_400.0), (0, 0, 400.0)),
    (response(0, 10_500, 0, time_s=900.0), (10_000, 3, 0.0)),
    (response(0, 10_500, 0), (10_000, 3, None)),
])  # fmt: skip
def test_what_could_have_been_read_is_missed_for_a_cause(this: Response, found: tuple[int, int, float | None]) -> None:
    assert _missed(this, LAST, 10_500) == found and _missed(this, None, 0) == (0, 0, None)
    assert _missed(this, LAST, 0) == (0, 0, found[2])
    # Where the request before was read from a cache, there is one: that nothing is read is a miss like any other.
    assert _missed(response(0, 0, 10_500), response(6_000, 0, 4_000), 9_000)[:2] == (9_000, 3)
    assert _missed(this, msgspec.structs.replace(LAST, time_s=None), 0)[2] is None


def test_a_session_is_a_case_with_its_sub_agents() -> None:
    own = session(response(100, 0, 0, head=40), response(200, 0, 0, head=60, compacted=True), response(0, 0, 0, 0))
    sub = session(response(300, 0, 0, head=9), name="folder/sub")
    case = unpaired._case(billed([own, sub], PRICES, None).lines)
    # 600 tokens at 1 and three answers of 500 in four calls; the heads of its own two requests that have one.
    assert case.stratum == " m" and case.figures == {
        "cost": 2_100, "cost_per_call": 525, "tokens": 600, "tokens_per_call": 150, "head": 50, "calls": 4,
        "compactions": 1,
    }  # fmt: skip
    nothing = unpaired._case(billed([session(response(0, 0, 0, 0))], PRICES, None).lines)
    assert nothing.figures == {"calls": 1, "compactions": 0}
    # Where one response has no price the session has none.
    partly = unpaired._case(billed([own, session(response(1, 0, 0, model="x"), name="y")], PRICES, None).lines)
    assert not {"cost", "cost_per_call"} & set(partly.figures) and partly.figures["tokens"] == 301


def test_ranks_are_within_a_project_by_its_size() -> None:
    # 10, 20, 20, 30 rank 1, 2.5, 2.5, 4 about 2.5, by 5; 7 and 5 rank 2 and 1 about 1.5, by 3.
    found = unpaired._ranks(np.array([10, 7, 20, 20, 5, 30.0]), np.array([1, 2, 1, 1, 2, 1]))
    assert found == pytest.approx([-1.5 / 5, 0.5 / 3, 0, 0, -0.5 / 3, 1.5 / 5])


def test_a_bills_sessions_are_roots_the_oldest_first() -> None:
    def at(day: float | None, name: str, *responses: Response, **more: Any) -> Session:
        timed = tuple(
            msgspec.structs.replace(one, time_s=None if day is None else day * DAY + n)
            for n, one in enumerate(responses)
        )
        return session(*timed, name=name, **more)

    late = at(9, "late", response(100, 0, 0), response(0, 10, 3), project="p", version="2")
    sub = at(8, "sub", response(1, 0, 0, 0, "n"), parent="late", project="x")
    old = at(1, "old", response(7, 0, 0, 1, usd=2.0), project="q", version="1")
    found = sessions_of_bill(billed([late, sub, old], PRICES, 5))
    # 100 + 500, 100 + 15 + 500 and the sub-agent's 1; what was before the bill's days counts too.
    assert {name: values.tolist() for name, values in found.amounts.items()} == {
        "usd": [2.0, 1_216.0], "tokens": [7.0, 114.0], "calls": [1.0, 3.0],
    }  # fmt: skip
    assert (found.names, found.started, found.priced) == (("old", "late"), (DAY, 8 * DAY), 2)
    assert (found.projects, found.models) == (("q", "p"), ("m", "m"))
    # What has no time is left out, and comes first where most have none. Of three sessions one has prices: no dollars.
    more = sessions_of_bill(billed([late, sub, old, at(None, "w", response(1, 0, 0))], PRICES, 5))
    assert (more.names, more.untimed, found.untimed) == (found.names, 1, 0)
    bare = [at(None, name, response(1, 0, 0, model="x")) for name in ("u", "v")]
    found = sessions_of_bill(billed([old, *bare], PRICES, None))
    assert (found.names, found.started, found.untimed) == (("u", "v", "old"), (None, None, DAY), 0)
    assert "usd" not in found.amounts and found.priced == 1


def test_the_pace_counts_sessions_without_usage_where_their_time_is_known() -> None:
    one = session(response(7, 0, 0, 1, usd=2.0, time_s=3 * DAY), unrecorded=(DAY,))
    silent = [session(name=name, project=name, unrecorded=(day and day * DAY, day and (day - 1) * DAY))
              for name, day in (("new", 4.0), ("old", 2.0), ("undated", None))]  # fmt: skip
    found = sessions_of_bill(billed([one, *silent], PRICES, 1))
    assert (found.names, found.started, found.priced) == (("old", "folder/s", "new"), (DAY, 3 * DAY, 3 * DAY), 1)
    assert {name: values.tolist() for name, values in found.amounts.items()} == {
        "usd": [0.0, 2.0, 0.0], "tokens": [0.0, 7.0, 0.0], "calls": [2.0, 1.0, 2.0],
    }  # fmt: skip
    assert (found.projects, found.models) == (("old", "folder", "new"), ("", "m", ""))
