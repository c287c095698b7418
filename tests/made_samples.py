"""Samples for calibrations: by transcript one text, one request and the usage of two, with figures that add up."""

from __future__ import annotations

from ctxsim.counting.estimators.classes import FEATURES
from ctxsim.recorded.chars_fit import Series
from ctxsim.recorded.sample import Sample, Sized


def features(chars: int) -> tuple[int, ...]:
    """All characters of one class."""
    return (chars, *(0,) * (len(FEATURES) - 1))


def series(number: int, per_char: float, of_head: int, chars: tuple[int, ...] = (400, 800)) -> Series:
    recorded = tuple(round(of_head + per_char * one) for one in chars)
    return Series(number, "m", chars, tuple(map(features, chars)), recorded, (0,) * len(chars))


def sample(ratios: list[float], projects: tuple[int, ...] = ()) -> Sample:
    """By transcript one text and one request of 400 characters, and the usage of two requests."""
    tokens = [round(400 * ratio) for ratio in ratios]
    return Sample(
        [Sized(n, 400, many, features(400)) for n, many in enumerate(tokens)],
        [Sized(n, 400, float(many), features(400)) for n, many in enumerate(tokens)],
        [series(n, ratio, 100 if ratio == 0.25 else 0) for n, ratio in enumerate(ratios)],
        len(ratios), projects or tuple(range(len(ratios))),
    )  # fmt: skip
