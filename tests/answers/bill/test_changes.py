"""What would have made a bill smaller, worked by hand on a session of three responses."""

from __future__ import annotations

from functools import partial
from math import inf
from typing import Any

import msgspec
import pytest
from billed import RATES, response, session

from ctxsim.answers.bill import changes
from ctxsim.answers.bill.changes import Effect, Request, Requests, as_recorded
from ctxsim.answers.bill.dollars import listed
from ctxsim.answers.bill.facts import Large

FIRST = response(0, 1_100, 1_000)


def cost(requests: Requests) -> float:
    return round(sum(listed(one, RATES["x-dear"]).usd for one in requests), 6)


def test_a_new_session_where_nothing_older_is_used_leaves_the_old_one_behind() -> None:
    one = session(FIRST, response(1_100, 50, 50, turn=True), response(1_150, 30, 30))
    # 1,100 x 10; 1,100 x 1 + 50 x 10; 1,150 x 1 + 30 x 10; three answers of 10 x 50.
    assert cost(as_recorded(one)) == 11_000 + 1_600 + 1_450 + 1_500
    effect = Effect()
    # The second request is the head and what is new, 150 tokens, all written; the third reads these and writes 30.
    assert cost(changes.new_session_per_task(one, as_recorded(one), effect)) == 11_000 + 1_500 + (150 + 300) + 1_500
    assert (effect.times, effect.chances) == (1, 1)
    used = session(FIRST, response(1_100, 50, 50, turn=True, crossing=1), response(1_150, 30, 30))
    assert cost(changes.new_session_per_task(used, as_recorded(used), Effect())) == cost(as_recorded(used))
    # Where less is left behind than has to be written again, nobody begins anew.
    small = session(response(0, 220, 120), response(220, 50, 50, turn=True))
    assert cost(changes.new_session_per_task(small, as_recorded(small), Effect())) == cost(as_recorded(small))


def test_a_compaction_reads_all_writes_a_summary_and_goes_on_from_it() -> None:
    one = session(FIRST, response(1_100, 800, 800, needs=3, crossing=3), response(1_900, 30, 30))
    effect = Effect()
    found = changes.compacted_at(1_500, 200, one, as_recorded(one), effect)
    # The second request is 1,900: its summary reads 1,100 and writes 800 of them and answers 200; then it is the head
    # and the summary, 300, all written; the third has 1,600 less, so it reads 300 and writes 30.
    summary = 1_100 + 8_000 + 200 * 50
    assert cost(found) == 11_000 + summary + 3_000 + (300 + 300) + 1_500
    assert effect.lost == 3
    # Before the days of a bill it loses what is used in them: once.
    one, effect = session(*one.responses[:2], response(1_900, 30, 30, needs=1)), Effect()
    changes.compacted_at(1_500, 200, one, as_recorded(one, (False, False, True)), effect)
    assert effect == Effect(0, 1, 1)
    assert cost(changes.compacted_at(5_000, 200, one, as_recorded(one), Effect())) == cost(as_recorded(one))


def test_a_servers_tools_go_where_none_was_called() -> None:
    parts = ("head, tools", "head, MCP server figma")
    held = response(0, 1_100, 1_000, parts=(0, 0, 60, 0, 1, 0, 40, 0))
    one = session(held, response(1_100, 50, 50, parts=(0, 60, 0, 0, 1, 40, 0, 0)), parts=parts)
    change = partial(changes.without_server, "figma")
    assert cost(as_recorded(one)) - cost(change(one, as_recorded(one), Effect())) == 40 * 10 + 40 * 1
    used = msgspec.structs.replace(one, uses={"mcp__figma__draw": 1})
    assert cost(change(used, as_recorded(used), Effect())) == cost(as_recorded(used))


def test_another_model_has_its_own_tokens() -> None:
    one = session(FIRST)
    (found,) = changes.other_model("x-dear", "n", 0.5, False, one, as_recorded(one), Effect())
    assert (found.model, found.write, found.output) == ("n", 550, 5)
    assert changes.other_model("x-dear", "n", 0.5, True, one, as_recorded(one), Effect())[0].model == "x-dear", (
        "no sub-agent"
    )
    child = msgspec.structs.replace(one, parent="s0")
    assert changes.other_model("x-dear", "n", 0.5, True, child, as_recorded(child), Effect())[0].model == "n"


@pytest.mark.parametrize(("start", "tokens", "left"), [
    (0, 30, (70, 50, 40, 60)), (0, 120, (0, 30, 40, 40)), (100, 20, (100, 30, 40, 40)), (90, 30, (90, 30, 40, 40)),
    (150, 500, (100, 50, 0, 50)), (500, 10, (100, 50, 40, 60)),
])  # fmt: skip
def test_tokens_leave_from_a_position_on(start: int, tokens: int, left: tuple[int, ...]) -> None:
    # Missed are those from 100 to 160.
    request = Request(100, 50, 50, 40, 0, "m", missed=60)
    request.leave_out(start, tokens)
    assert (request.read, request.write, request.plain, request.missed) == left and request.long == request.write


def classes(requests: list[Request]) -> list[tuple[int, int, int, int]]:
    return [(one.read, one.write, one.long, one.plain) for one in requests]


@pytest.mark.parametrize(("held", "cached", "then"), [
    ((100, 50, 25, 40), True, (0, 190, 95, 0)), ((100, 0, 7, 40), True, (0, 140, 0, 0)),
    ((100, 0, 0, 40), False, (0, 0, 0, 140)),
])  # fmt: skip
def test_nothing_of_a_new_request_is_read(held: tuple[int, ...], cached: bool, then: tuple[int, ...]) -> None:
    read, write, long, plain = held
    request = Request(read, write, long, plain, 10, "m")
    request.anew(cached)
    assert classes([request]) == [then] and request.output == 10


@pytest.mark.parametrize(("pause_s", "read"), [(None, 100), (300.0, 100), (300.5, 0), (3_600.0, 0), (3_600.5, 100)])
def test_five_minutes_forget_what_an_hour_holds(pause_s: float | None, read: int) -> None:
    one = session(response(0, 100, 0, long=100), response(100, 40, 40, long=40, pause_s=pause_s))
    effect = Effect()
    found = changes.five_minute_cache(one, as_recorded(one), effect)
    assert classes(found) == [(0, 100, 0, 0), (read, 140 - read, 0, 0)] and effect.times == (read == 0)
    assert changes.five_minute_cache(session(response(0, 100, 0)), [], effect) == []
    none = session(response(0, 100, 0, long=100, pause_s=400.0))
    assert classes(changes.five_minute_cache(none, as_recorded(none), effect)) == [(0, 100, 0, 0)]
    assert effect.times == (read == 0), "where nothing was read nothing is forgotten"


@pytest.mark.parametrize(("pause_s", "read"), [(3_600.0, 90), (3_600.5, 0), (None, 90)])
def test_an_hours_cache_reads_across_an_hour(pause_s: float | None, read: int) -> None:
    one = session(response(0, 100, 0), response(0, 140, 40, missed=90, cause=1, pause_s=pause_s))
    effect = Effect()
    found = changes.hour_long_cache(one, as_recorded(one), effect)
    assert classes(found) == [(0, 100, 100, 0), (read, 140 - read, 140 - read, 0)] and effect.times == (read > 0)
    plain = session(response(0, 0, 0, plain=100))
    assert classes(changes.hour_long_cache(plain, as_recorded(plain), effect)) == [(0, 0, 0, 100)]


@pytest.mark.parametrize(("more", "then", "times"), [
    ({"write": 1_050, "long": 525}, (1_100, 50, 25, 0), 1), ({"plain": 1_050}, (1_100, 0, 0, 50), 1),
    ({"write": 600}, (700, 0, 0, 0), 1), ({"write": 1_050, "cause": 2}, (100, 1_050, 0, 0), 0),
    ({"write": 1_050, "missed": 0}, (100, 1_050, 0, 0), 0),
])  # fmt: skip
def test_without_a_long_pause_what_it_cost_is_read(more: dict[str, int], then: tuple[int, ...], times: int) -> None:
    one = session(msgspec.structs.replace(response(100, 0, 0, missed=1_000, cause=1, pause_s=9_000.0), **more))
    effect = Effect()
    assert classes(changes.read_after(inf, one, as_recorded(one), effect)) == [then] and effect.times == times


@pytest.mark.parametrize(("more", "change", "then"), [
    # A new session's first request, and a compacted one, hold tokens that no cache ever had: all is written.
    ({"turn": True}, changes.new_session_per_task, [(0, 150, 0, 0)]),
    # What the summary is made of was sent before: 1,000 more of it are read.
    ({}, partial(changes.compacted_at, 1_100, 200), [(0, 300, 0, 0), (1_100, 50, 0, 0)]),
    # 300 of what was missed are cut away, and what one change lets be read the next one doesn't read again.
    ({}, partial(changes.results_cut, 400, ""), [(800, 50, 0, 0)]),
    ({}, partial(changes.read_after, inf), [(1_100, 50, 0, 0)]),
])  # fmt: skip
def test_after_a_pause_only_what_was_sent_before_is_read(more: Any, change: Any, then: list[tuple[int, ...]]) -> None:
    one = session(FIRST, response(100, 1_050, 50, missed=1_000, cause=1, pause_s=1_000.0, **more),
                  parts=("results of Read",), large=(Large(0, 2, 700, 0, 0),))  # fmt: skip
    requests = change(one, as_recorded(one), Effect())
    assert classes(changes.read_after(inf, one, requests, Effect()))[1:] == then


def test_what_a_change_did_is_counted() -> None:
    # Two turns begin; the second one uses what was there before. The last request has 2,050 tokens.
    responses = (FIRST, response(1_100, 800, 800, needs=2), response(1_900, 100, 100, needs=3, turn=True),
                 response(2_000, 50, 50, needs=5, turn=True, crossing=4, model="n"))  # fmt: skip

    def counts(change: Any, *given: Any, within: Any = (), **more: Any) -> tuple[int, int, int]:
        one, effect = session(*responses, **more), Effect()
        change(*given, one, as_recorded(one, within), effect)
        return effect.times, effect.chances, effect.lost

    parts, large = ("a", "results of Read", "results of Bash"), (Large(1, 3, 700, 1, 2), Large(2, 9, 100, 2, 1))
    assert counts(changes.new_session_per_task) == (1, 2, 0)
    assert counts(changes.results_cut, 100, "", parts=parts, large=large) == (0, 10, 2)
    assert counts(changes.results_cut, 99, "", parts=parts, large=large) == (0, 10, 3)
    assert counts(changes.results_cut, 99, "Bash", parts=parts, large=large) == (0, 10, 1)
    assert counts(changes.without_server, "figma") == (0, 1, 0)
    assert counts(changes.without_server, "figma", uses={"mcp__figma__draw": 1}) == (1, 1, 0)
    assert counts(changes.compacted_at, 2_000, 200) == (0, 10, 4)
    assert counts(changes.compacted_at, 2_050, 200) == (0, 10, 0)
    # What isn't billed counts for nothing.
    late, early = (False, False, False, True), (True, False, False, False)
    assert counts(changes.new_session_per_task, within=late) == (0, 1, 0)
    assert counts(changes.results_cut, 99, "", within=late, parts=parts, large=large) == (0, 5, 1)
    assert counts(changes.results_cut, 100, "", within=early, parts=parts, large=large) == (0, 0, 0)
    assert counts(changes.compacted_at, 2_000, 200, within=late) == (0, 5, 4)
    assert counts(changes.compacted_at, 2_000, 200, within=early) == (0, 0, 0)


def test_no_more_than_the_head_leaves_it_and_only_a_servers_own_part() -> None:
    parts = ("a", "head, MCP server figma", "c")
    one = session(response(0, 1_100, 1_000, parts=(1, 0, 40, 0, 2, 0, 60, 0)), parts=parts)
    assert classes(changes.head_shorter({"s": 500}, one, as_recorded(one), Effect())) == [(0, 1_000, 0, 0)]
    assert classes(changes.without_server("figma", one, as_recorded(one), Effect())) == [(0, 1_060, 0, 0)]


def test_what_follows_a_compaction_is_written_for_as_long_as_the_request_was() -> None:
    # Of 1,900 tokens 800 are written, all for an hour. Their place goes to the summary.
    one = session(FIRST, response(1_100, 800, 800, long=800))
    found = changes.compacted_at(1_500, 200, one, as_recorded(one), Effect())
    assert [(request.write, request.long) for request in found] == [(1_100, 0), (300, 300), (800, 800)]


@pytest.mark.parametrize(("tokens", "compacted"), [(500, False), (501, True)])
def test_a_summary_replaces_more_than_itself(tokens: int, compacted: bool) -> None:
    # Beside a head of 100 and a summary of 200 there are 200 more, or one token more than that.
    one = session(response(0, tokens, 10))
    found = changes.compacted_at(400, 200, one, as_recorded(one), Effect())
    assert [request.input for request in found] == ([300, 501] if compacted else [500])


def test_a_recorded_compaction_and_a_new_session_begin_anew() -> None:
    # The second turn leaves 1,000 behind; the recorded agent compacts before the third request, which is as it was.
    one = session(FIRST, response(1_100, 50, 50, turn=True), response(0, 400, 300, compacted=True),
                  response(400, 30, 30))  # fmt: skip
    found = changes.new_session_per_task(one, as_recorded(one), Effect())
    assert classes(found) == [(0, 1_100, 0, 0), (0, 150, 0, 0), (0, 400, 0, 0), (400, 30, 0, 0)]
    assert [request.gone for request in found] == [0, 1_000, 0, 0]
    # What was compacted before stays away up to there too: 1,900 of 300 and 1,930 of 330, then 400.
    one = session(FIRST, response(1_100, 800, 800), response(1_900, 30, 30), response(0, 400, 300, compacted=True))
    found = changes.compacted_at(1_500, 200, one, as_recorded(one), Effect())
    assert [request.input for request in found] == [1_100, 300, 330, 400, 1_900]
    # After a new session a compaction has nothing of the old one to take away again.
    one = session(FIRST, response(1_100, 800, 800), response(1_900, 50, 50, turn=True), response(1_950, 30, 30))
    begun = changes.new_session_per_task(one, as_recorded(one), Effect())
    assert [request.input for request in begun] == [1_100, 1_900, 150, 180]
    found = changes.compacted_at(1_500, 200, one, begun, Effect())
    assert [request.input for request in found] == [1_100, 300, 150, 180, 1_900]


@pytest.mark.parametrize(("head", "fresh", "begins"), [(100, 100, True), (100, 101, False)])
def test_a_session_begins_anew_where_more_is_left_behind_than_is_sent_again(
    head: int, fresh: int, begins: bool
) -> None:
    # Of 401 tokens 201 are behind 200 that are sent again; 200 are not more than 201.
    one = session(FIRST, response(0, 401, fresh, head=head, turn=True))
    found = changes.new_session_per_task(one, as_recorded(one), Effect())
    assert found[1].input == (200 if begins else 401)


def test_a_results_cut_leaves_where_it_stands() -> None:
    # 300 of 700 tokens stay. They join behind 1,100 tokens, and later stand right behind the head; of a request that
    # is smaller than what is cut nothing is left but its end.
    large = (Large(1, 3, 700, 0, 0), Large(1, 9, 300, 0, 0))
    one = session(FIRST, response(1_100, 800, 800), response(100, 1_830, 30), response(0, 150, 50),
                  parts=("results of Read",), large=large)  # fmt: skip
    effect = Effect()
    found = changes.results_cut(300, "", one, as_recorded(one), effect)
    assert classes(found) == [(0, 1_100, 0, 0), (1_100, 400, 0, 0), (100, 1_430, 0, 0), (0, 150, 0, 0)]
    assert effect.lost == 0, "what has exactly so many tokens isn't cut"
