"""Characters per recorded token: exact where the world is a head and a constant, whatever the heads are."""

from __future__ import annotations

import tracemalloc

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import conversation

from ctxsim.answers.calibration.calibration import calibrate, cross_validate, recorded_prompts, recorded_ratio
from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.readers.assembly.segments import segments
from ctxsim.recorded.chars_fit import (
    Series,
    chars_per_token,
    head,
    holds_its_texts,
    ratio_interval,
    series_of,
    slope,
    slope_interval,
    unseen_errors,
)
from ctxsim.recorded.sample import collect
from ctxsim.transcript import Compaction, Head, Transcript, Usage


def series(transcript: int, hidden: int, per_char: float, chars: list[int], joined: int = 0) -> Series:
    """Calls of a provider that counts so; what joined unlogged came with the last call."""
    late = [0] * (len(chars) - 1) + [joined]
    recorded = tuple(round(hidden + per_char * c + more) for c, more in zip(chars, late, strict=True))
    return Series(transcript, "m", tuple(chars), tuple((c,) for c in chars), recorded, tuple(late))


def logged(name: str, hidden: int, per_char: float, results: int = 8, compact_at: int = 0) -> Transcript:
    """A conversation with usage = hidden + per_char x characters of all that is logged, and no head in the log."""
    made = conversation(*[f"{name} {n} some words of a result " * 60 for n in range(results)], name=name)
    made = msgspec.structs.replace(made, head=Head(recorded=False))
    cut = (Compaction(compact_at, made.calls[compact_at - 2].end, "", ("short",)),) if compact_at else ()
    made = msgspec.structs.replace(made, compactions=cut)
    calls = [
        msgspec.structs.replace(call, usage=Usage(round(hidden + per_char * _chars(one, call.start)), 1))
        for one in segments(made)
        for call in one.calls
    ]
    whole = [msgspec.structs.replace(own, usage=sent.usage) for own, sent in zip(made.calls, calls, strict=True)]
    return msgspec.structs.replace(made, calls=tuple(whole))


def _chars(transcript: Transcript, stop: int) -> int:
    return sum(len(text) for item in transcript.items[:stop] for text in item.texts)


@given(
    st.floats(0.2, 0.6),
    st.lists(
        st.tuples(st.integers(0, 40_000), st.lists(st.integers(3_000, 20_000), min_size=2, max_size=20)),
        min_size=1,
        max_size=6,
    ),
)
def test_one_constant_and_a_head_each_are_found(per_char: float, worlds: list[tuple[int, list[int]]]) -> None:
    found = [series(n, hidden, per_char, list(map(int, np.cumsum(grown)))) for n, (hidden, grown) in enumerate(worlds)]
    assert slope(found) == pytest.approx(per_char, rel=1e-2)
    for one, (hidden, _) in zip(found, worlds, strict=True):
        assert head(one, per_char) == pytest.approx(hidden, abs=2)
        assert np.abs(unseen_errors(one, per_char)).max() < 1e-3


def test_what_joined_unlogged_is_no_growth_but_under_estimated_all_the_same() -> None:
    one = series(0, 1_000, 0.25, [4_000, 8_000, 12_000, 16_000], joined=5_000)
    assert slope([one]) == pytest.approx(0.25) and head(one, 0.25) == pytest.approx(1_000)
    assert [prompt.tokens for prompt in recorded_prompts([one], 0.25)] == pytest.approx([1_000, 2_000, 3_000, 9_000])


def test_a_head_is_not_negative_and_a_log_without_its_texts_is_told() -> None:
    assert head(series(0, -500, 0.25, [4_000, 8_000]), 0.25) == 0
    assert holds_its_texts(series(0, 0, 0.25, [4_000, 8_000]))
    assert not holds_its_texts(series(0, 0, 4.0, [400, 800])), "16 tokens for what counts as one"
    assert not holds_its_texts(series(0, 9_000, 0.25, [400, 400]))


def test_intervals_are_over_transcripts() -> None:
    alone = recorded_ratio([series(0, 9_000, 0.25, [4_000, 8_000]), series(0, 0, 0.5, [4_000, 8_000])])
    assert (alone.low, alone.high, alone.transcripts) == (None, None, 1)
    slopes = (0.25, 0.25, 0.25, 0.5, 0.5, 0.5)
    five, six = ([series(n, 900 * n, slopes[n], [4_000, 8_000]) for n in range(many)] for many in (5, 6))
    assert recorded_ratio(five).low is None
    found = recorded_ratio(six)
    assert found.low is not None and 2 <= found.low < found.chars_per_token < (found.high or 0) <= 4


def test_calibrating_against_usage_with_hidden_heads() -> None:
    hidden = [17_000, 3_000, 40_000, 9_000, 0, 25_000]
    found = [logged(f"t{n}", size, 0.4) for n, size in enumerate(hidden)]
    sample = collect(found, open_tokenizer(), "tool")
    fitted = calibrate(sample, "o200k_base", "tool", 0.2, True)
    assert fitted.overall.chars_per_token == pytest.approx(2.5, rel=0.01)
    assert fitted.heads is not None and fitted.heads.series == 6 and fitted.heads.left_out == 0
    assert fitted.heads.median == pytest.approx(9_000, abs=30) and fitted.heads.p90 == pytest.approx(40_000, abs=30)
    assert fitted.errors["one ratio, held-out MAPE"] == pytest.approx(0, abs=0.002)
    assert fitted.divisor == pytest.approx(2.5, rel=0.01)
    assert "head fitted" in fitted.holds_for
    # A tool's ratio is what is counted, scaled: nobody records usage of a tool.
    texts = calibrate(sample, "o200k_base", "tool", None, False)
    scale = fitted.overall.chars_per_token / texts.overall.chars_per_token
    assert fitted.groups["tool"].chars_per_token == pytest.approx(
        texts.groups["tool"].chars_per_token * scale, abs=1e-3
    )


def test_the_risk_of_counted_texts_is_checked_against_what_was_recorded() -> None:
    # This provider counts twice as much as the tokenizer: what is safe by the one is not by the other.
    sample = collect([logged(f"t{n}", 5_000, 0.5) for n in range(10)], open_tokenizer(), "kind")
    held = cross_validate(sample, 0.2, False)
    counted, recorded = (f"transcripts with such a request, as {name}, held out" for name in ("counted", "recorded"))
    assert (held[counted] or 0.0) <= 0.2
    assert held[recorded] == 1.0
    # One recording with usage says nothing of others: no constant is known for its head.
    one = msgspec.structs.replace(sample, series=[series for series in sample.series if series.transcript == 0])
    alone = cross_validate(one, 0.2, False)
    assert alone[counted] == held[counted] and recorded not in alone


def test_each_segment_has_a_head_of_its_own() -> None:
    transcript = logged("t", 4_000, 0.4, compact_at=6)
    found = collect([transcript], open_tokenizer(), "kind").series
    assert [len(one.chars) for one in found] == [5, 4]
    assert slope(found) == pytest.approx(0.4, rel=0.01)
    assert [head(one, 0.4) for one in found] == pytest.approx([4_000, 4_000], abs=2)


def test_nothing_grows_where_there_is_no_usage() -> None:
    made = conversation("a result", "another")
    assert not list(series_of(made, 0, [np.zeros(3)] * 3))
    assert slope([]) == 0.0


def test_larger_requests_weigh_less_by_the_square() -> None:
    # Weights 1 / 100, 1 / 400 and 1 / 1,600, so 16, 4 and 1 of 21. Means 60 / 21 characters and 280 / 21 tokens; around
    # them products sum to 1,600 - 800 and squares to 800 - 3,600 / 21 = 13,200 / 21: 800 * 21 / 13,200 is 14 / 11.
    found = Series(0, "m", (0, 10, 20), ((), (), ()), (10, 20, 40), (0, 0, 0))
    assert slope([found]) == pytest.approx(14 / 11)
    # The head is what is left of the means.
    assert head(found, 14 / 11) == pytest.approx(280 / 21 - 14 / 11 * 60 / 21)


def test_what_joins_unlogged_is_there_from_its_own_call_on() -> None:
    made = logged("t", 4_000, 0.25)
    calls = [
        msgspec.structs.replace(call, usage=Usage(call.usage.input_tokens + 8_000 * (number >= 5), 1))
        for number, call in enumerate(made.calls, 1)
        if call.usage
    ]
    (one,) = collect([msgspec.structs.replace(made, calls=tuple(calls))], open_tokenizer(), "kind").series
    # Of nine calls the second grew by less than 500 tokens, which says nothing.
    assert one.joined == pytest.approx([0] * 3 + [8_000] * 5, abs=10)


def test_a_series_is_what_was_logged_and_recorded_since_its_first_call() -> None:
    made = conversation(*["result"] * 5)
    usage = (9_000, 9_400, None, 9_500, 10_000, 20_000)
    calls = tuple(
        msgspec.structs.replace(call, usage=None if tokens is None else Usage(tokens, 1), model="m" * (number > 2))
        for number, (call, tokens) in enumerate(zip(made.calls, usage, strict=True), 1)
    )
    whole = msgspec.structs.replace(made, calls=calls, head=Head(recorded=False))
    sizes = [np.array([100.0 * n, 30.0 * n, n, 2 * n]) for n in range(1, 7)]
    # The first two calls are of no known model, and the second grew by 400; of the third nothing is known. The fourth
    # is the first of model m, from which the fifth grew by 500 and the sixth by 10,500. At four characters a token the
    # first two have a head of (9,400 / 9,500 + 9,875 / 10,000) / (1 / 9,500 + 1 / 10,000) = 9,631.4, so that beside
    # 150 counted tokens 10,219 of 20,000 joined unlogged.
    assert list(series_of(whole, 7, sizes)) == [
        Series(7, "m", (400, 500, 600), ((4, 8), (5, 10), (6, 12)), (9_500, 10_000, 20_000), (0, 0, 10_219)),
    ]  # fmt: skip
    nameless = msgspec.structs.replace(whole, calls=tuple(msgspec.structs.replace(c, model="") for c in whole.calls))
    assert [one.model for one in series_of(nameless, 0, sizes)] == ["unknown"]


def test_later_calls_are_told_from_the_first_by_hand() -> None:
    one = Series(0, "m", (100, 400, 1_000), ((1,), (4,), (10,)), (750, 900, 1_200), (0, 0, 0))
    # 750 + 300 / 4 of 900 and 750 + 900 / 4 of 1,200; by the class 750 + 3 x 20 and 750 + 9 x 20.
    assert unseen_errors(one, 0.25).tolist() == pytest.approx([825 / 900 - 1, 975 / 1_200 - 1])
    by_class = unseen_errors(one, 20.0, lambda series: np.array(series.features, dtype=float)[:, 0])
    assert by_class.tolist() == pytest.approx([810 / 900 - 1, 930 / 1_200 - 1])


def test_intervals_are_of_a_thousand_draws() -> None:
    # Ratios of 1 to 5, two transcripts each with a part of 10: the mean of ten draws has a deviation of
    # sqrt(2 / 10) = 0.447. Of that, Student's t for nine degrees and sqrt(10 / 9): 2.262 x 1.054 x 0.447 = 1.07.
    found = ratio_interval(list(range(10)), [(10.0 * (n % 5 + 1), 10.0) for n in range(10)])
    assert found is not None and found == pytest.approx((3 - 1.07, 3 + 1.07), abs=0.09)
    # Parts of one transcript are drawn together, by their number, and a part of nothing isn't divided by.
    assert ratio_interval([n // 2 for n in range(12)], [(1.0, 1.0), (3.0, 1.0)] * 6) == (2.0, 2.0)
    found = ratio_interval(range(6), [(3.0, 1.0)] * 3 + [(3.0, 0.0)] * 3)
    assert found is not None and found[0] == 3.0 and found[1] < float("inf")
    assert ratio_interval(range(5), [(n, 1.0) for n in range(5)]) is None
    # A thousand draws of 2,000 transcripts are not in memory together.
    tracemalloc.start()
    ratio_interval(range(2_000), [(1.0, 1.0)] * 2_000)
    assert tracemalloc.get_traced_memory()[1] < 2_000_000
    tracemalloc.stop()
    # Products by squares: all series have the same slope.
    alike = [series(n, 9 - n, 0.25, [400, 800 * (n + 1)]) for n in range(6)]
    assert slope_interval(alike) == pytest.approx((0.25, 0.25))


@pytest.mark.parametrize(("per_char", "held"), [(0.14, False), (0.16, True), (0.87, True), (0.88, False)])
def test_a_log_holds_its_texts_where_four_characters_are_0_6_to_3_5_tokens(per_char: float, held: bool) -> None:
    assert holds_its_texts(series(0, 0, per_char, [40_000, 80_000])) is held


@pytest.mark.parametrize(("per_char", "ratio"), [(0.25, 4.0), (0.0, float("inf")), (-0.25, float("inf"))])
def test_tokens_of_a_character_as_people_say_it(per_char: float, ratio: float) -> None:
    assert chars_per_token(per_char) == ratio
