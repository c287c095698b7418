"""Whole calibrations of a sample made by hand, and what risk a divisor takes."""

from __future__ import annotations

import math

import msgspec
import pytest
from made_samples import features, sample, series

from ctxsim.answers.calibration.calibration import AS_RECORDED, calibrate, class_weights, heads, ratio_of
from ctxsim.answers.calibration.risk import divisor_at_risk, unsafe
from ctxsim.counting.estimators.calibrated import Calibration, Heads, Ratio
from ctxsim.counting.estimators.classes import FEATURES
from ctxsim.errors import CtxsimError
from ctxsim.recorded.sample import Sample, Sized

SIX = sample([0.25, 0.25, 0.25, 0.25, 0.5, 0.2])
SIX = msgspec.structs.replace(
    SIX, texts=[msgspec.structs.replace(one, group="ab"[n % 2]) for n, one in enumerate(SIX.texts)]
)
"""Texts of 400 characters, of 100 tokens four times, of 200 and of 80; by turns of two groups."""

NEAR = "requests near the window underestimated, as {}, held out"
SUCH = "transcripts with such a request, as {}, held out"
PROVENANCE = {"transcripts": 6, "texts": 6, "requests": 6, "recorded requests": 12, "resamples": 1_000, "folds": 5,
              "projects": 6}  # fmt: skip


def weights(words: float) -> dict[str, float]:
    return dict.fromkeys(FEATURES, 0.0) | {"words": words}


def test_what_is_counted() -> None:
    # 2,400 characters, 680 tokens; of the groups 400 and 280. By the square root of tokens a character weighs
    # 2,400 / (160,000 x (4 / 100 + 1 / 200 + 1 / 80)) = 2,400 / 9,200 tokens.
    # A quarter of a token a character is half of what one has and a quarter more than another: .75 of 6. Fitted to
    # the others: the first and the last are held out together, 500 of 1,600 are .25 and .5625 too many; of the next
    # three 580 of 2,000 are .16; of the fifth 480 of 2,000 are .52 too few. 1.8125 of 6.
    found = calibrate(SIX, "o200k", "kind", 0.4, False)
    assert found == Calibration(
        2, "o200k", Ratio(3.5294, 2.4, 4.6154, 6, 6, 2_400, 680), 3.9999, 0.4, "kind",
        {"a": Ratio(3.0, None, None, 3, 3, 1_200, 400), "b": Ratio(4.2857, None, None, 3, 3, 1_200, 280)},
        weights(0.26087),
        {"chars/4, held-out MAPE": 0.125, "one ratio, held-out MAPE": 0.3021,
         "character classes, held-out MAPE": 0.3021,
         NEAR.format("counted"): 0.1667, SUCH.format("counted"): 0.1667, NEAR.format("recorded"): 0.3333,
         SUCH.format("recorded"): 0.3333},
        PROVENANCE, None, "texts as o200k counts them",
    )  # fmt: skip
    assert list(found.groups) == ["a", "b"], "most tokens first"
    assert [name.split()[-3] for name in list(found.errors)[3:]] == [*["counted,"] * 2, *["recorded,"] * 2]
    # Without a risk the divisor is the ratio.
    plain = calibrate(SIX, "o200k", "kind", None, False)
    assert (plain.divisor, plain.risk) == (3.5294, None)
    assert (plain.errors[NEAR.format("counted")], plain.errors[SUCH.format("counted")]) == (0.1667, 0.1667)


def test_what_is_recorded() -> None:
    found = calibrate(SIX, "o200k", "kind", 0.4, True)
    # Two requests of each series, 400 and 800 characters. Groups of texts are as counted, scaled to the overall ratio:
    # 3 x 4.076 / 3.5294 and 4.2857 x 4.076 / 3.5294.
    assert found == Calibration(
        2, "recorded usage", Ratio(4.076, 2.5556, 4.8667, 12, 6, 7_200, 1_776), 4.0493, 0.4, "kind",
        {"a": Ratio(3.4646, None, None, 3, 3, 1_200, 400), "b": Ratio(4.9494, None, None, 3, 3, 1_200, 280)},
        weights(0.24534),
        {"chars/4, held-out MAPE": 0.0625, "one ratio, held-out MAPE": 0.0987,
         "character classes, held-out MAPE": 0.0987,
         NEAR.format("recorded"): 0.1667, SUCH.format("recorded"): 0.1667},
        PROVENANCE, Heads(102, 0, 122, 6, 0), AS_RECORDED,
    )  # fmt: skip
    by_model = calibrate(SIX, "o200k", "model", 0.1, True)
    assert by_model.groups == {"m": found.overall} and by_model.divisor == 2.8801
    # A twentieth of a token and 16 a character are no tokenizer's: these logs lack their texts.
    more = msgspec.structs.replace(SIX, series=[*SIX.series, series(0, 0.05, 9, (400, 800)), series(1, 4.0, 9)])
    odd = calibrate(more, "o200k", "kind", 0.4, True)
    assert odd.heads == Heads(102, 0, 122, 6, 2) and odd.overall == found.overall


def test_of_fewer_than_five_projects_transcripts_are_held_out() -> None:
    few = calibrate(sample([0.25, 0.25, 0.25, 0.25, 0.5, 0.2], (0, 0, 1, 1, 2, 3)), "o200k", "kind", 0.4, False)
    assert few.provenance == PROVENANCE | {"projects": 0}
    two = calibrate(sample([0.25, 0.5]), "o200k", "kind", None, False)
    assert list(two.errors.values()) == [None] * 5 and two.provenance["transcripts"] == 2


@pytest.mark.parametrize("against", [False, True])
def test_nothing_is_calibrated_with_nothing(against: bool) -> None:
    empty = Sample([], [], [], 2)
    with pytest.raises(CtxsimError, match="nothing to calibrate with"):
        calibrate(empty, "o200k", "kind", None, against)
    # Texts alone aren't enough, nor usage alone.
    full = sample([0.25, 0.25])
    for name in ("texts", "series" if against else "prompts"):
        with pytest.raises(CtxsimError, match="nothing to calibrate with"):
            calibrate(msgspec.structs.replace(full, **{name: []}), "o200k", "kind", None, against)


def test_ratios_and_heads_by_hand() -> None:
    assert ratio_of([(0, 5.0, 0.0)]) == Ratio(math.inf, None, None, 1, 1, 5, 0)
    assert ratio_of([(0, 10.0, 3.0), (0, 10.0, 3.5)]) == Ratio(3.0769, None, None, 2, 1, 20, 6)
    # One character of each series, and heads of 10 to 200: the second, the tenth and the eighteenth of twenty.
    found = [series(n, 0.5, 10 * (n + 1), (100, 400)) for n in range(20)]
    assert heads(found, 0.5, 3) == Heads(100, 20, 180, 20, 3)


def test_a_text_without_tokens_weighs_as_one_with_one() -> None:
    texts = [Sized(0, 4, 0, features(4)), Sized(0, 4, 4, features(4))]
    # Squares 16 / 1 and 16 / 4, products 0 and 16 / 4: 4 of 20.
    assert class_weights(texts).tolist() == pytest.approx([0.2, *[0.0] * (len(FEATURES) - 1)])


@pytest.mark.parametrize(("chars", "divisor"), [(20_000, 1.9999), (20_001, 2.0), (20_002, 2.0001), (19_999, 1.9998)])
def test_a_divisor_is_rounded_down_past_what_it_must_not_under_estimate(chars: int, divisor: float) -> None:
    assert divisor_at_risk([Sized(0, chars, 10_000.0, ())], 0.05) == divisor


def test_a_risk_needs_a_request() -> None:
    for prompts in ([], [Sized(0, 5, 0.0, ())]):
        with pytest.raises(CtxsimError, match="no request to take a risk with"):
            divisor_at_risk(prompts, 0.5)
    # Of four alike a risk of .4 x 5 - 1 lets one lie below, which may be as low as it likes.
    four = [Sized(n, 100 * ratio, 100.0, ()) for n, ratio in enumerate((1, 3, 4, 5))]
    assert divisor_at_risk(four, 0.4) == 2.9999 and divisor_at_risk(four, 0.39) == 0.9999
    assert unsafe([(3, True), (3, False), (5, True)]) == (0.75, 1.0)
