"""The fit of a recording's size by hand: what is a head, a factor or a step, at each limit and one beyond."""

from __future__ import annotations

import msgspec
import pytest
from samples import conversation

from ctxsim.recorded.size_fit import Request, factor_of, fit_size, head_is_whole, later_calls, later_errors
from ctxsim.simulator.measure.measured import Size, Step
from ctxsim.transcript import Head


def alike(*recorded: int) -> list[Request]:
    """Calls of the same 1,000 counted tokens each: with a factor of 1 all beyond these is head and steps."""
    return [Request(call, 1_000, 0, tokens) for call, tokens in enumerate(recorded, 1)]


def line(factor: float, *texts: int, head: int = 5_000) -> list[Request]:
    return [Request(call, text, 7, round(head + factor * text) + 7) for call, text in enumerate(texts, 1)]


def test_errors_are_those_of_whole_tokens() -> None:
    # Beyond 500 counted tokens 500, 600 and 800 were sent. Weighted by 1 / recorded the mean is
    # (500 / 1000 + 600 / 1100 + 800 / 1300) / (1 / 1000 + 1 / 1100 + 1 / 1300) = 620.1. So 1,120 are told of 1,000,
    # 1,100 and 1,300: 12 %, 20 / 1,100 and 180 / 1,300.
    found = fit_size([Request(call, 500, 0, tokens) for call, tokens in enumerate((1_000, 1_100, 1_300), 1)])
    assert found == Size("fitted", 620, 1.0, (), 3, 0.12, 0.1385)


def test_the_worst_but_one_in_twenty_is_told() -> None:
    # Three of forty calls are larger for once: 2,200, 2,400 and 2,600. The head is a little over 1,000; 38 of 40 are
    # off by no more than the first of these.
    found = fit_size(alike(*(2_000 + {10: 200, 20: 400, 30: 600}.get(call, 0) for call in range(1, 41))))
    assert found is not None and found.steps == () and found.p95_error is not None and found.median_error is not None
    assert 0.07 < found.p95_error < 0.085 and found.median_error == pytest.approx(
        (found.head - 1_000) / 2_000, abs=1e-4
    )


@pytest.mark.parametrize(("texts", "factor"), [
    # Three requests that differ by more than 200 tokens tell a factor from a head.
    ((1_000, 1_100, 1_201), 2.0), ((1_000, 1_100, 1_200), 1.3), ((1_000, 3_000), 1.3), ((1_000, 2_000, 3_000), 2.0),
])  # fmt: skip
def test_a_factor_is_told_from_three_requests_that_differ(texts: tuple[int, ...], factor: float) -> None:
    found = fit_size(line(2.0, *texts), 1.3)
    assert found is not None and found.factor == factor


@pytest.mark.parametrize(("factor", "fitted"), [
    (0.59, 1.0), (0.61, 0.61), (0.89, 0.89), (3.49, 3.49), (3.51, 1.0), (5.2, 1.0),
])  # fmt: skip
def test_factors_beyond_those_of_tokenizers_are_texts_that_are_missing(factor: float, fitted: float) -> None:
    found = fit_size(line(factor, 1_000, 2_000, 3_000, 4_000))
    assert found is not None and found.factor == fitted


@pytest.mark.parametrize(("recorded", "factor", "head"), [
    # More is counted than was recorded: no head, and a factor of less, from a hundredth on.
    (800, 0.8, 0), (11, 0.011, 0), (9, 1.2, 0), (1_200, 1.2, 0), (1_201, 1.2, 1),
])  # fmt: skip
def test_one_request_of_less_than_is_counted(recorded: int, factor: float, head: int) -> None:
    found = fit_size([Request(1, 1_000, 0, recorded)], 1.2)
    assert found is not None and (found.factor, found.head) == (factor, head)


@pytest.mark.parametrize(("before", "more", "found"), [
    # 300 tokens, and of requests from 15,000 on a fiftieth: of 20,409 are 408.18.
    (5_000, 299, False), (5_000, 300, True), (20_000, 408, False), (20_000, 409, True),
])  # fmt: skip
def test_a_step_is_seen_from_so_many_tokens_and_so_large_a_share_on(before: int, more: int, found: bool) -> None:
    size = fit_size(alike(*[before] * 5, *[before + more] * 5))
    assert size is not None and size.steps == ((Step(6, more),) if found else ())
    if found:
        assert size == Size("fitted", before - 1_000, 1.0, size.steps, 10, 0.0, 0.0)


@pytest.mark.parametrize(("later", "found"), [
    # A rise that is gone in the calls behind it is none; of the three behind it the middle one decides, at half of it.
    ((1_000, 0, 0, 0), False), ((1_000, 1_000, 0, 0), True), ((1_000, 500, 500, 500), True),
    ((1_000, 499, 499, 499), False),
])  # fmt: skip
def test_a_step_stays(later: tuple[int, ...], found: bool) -> None:
    size = fit_size(alike(*[5_000] * 4, *(5_000 + more for more in later)))
    assert size is not None and [one.call for one in size.steps] == [5] * found


def test_a_step_rises_above_the_three_calls_before() -> None:
    # Call 4 falls by 700 and call 5 rises by 1,000: above the middle of 5,000, 5,000 and 4,300 that is 300, no half.
    size = fit_size(alike(5_000, 5_000, 5_000, 4_300, 5_300, 5_300, 5_300, 5_300))
    assert size is not None and size.steps == ()
    size = fit_size(alike(5_000, 5_000, 5_000, 4_500, 5_500, 5_500, 5_500, 5_500))
    assert size is not None and [one.call for one in size.steps] == [5], "500 are half of 1,000"


def test_a_rise_that_is_too_small_hides_no_other() -> None:
    # Of 60,700 tokens 700 are less than a fiftieth; the 500 before them are more than 300, and than that of 10,500.
    sizes = [*[10_000] * 6, *[10_500] * 6, *[60_000] * 6, *[60_700] * 6]
    found = fit_size([Request(call, tokens - 9_000 - 500 * (tokens >= 10_500) - 700 * (tokens == 60_700), 0, tokens)
                      for call, tokens in enumerate(sizes, 1)])  # fmt: skip
    assert found is not None and [one.call for one in found.steps] == [7]


@pytest.mark.parametrize(("once", "found"), [(4, True), (5, False)])
def test_a_step_is_looked_for_among_the_five_largest_rises(once: int, found: bool) -> None:
    # So many calls, each third, are 2,000 larger for once; then all are 1,000 larger.
    size = fit_size(alike(*[5_000, 5_000, 7_000] * once, *[5_000] * 3, *[6_000] * 9))
    assert size is not None and [one.call for one in size.steps] == [3 * once + 4] * found


@pytest.mark.parametrize(("calls", "steps"), [(5, 1), (6, 2), (8, 2), (9, 3), (66, 20)])
def test_a_third_of_the_calls_may_be_steps_and_twenty_at_most(calls: int, steps: int) -> None:
    # From each third call on 1,000 more.
    size = fit_size(alike(*(5_000 + 1_000 * (call // 3 if calls > 5 else call // 2) for call in range(calls))))
    assert size is not None and len(size.steps) <= steps
    if calls in (6, 9):
        assert size.steps == tuple(Step(call, 1_000) for call in range(4, calls + 1, 3))
    if calls == 66:
        assert len(size.steps) == 20 and all(one.call % 3 == 1 for one in size.steps)
        assert list(size.steps) == sorted(size.steps, key=lambda one: one.call)


def test_a_factor_goes_by_growth_within_the_bounds() -> None:
    def told(grew: int, by: int) -> float:
        return factor_of([Request(1, 1_000, 10, 2_000), Request(2, 1_000 + grew, 25, 2_015 + by)], 1.0)

    assert told(1_000, 600) == (5_000 + 600) / 6_000 and told(1_000, 599) == 1.0
    assert told(1_000, 3_500) == (5_000 + 3_500) / 6_000 and told(1_000, 3_501) == 1.0
    assert told(1, 1) == 5_001 / 5_001 and told(0, 0) == 1.0 == told(-1_000, -1_000)


def test_of_nine_calls_four_are_known() -> None:
    found = line(2.0, *(1_000 * n for n in range(1, 10)))
    # Three spans of 1,000 counted tokens and 2,000 recorded, beside 5,000 at 1.5: 13,500 / 8,000.
    told = later_calls(found, 1.5)
    assert [(one.call, tokens) for one, tokens in told] == [
        (call, 13_007 + 1_000 * (call - 4) * 13_500 / 8_000) for call in range(5, 10)
    ]  # fmt: skip
    # 13,007 + 1,687.5 of 15,007 and so on: 312.5 too few for each call.
    assert later_errors(found, 1.5) == tuple(round(312.5 * n / (13_007 + 2_000 * n), 4) for n in range(1, 6))
    # As counted: 5,007 of 15,007.
    assert later_errors(found, 1.5, whole=True)[0] == round(10_000 / 15_007, 4)
    assert len(later_errors(found[:8], 1.5)) == 4 and later_errors(found[:7], 1.5) == ()


@pytest.mark.parametrize(("head", "asks", "whole"), [
    (Head("s", ("{}",)), True, True), (Head("s"), True, False), (Head("s"), False, True),
    (Head("s", ("{}",), recorded=False), True, False), (Head("s", recorded=False), False, False),
])  # fmt: skip
def test_a_head_is_whole_with_its_tools_where_any_were_asked(head: Head, asks: bool, whole: bool) -> None:
    made = conversation(*["result"] * asks)
    assert head_is_whole(msgspec.structs.replace(made, head=head)) is whole
