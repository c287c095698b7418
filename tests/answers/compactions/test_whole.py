"""Whole rows of recorded compactions, and at which limits calls, controls and policies count."""

from __future__ import annotations

import re

import msgspec
import pytest
from compacted import MODEL, SUMMARY, long_session, look, session
from samples import ASK, chat, conversation

from ctxsim.answers.compactions.cuts import CONTROLS, controls, cost, session_of
from ctxsim.answers.compactions.later import Later, held_by, identifiers, kind_of_atom, later
from ctxsim.answers.compactions.policies_beside import FITTED, fitted, left_by, tokens_of
from ctxsim.answers.compactions.repeated_calls import Asked, asked_again, asked_again_usd, looked_at
from ctxsim.answers.compactions.study import Compactions, SummaryScore, score, score_summary
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.results.compactions import BesideRow, CompactionKindRow, CompactionNeedRow, CompactionRow
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import Prices
from ctxsim.simulator.references.finding import prepare
from ctxsim.transcript import Head, Item, Transcript


def of_model(made: Transcript) -> Transcript:
    calls = tuple(msgspec.structs.replace(call, model=MODEL) for call in made.calls)
    return msgspec.structs.replace(made, calls=calls, format="claude-code")


def test_a_row_says_all_of_a_compaction() -> None:
    scored = score(of_model(session()))
    # 9,500 tokens at 3 USD a million are read once more, and 13 are written at 15; each later call reads 5,500 less.
    # Nothing says that there was a cache, so nothing of the next request was in one.
    assert scored.compactions == [CompactionRow(
        transcript="hand", root="hand", compaction=1, agent="claude-code", model=MODEL, started_by="auto", call=4,
        calls_after=3, window=200_000, share=0.0475, tokens_before=9_500, tokens_after=4_000, tokens_left=13,
        tokens_summary=13, tokens_unlogged=2_686, items_kept=0, seconds=None, needed_strict_soon=2, kept_strict_soon=1,
        needed_strict=2, kept_strict=1, needed_loose_soon=0, kept_loose_soon=0, needed_loose=0, kept_loose=0,
        needed_carried=3, kept_carried=1, used_again=1, used_again_kept=0, identifiers_before=6, identifiers_kept=1,
        reread_calls=2, reread_exact=1, reread_tokens=46, reread_usd=0.000522, controls=0, control_reread_calls=None,
        control_needed_strict=None, control_needed_carried=None, tokens_rewritten=4_000, cost_summary_usd=0.028695,
        cost_cache_usd=0.0, payback_calls=1.74, lost_used=3, lost_fetched=1, lost_shown=1, kept_used=1, kept_fetched=0,
        kept_shown=0,
    )]  # fmt: skip
    assert scored.needs == [
        CompactionNeedRow("hand", 1, call, found, "strict", "id", atom, kept)
        for call, found, atom, kept in (
            (4, "needed", "ord-77881", True), (4, "needed", "zz99887", False), (4, "carried", "abc12345", False),
            (4, "carried", "ord-77881", True), (4, "carried", "zz99887", False), (6, "again", "kk55443", False),
        )
    ]  # fmt: skip
    assert scored.kinds == [
        CompactionKindRow("hand", 1, kind, before, kept)
        for kind, before, kept in (("path", 2, 0), ("address", 0, 0), ("number", 0, 0), ("id", 4, 1), ("name", 0, 0))
    ]


def test_beside_it_stands_what_each_policy_leaves() -> None:
    # Tokens left; of two strict needs, of three that the agent may have repeated and of six identifiers those kept.
    # What joined unlogged can't be cut without the call that it stands beside.
    rows = [
        ("recorded", "recorded", 13, 1, 1, 1), ("fifo", "fifo:budget=7488", 9, 0, 0, 0),
        ("max-messages", "max-messages:n=2", 10, 0, 0, 1),
        ("token-budget", "token-budget:budget=1,retain=0", 7_582, 0, 1, 4),
        ("mask", "mask:keep=0,batch=1", 7_592, 0, 1, 3),
        ("clear-tool-uses", "clear-tool-uses:trigger=0,keep=0,clear_at_least=0,sticky=True", 7_591, 2, 3, 6),
        ("summary", "summary:at=1e-06,keep_last=1,max_tokens=1", 15, 0, 0, 0),
        ("summary, default", "summary:at=1e-06,keep_last=1,max_tokens=500", 58, 2, 3, 6),
        ("clairvoyant", "clairvoyant", 9, 2, 2, 2),
    ]  # fmt: skip
    assert score(of_model(session())).beside == [
        BesideRow(
            transcript="hand", root="hand", compaction=1, at="compaction", call=4, name=name, policy=policy,
            tokens_allowed=13, tokens_left=left, needed_strict=2, kept_strict=strict, needed_loose=0, kept_loose=0,
            needed_carried=3, kept_carried=carried, identifiers_before=6, identifiers_kept=kept,
        )
        for name, policy, left, strict, carried, kept in rows
    ]  # fmt: skip
    assert not score(session(summary="")).beside and not score(session(), beside=False).beside


def test_of_ten_controls_every_other_is_asked() -> None:
    scored = score(long_session())
    assert sorted({(one.at, one.call) for one in scored.beside}) == [
        ("compaction", 30), *(("control", call) for call in (40, 42, 45, 47, 50)),
    ]  # fmt: skip
    (row,) = scored.compactions
    assert (row.controls, row.control_reread_calls, row.control_needed_strict, row.control_needed_carried) == (
        10, 0.0, 4.0, 4.0,
    )  # fmt: skip
    assert (row.calls_after, row.share, row.tokens_before, row.tokens_after, row.reread_usd) == (31, *[None] * 4)
    assert {one.identifiers_before for one in scored.beside if one.call == 40} == {205}


def test_controls_look_at_ten_calls_too() -> None:
    # Each call uses what the twelfth before it listed, and asks the same as that one.
    (row,) = score(long_session(60, 30, 12, 12), beside=False).compactions
    assert (row.needed_strict_soon, row.needed_strict, row.reread_calls) == (10, 12, 10)
    # Of ten controls 40 and 41 use two things and one that the compaction took: 97 of 100 were held.
    assert (row.control_needed_strict, row.control_needed_carried, row.control_reread_calls) == (9.7, 9.7, 10)


def test_ten_calls_after_it_are_soon() -> None:
    made = Assembly("soon")
    made.user("Do the task.")
    look(made, 1, {"file_path": "src/alpha.py"}, "key abc12345 and key zz99887")
    look(made, 2, {"n": 2}, "nothing")
    made.compacted("auto", [SUMMARY])
    for number in range(3, 12):
        look(made, number, {"n": number}, "nothing")
    look(made, 12, {"file_path": "src/alpha.py"}, "x", "So abc12345.")
    look(made, 13, {"file_path": "src/alpha.py", "offset": 3}, "x", "So zz99887.")
    (row,) = score(made.transcript(), beside=False).compactions
    assert (row.call, row.calls_after, row.needed_strict_soon, row.needed_strict) == (3, 11, 1, 2)
    assert (row.reread_calls, row.reread_exact) == (1, 1)
    found = Later({("strict", "a"): 4}, {("strict", "b"): 5}, {("loose", "c"): 4})
    assert found.until(4) == Later({("strict", "a"): 4}, {}, {("loose", "c"): 4}) and found.until(5) == found
    assert found.of("strict") == [("strict", "a")] and found.of("loose") == []


def test_a_saved_summary_has_its_score() -> None:
    needed = {"identifiers": 2, "quotations": 0, "identifiers, own repeats too": 3}
    kept = {"identifiers": 1, "quotations": 0, "identifiers, own repeats too": 2}
    whole = SummaryScore("hand", 4, 10, 55, 6, 2, needed, kept, (("id", "ord-77881"),))
    text = "All about zz99887 and ABC12345."
    assert score_summary(text, session()) == whole == score_summary(text, session(), 4)
    # Before call 3 the agent hadn't said yet that it goes well.
    assert score_summary(text, session(), 3) == msgspec.structs.replace(whole, call=3, tokens_history=50)
    # Without a compaction it is of the whole history, and no call is left to need any of it.
    plain = conversation("key abc12345")
    found = score_summary("abc12345", plain)
    assert (found.call, found.identifiers, found.identifiers_kept, found.lost) == (3, 1, 1, ())
    before = score_summary("x", plain, 2)
    assert (before.call, before.identifiers) == (2, 1) and before.tokens_history < found.tokens_history
    assert before.tokens_history == tokens_of(plain.items[: plain.calls[1].start], Provider().counter())
    for call in (1, 4):
        with pytest.raises(ValueError, match=f"no history before call {call}; the transcript has 2 calls"):
            score_summary("x", plain, call)


def test_rows_are_put_together() -> None:
    assert score(conversation("result")) == Compactions()
    one, other = score(session(), beside=False), score(long_session(), beside=False)
    both = Compactions()
    both.add(one)
    both.add(other)
    assert both.compactions == [*one.compactions, *other.compactions] and both.kinds == [*one.kinds, *other.kinds]
    frame = both.frame()
    assert list(frame.columns) == list(CompactionRow.__struct_fields__) and list(frame.transcript) == ["hand", "long"]


def test_controls_are_ten_of_those_with_ten_calls_around_and_twenty_behind() -> None:
    found = session_of(long_session(60, 40))
    (cut,) = found.cuts()
    drawn = [controls(found, msgspec.structs.replace(cut, number=number)) for number in range(30)]
    # The first segment has calls 1 to 39, of which ten follow 21 to 30; the second 40 to 60.
    assert {one.call for some in drawn for one in some} == {*range(21, 31), 50, 51}
    assert {len(some) for some in drawn} == {CONTROLS} == {10}
    assert all([one.call for one in some] == sorted(one.call for one in some) for some in drawn)
    few = session_of(long_session(31, 31))
    assert len(controls(few, few.cuts()[0])) == 1
    (one,) = controls(few, few.cuts()[0])
    assert (one.call, one.at) == (21, few.transcript.calls[20].start) and one.items == few.transcript.items[: one.at]


def test_a_cut_is_what_stood_before_and_after() -> None:
    made = of_model(session(kept=(1, 2)))
    (cut,) = session_of(made).cuts()
    assert (cut.number, cut.first, cut.last, cut.readable, cut.summary) == (1, 4, 6, True, SUMMARY)
    assert [item.kind for item in cut.before] == [
        "user", "tool_call", "tool_result", "assistant", "tool_call", "tool_result", "assistant",
    ]  # fmt: skip
    assert [item.text for item in cut.after[:1]] == [SUMMARY] and [item.kind for item in cut.after[1:]] == [
        "tool_call", "tool_result",
    ]  # fmt: skip
    # A head that is smaller behind it is no file that was attached.
    less = tuple(
        msgspec.structs.replace(call, usage=call.usage and msgspec.structs.replace(call.usage, input_tokens=90 * n))
        for n, call in zip((100, 100, 100, 1, 1, 1), made.calls, strict=True)
    )
    (cut,) = session_of(msgspec.structs.replace(made, calls=less)).cuts()
    assert cut.unlogged_tokens == 0
    unread = session(summary="")
    assert not session_of(unread).cuts()[0].readable


def test_repeated_calls_have_their_places_and_sizes() -> None:
    # The task, then call and result by turns, with a text before the calls 2, 4 and 6.
    assert asked_again(session(), Provider().counter()) == [
        Asked(8, 4, 1, True, 11, 4), Asked(10, 5, 4, False, 17, 8), Asked(13, 6, 10, True, 17, 2),
    ]  # fmt: skip
    # Two looks of one response into a file are no repeats of one another; of two the newer is repeated.
    made = Assembly("two")
    made.user("go")
    arguments = '{"path": "a/b"}'
    made.response(
        [Part("tool_call", arguments, "read", "c0"), Part("tool_call", '{"path": "a/b", "n": 1}', "read", "c1")]
    )
    made.result("x", "c0")
    made.result("y", "c1")
    made.response([Part("tool_call", '{"path": "a/b", "n": 2}', "read", "c2")])
    made.response([Part("tool_call", arguments, "look", "c3")])
    (one,) = asked_again(made.transcript(), Provider().counter())
    assert (one.place, one.call, one.of, one.exact) == (5, 2, 2, False)
    # What is asked before anybody has said anything can be repeated as well.
    (one,) = asked_again(chat(ASK, ("tool_result", "x"), ASK, ("tool_result", "y")), Provider().counter())
    assert (one.place, one.call, one.of, one.exact) == (2, 2, 0, True)


@pytest.mark.parametrize(("arguments", "path"), [
    ('{"a": "x/y"}', "x/y"), ('{"a": "x\\\\y"}', "x\\y"), ('{"a": "x y/z"}', None), ('{"a": "xy"}', None),
    ('{"a": "x/y", "b": 1, "c": null, "d": [2]}', "x/y"), ('{"a": "x/y", "b": {}}', None), ('{"a": {}}', None),
    ("{}", None), ('{"a": 1}', None), ('["x/y"]', None), ("no json", None), ('{"a": "x/y", "b": "z"}', None),
])  # fmt: skip
def test_a_path_is_the_only_text(arguments: str, path: str | None) -> None:
    assert looked_at(arguments) == path


def test_what_is_thought_is_held_by_nobody() -> None:
    made = long_session(12, 6)
    thought = Item("reasoning", 0, 0, "id-20011")
    said = Item("assistant", 0, 0, "id-20011")
    references = prepare(made)
    assert held_by(references, [thought]) == set() == identifiers([thought])
    assert held_by(references, [said]) == {("strict", "id-20011")} and identifiers([said]) == {"id-20011"}
    counter = Provider().counter()
    assert tokens_of((thought, said), counter) == counter.item(said) == tokens_of((said,), counter)
    assert kind_of_atom("loose", "id-20011") == "quotation"
    assert held_by(references, []) == set() == identifiers([])


def test_what_first_stands_at_the_point_is_neither_lost_nor_kept() -> None:
    references = prepare(session())
    last = len(session().calls)
    once = {
        need.key: need.sources[0] for n in range(1, last + 1) for need in references.needs(n) if len(need.sources) == 1
    }
    assert once
    for key, place in once.items():
        before, behind = (later(references, at, 1, last) for at in (place, place + 1))
        assert key not in before.needed and key not in before.again and key in behind.needed


def test_what_stands_before_the_point_and_at_it_again_comes_again() -> None:
    references = prepare(session())
    last = len(session().calls)
    twice = {
        need.key: need.sources for n in range(1, last + 1) for need in references.needs(n) if len(need.sources) > 1
    }
    assert twice
    for key, places in twice.items():
        at, behind = (later(references, at, 1, last) for at in (places[-1], places[-1] + 1))
        assert key in at.again and key not in at.needed and key in behind.needed


@pytest.mark.parametrize("name", FITTED)
def test_a_policy_is_fitted_to_what_is_allowed(name: str) -> None:
    (cut,) = session_of(long_session()).cuts()
    counter = cut.provider.counter()
    whole = tokens_of(cut.before, counter)
    key = FITTED[name].removesuffix("={}").replace(":", ",").rpartition(",")[2]

    def left(tokens: int) -> tuple[int, int]:
        """The number that is taken, and the tokens it leaves."""
        found = fitted(FITTED[name], cut.before, tokens, Head(), cut.provider, counter)
        told = re.search(rf"\b{key}=(\d+)", found.policy)
        assert told is not None
        return int(told[1]), found.tokens

    number, tokens = left(whole // 4)
    assert tokens <= whole // 4
    # With a number larger by a 64th, at least by one, more is left than is allowed.
    more = left_by(FITTED[name].format(number + max(1, number // 64) + 1), cut.before, Head(), cut.provider, counter)
    assert more.tokens > whole // 4
    # Where all may stay all does, by the first number that leaves it.
    assert left(whole)[1] == whole and (left(whole)[0] == whole or name == "summary")
    # Where nothing may, the least number is taken.
    assert left(0)[0] == (1 if name in ("max-messages", "summary") else 0)


@pytest.mark.parametrize(
    ("last_s", "asked_s", "cache", "cold"),
    [
        (0, 300, "anthropic", False), (0, 301, "anthropic", True),
        (0, 301, "none", False), (None, 301, "anthropic", False),
    ],
)  # fmt: skip
def test_a_cache_is_cold_after_its_five_minutes(last_s: int | None, asked_s: int, cache: str, cold: bool) -> None:
    (cut,) = session_of(session()).cuts()
    calls = [msgspec.structs.replace(call, time_s=last_s) for call in cut.transcript.calls]
    asked = msgspec.structs.replace(cut.compaction, time_s=asked_s)
    of = msgspec.structs.replace(cut.transcript, calls=tuple(calls))
    timed = msgspec.structs.replace(cut, transcript=of, compaction=asked, provider=Provider(cache=cache))
    assert timed.cold is cold


def test_what_it_pays_at_its_limits() -> None:
    prices = Prices(input=2.0, output=8.0, cache_write=2.5, cache_read=0.2)
    provider = Provider(cache="anthropic", prices=prices)
    # 1,000 read at 0.2 and 100 written at 8; 500 written at 2.5 and not read at 0.2; each call reads 400 less.
    assert [*cost(provider, 1_000, 600, 100, 500, "claude-code").values()] == [0.001, 0.00115, round(0.00215 / 8e-5, 2)]
    assert [*cost(provider, 1_000, 1_000, 100, None, "claude-code").values()] == [0.001, 0.0, None]
    # 1,000 sent at 2, where the request has another head, or nobody knows.
    for agent in ("pi", "codex", ""):
        assert cost(provider, 1_000, 600, 100, 500, agent)["cost_summary_usd"] == 0.0028
    # And after the cache's life, where the next request would have read nothing without it too.
    cold = cost(provider, 1_000, 600, 100, 500, "claude-code", cold=True)
    assert [*cold.values()] == [0.0028, 0.0, round(0.0028 / 8e-5, 2)]
    for sizes in ((None, 600, 100), (1_000, None, 100), (1_000, 600, None)):
        assert set(cost(provider, *sizes, 0, "claude-code").values()) == {None}
    # Two calls of 10 and 20 tokens as output, their results of 100 and 200 as written.
    again = [Asked(1, 2, 0, True, 10, 100), Asked(3, 4, 0, False, 20, 200)]
    assert asked_again_usd(provider, 1_000, again) == round((30 * 8 + 300 * 2.5) / 1e6, 6) == 0.00099
    # At 8.04 for output it would be 0.0009912: millionths are told.
    finer = Provider(cache="anthropic", prices=Prices(input=2.0, output=8.04, cache_write=2.5))
    assert asked_again_usd(finer, 1_000, again) == 0.000991
    assert asked_again_usd(provider, 1_000, []) == 0.0 and asked_again_usd(Provider(), 1_000, again) is None
