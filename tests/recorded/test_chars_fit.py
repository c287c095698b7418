"""Characters per recorded token: exact where the world is a head and a constant, whatever the heads are."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import conversation

from ctxsim.answers.calibration.calibration import calibrate, cross_validate, recorded_prompts, recorded_ratio
from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.readers.assembly.segments import segments
from ctxsim.recorded.chars_fit import Series, head, holds_its_texts, series_of, slope, unseen_errors
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
    both = recorded_ratio([series(0, 9_000, 0.25, [4_000, 8_000]), series(1, 0, 0.5, [4_000, 8_000])])
    assert (both.low, both.high) == (2.0, 4.0) and both.low < both.chars_per_token < both.high


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
    assert held is not None and held.counted is not None and held.recorded is not None
    assert held.counted.transcripts <= 0.2
    assert held.recorded.transcripts == 1.0
    # One recording with usage says nothing of others: no constant is known for its head.
    one = msgspec.structs.replace(sample, series=[series for series in sample.series if series.transcript == 0])
    alone = cross_validate(one, 0.2, False)
    assert alone is not None and alone.counted == held.counted and alone.recorded is None


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
