"""Sessions whose texts are known: how they are told, and how often ranges held."""

from __future__ import annotations

import msgspec
import pytest
from samples import conversation

from ctxsim.answers.forecast.known_texts import Compactions, Held, Told, compactions, error_range, held, told
from ctxsim.transcript import Head, Transcript, Usage

WORDS = "word " * 1_000


def test_errors_of_earlier_sessions_bound_the_next_one() -> None:
    # Of nineteen errors a twentieth lies below the first and above the last: split conformal at 90 %.
    errors = [1 + n / 100 for n in range(19)]
    assert error_range(errors) == pytest.approx((1.0, 1.18))
    # Of thirty-nine it is the second on either side.
    assert error_range([1 + n / 100 for n in range(39)]) == pytest.approx((1.01, 1.37))
    assert error_range(errors[:7]) is None and error_range(errors[:8]) == pytest.approx((1.0, 1.07))
    # At half of nine, each way a quarter of ten places: the second and the eighth.
    assert error_range(errors[:9], 0.5) == pytest.approx((1.01, 1.07))


def test_after_a_miss_a_wider_range_is_asked_for() -> None:
    ratios = [*range(1, 9), 100, 100, 5]
    found = held([Told(str(n), 1.0, came, None, None, None, False) for n, came in enumerate(ratios)], 0.5)
    # Of the first eight the second and the seventh bound the ninth: 2 to 7, a miss. Then 0.525 are asked for of nine,
    # 2 to 8, a miss too, and 0.55 of ten, 2 to 100, which holds 5. The widths are 3.5, 4 and 50.
    assert found == [Held("tokens", 3, pytest.approx(1 / 3), pytest.approx(4))]


def test_after_hits_a_narrower_range_is_asked_for() -> None:
    # Of the first eight again 2 to 7. Each 4.5 is a hit and asks for 0.025 less: of nine at 0.475 the range is 2 to 7
    # too, of ten at 0.45 and of the next it is 3 to 6. The middle of the widths is told.
    ratios = [*range(1, 9), 4.5, 4.5, 4.5, 4.5, 4.5]
    rows = [Told(str(n), 1.0 + n, (1 + n) * came, 1.0, came, None, False) for n, came in enumerate(ratios)]
    widths = [held(rows[:many], 0.5)[0].width for many in range(9, 14)]
    assert widths == pytest.approx([3.5, 3.5, 3.5, 2.75, 2.0])
    assert {(one.amount, one.held) for one in held(rows, 0.5)} == {("tokens", 1.0), ("usd", 1.0)}
    # What had nothing told or nothing came tells nothing.
    nothing = [{"tokens": 0.0, "usd_came": None}, {"tokens_came": 0.0, "usd": None}]
    empty = [msgspec.structs.replace(rows[0], **changes) for changes in nothing]
    assert held([*empty, *rows], 0.5) == [Held("tokens", 5, 1.0, held(rows, 0.5)[0].width), held(rows, 0.5)[1]]
    assert held(rows[:8], 0.5) == []


def test_what_comes_as_told_holds() -> None:
    # All errors are one: the range has no width, and what comes lies at its end.
    rows = [Told(str(n), 2.0, 2.0, None, None, None, False) for n in range(9)]
    assert held(rows) == [Held("tokens", 1, 1.0, 1.0)]


def test_compactions_told_and_came_are_counted() -> None:
    rows = [Told("", 1.0, 1.0, None, None, *both) for both in
            ((True, True), (True, False), (True, False), (False, True), (False, False), (None, True))]  # fmt: skip
    assert compactions(rows) == Compactions(sessions=5, came=2, told=3, both=1)
    assert compactions(rows[-1:]) is None


def session(name: str, head: int, started: float | None, model: str = "gpt-4.1", **changes: object) -> Transcript:
    """Six calls, each with about 1,000 tokens more; a head that is in no log, and the usage of both."""
    made = conversation(*[WORDS] * 5, name=name)
    calls = tuple(
        msgspec.structs.replace(call, usage=Usage(head + tokens, 0), model=model, time_s=started)
        for call, tokens in zip(made.calls, TOKENS, strict=True)
    )
    return msgspec.structs.replace(made, calls=calls, head=Head(recorded=False), **{"project": "p", **changes})


TOKENS = (11, 1_028, 2_045, 3_062, 4_079, 5_096)
"""What OpenAI counts of these requests, without a head."""


def heads_told(*sessions: Transcript, first_call: bool = False) -> dict[str, float]:
    """By session the head that its tokens were told with."""
    return {one.session: round((one.tokens - sum(TOKENS)) / 6) for one in (both[first_call] for both in told(sessions))}


def test_a_session_is_told_by_the_heads_of_those_before_it() -> None:
    first, second, third = (session(name, head, at) for name, head, at in (("a", 1_000, 1.0), ("b", 2_000, 2.0),
                                                                           ("c", 4_000, 3.0)))  # fmt: skip
    # The oldest tells of the second, both of the third: the middle of 1,000 and 2,000.
    assert heads_told(third, first, second) == {"b": 1_000, "c": 1_500}
    [(one, _)] = told([second, first])
    assert one == Told(
        "b", pytest.approx(6_000 + sum(TOKENS)), pytest.approx(12_000 + sum(TOKENS)), one.usd, one.usd_came,
        None, False,
    )  # fmt: skip
    # Without output gpt-4.1 costs 2 dollars a million, or less of what a cache reads.
    assert one.usd and one.usd_came and one.usd < one.usd_came < one.tokens_came * 2e-6
    # The usage of its own first call tells its head.
    assert heads_told(first, second, first_call=True) == {"b": 2_000}
    untimed = session("d", 9_000, None)
    bare = msgspec.structs.replace(
        session("e", 9_000, 0.5), calls=tuple(msgspec.structs.replace(call, usage=None) for call in untimed.calls)
    )
    assert heads_told(untimed, bare, first, second) == {"b": 1_000}, "without a time or usage it tells nothing"
    begun, *later = session("f", 9_000, 0.5).calls
    late = msgspec.structs.replace(untimed, calls=(msgspec.structs.replace(begun, time_s=None), *later))
    assert heads_told(late, first, second) == {"b": 1_000}, "the time of its first call is the one that counts"


def test_without_prices_tokens_alone_are_told() -> None:
    [(one, _)] = told([session(name, 1_000, at, model="nobody-s") for name, at in (("a", 1.0), ("b", 2.0))])
    assert (one.usd, one.usd_came, one.compacts) == (None, None, None)
    assert one.tokens == one.tokens_came == 6_000 + sum(TOKENS)


@pytest.mark.parametrize(("head", "compacts"), [(1_000, False), (180_000, True)])
def test_whether_its_agent_would_compact_is_told(head: int, compacts: bool) -> None:
    # Claude Code compacts before its window of 200,000 is full.
    [(one, _)] = told(
        [session(name, head, at, "claude-opus-4-6", format="claude-code") for name, at in (("a", 1), ("b", 2))]
    )
    assert one.compacts is compacts


def test_the_nearest_sessions_before_tell() -> None:
    def last(*before: tuple[int, dict[str, str | None]], **changes: str | None) -> float:
        made = [session(str(n), head, float(n), **given) for n, (head, given) in enumerate(before)]
        return heads_told(*made, session("last", 0, 99.0, **changes))["last"]

    other: dict[str, str | None] = {"project": "q"}
    # Three of its own project are enough, two are not: 3,000 is the middle of all five.
    here = [(1_000, {}), (2_000, {}), (3_000, {})]
    assert last((8_000, other), (9_000, other), *here) == 2_000
    assert last((8_000, other), (9_000, other), (7_000, other), *here[:2]) == 7_000
    # Of its model, and as it is a sub-agent or none; where there is none such, all of them tell.
    model: dict[str, str | None] = {"model": "gpt-4o"}
    assert last((8_000, model), *here[:2], (9_000, {"parent": "x"})) == 1_500
    assert last((8_000, {}), *here[:1], parent="x") == 4_500 and last((8_000, {}), *here[:1], model="gpt-4o") == 4_500
    assert last((8_000, {"parent": "y"}), *here, parent="x") == 8_000
    # The last seven count.
    assert last(*((9_000, {}),) * 7, *((1_000, {}),) * 4) == 1_000
