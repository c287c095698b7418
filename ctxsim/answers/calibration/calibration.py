"""Fits of chars-per-token ratios and class weights to the user's transcripts, with their held-out errors."""

import math
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from ctxsim.answers.calibration.risk import divisor_at_risk, unsafe, votes
from ctxsim.counting.estimators.calibrated import VERSION, Calibration, Heads, Ratio
from ctxsim.counting.estimators.classes import FEATURES
from ctxsim.errors import CtxsimError
from ctxsim.recorded.chars_fit import (
    RESAMPLES,
    Measure,
    Series,
    chars_per_token,
    head,
    holds_its_texts,
    ratio_interval,
    slope,
    slope_interval,
    unseen_errors,
)
from ctxsim.recorded.least_squares import non_negative
from ctxsim.recorded.sample import Sample, Sized
from ctxsim.recorded.size_fit import Array
from ctxsim.simulator.measure.columns import nearest_rank

FOLDS = 5

FITS = ("chars/4", "one ratio", "character classes")

AS_RECORDED = "requests as recorded, with the head fitted to each series of calls"
"""The requests for which a calibration against usage holds."""


def class_weights(texts: Sequence[Sized]) -> Array:
    """Return the non-negative weight of each class that fits tokens best.

    Residuals are divided by the root of a text's tokens, so that neither many small nor few large texts dominate.
    """
    matrix = np.array([text.features for text in texts], dtype=float)
    target = np.array([text.tokens for text in texts], dtype=float)
    scale = 1 / np.sqrt(np.maximum(target, 1))
    return non_negative(matrix * scale[:, None], target * scale)


def recorded_prompts(found: Iterable[Series], per_char: float) -> list[Sized]:
    """Return a prompt for each recorded request, with its recorded tokens minus the fitted head of its series."""
    return [
        Sized(series.transcript, chars, recorded - hidden, features)
        for series in found
        for hidden in [head(series, per_char)]
        for chars, recorded, features in zip(series.chars, series.recorded, series.features, strict=True)
    ]


def cross_validate(sample: Sample, risk: float | None, against_usage: bool) -> dict[str, float | None]:
    """Return held-out errors by name, folds by project if there are five, else by transcript; None with fewer than 5:
    mean absolute relative errors of requests by each of FITS, and how often the divisor underestimates a request near
    the window, as counted (unless against usage) and as recorded (if known).

    Against usage a request is predicted from the first one of its series, as an agent would do.
    """
    errors: dict[str, list[float]] = {title: [] for title in FITS}
    counted: list[tuple[int, bool]] = []
    recorded: list[tuple[int, bool]] = []
    for fold in range(FOLDS if sample.transcripts >= FOLDS else 0):
        training, held = (_part(sample, fold, held) for held in (False, True))
        if not training.texts or not (training.series if against_usage else training.prompts):
            continue
        per_char, per_class = _fitted(training, class_weights(training.texts), against_usage)
        of_fits = _errors(held, (1 / 4, per_char, per_class), against_usage)
        for values, found in zip(errors.values(), of_fits, strict=True):
            values += found
        divisor = _divisor(training, risk, against_usage, per_char)
        counted += votes(held.prompts, divisor)
        if training.series:
            # The head is fitted to the held-out session, as an agent knows its own; the constant is from the others.
            recorded += votes(recorded_prompts(held.series, slope(training.series)), divisor)
    told = {f"{title}, held-out MAPE": round(float(np.mean(own)), 4) if own else None for title, own in errors.items()}
    known = ([] if against_usage else [("counted", counted)]) + ([("recorded", recorded)] if recorded else [])
    for name, seen in known:
        requests, transcripts = unsafe(seen)
        told[f"requests near the window underestimated, as {name}, held out"] = requests
        told[f"transcripts with such a request, as {name}, held out"] = transcripts
    return told


def by_project(sample: Sample) -> bool:
    """Return whether there are enough projects for each fold to hold out whole ones."""
    return len(set(sample.projects)) >= FOLDS


def _part(sample: Sample, fold: int, held: bool) -> Sample:
    """The transcripts for training, or the held-out ones: no project (or transcript) is on both sides."""
    unit = sample.projects if by_project(sample) else range(sample.transcripts)
    parts = {
        name: [one for one in getattr(sample, name) if (unit[one.transcript] % FOLDS == fold) is held]
        for name in ("texts", "prompts", "series")
    }
    return msgspec.structs.replace(sample, **parts)


def _by_class(weights: Array) -> Measure:
    return lambda series: np.asarray(np.array(series.features, dtype=float) @ weights)


def _fitted(sample: Sample, weights: Array, against_usage: bool) -> tuple[float, Array]:
    """Tokens per character, and the class weights scaled to the requests' tokens, recorded or counted."""
    if against_usage:
        return slope(sample.series), weights * slope(sample.series, _by_class(weights))
    tokens = sum(one.tokens for one in sample.prompts)
    predicted = sum(float(weights @ np.array(one.features)) for one in sample.prompts)
    chars = sum(one.chars for one in sample.prompts)
    return (tokens / chars if chars else 0.0), weights * (tokens / predicted if predicted else 1.0)


def _errors(held: Sample, fits: tuple[float, float, Array], against_usage: bool) -> tuple[list[float], ...]:
    """Absolute relative errors of each fit on held-out requests."""
    quarter, per_char, weights = fits
    if against_usage:
        told = [(unseen_errors(one, quarter), unseen_errors(one, per_char), unseen_errors(one, 1.0, _by_class(weights)))
                for one in held.series]  # fmt: skip
        return tuple([float(abs(error)) for series in told for error in series[n]] for n in range(3))
    found = [one for one in held.prompts if one.tokens > 0]
    chars, tokens = (np.array([getattr(one, name) for one in found], dtype=float) for name in ("chars", "tokens"))
    by_class = [float(weights @ np.array(one.features)) for one in found]
    return tuple(np.abs(one / tokens - 1).tolist() for one in (chars * quarter, chars * per_char, np.array(by_class)))


def _divisor(sample: Sample, risk: float | None, against_usage: bool, per_char: float) -> float:
    if risk is None:
        return chars_per_token(per_char)
    prompts = recorded_prompts(sample.series, per_char) if against_usage else sample.prompts
    return divisor_at_risk(prompts, risk, sample.projects if by_project(sample) else ())


def calibrate(sample: Sample, tokenizer: str, by: str, risk: float | None, against_usage: bool) -> Calibration:
    """Return the calibration of a sample. Raises CtxsimError if there is nothing to fit to.

    Logs whose recorded growth can't come from their texts are left out of all figures of recorded usage.
    """
    whole = [series for series in sample.series if holds_its_texts(series)]
    left_out = len(sample.series) - len(whole)
    sample = msgspec.structs.replace(sample, series=whole)
    if not sample.texts or not (whole if against_usage else sample.prompts):
        raise CtxsimError(
            "nothing to calibrate with: no transcript has a call" + (" with usage that grows" if against_usage else "")
        )
    counted = ratio_of([(one.transcript, one.chars, one.tokens) for one in sample.texts])
    overall = recorded_ratio(whole) if against_usage else counted
    weights = class_weights(sample.texts)
    per_char, by_class = _fitted(sample, weights, against_usage)
    weights = by_class if against_usage else weights
    divisor = _divisor(sample, risk, against_usage, per_char) if risk is not None else overall.chars_per_token
    return Calibration(
        version=VERSION, tokenizer="recorded usage" if against_usage else tokenizer,
        overall=overall, divisor=divisor, risk=risk, by=by,
        groups=_groups(sample, by, overall.chars_per_token / counted.chars_per_token, against_usage),
        class_weights={name: round(float(weight), 5) for name, weight in zip(FEATURES, weights, strict=True)},
        errors=cross_validate(sample, risk, against_usage),
        provenance={
            "transcripts": sample.transcripts, "texts": len(sample.texts), "requests": len(sample.prompts),
            "recorded requests": sum(len(series.chars) for series in whole), "resamples": RESAMPLES, "folds": FOLDS,
            "projects": len(set(sample.projects)) if by_project(sample) else 0,
        },
        heads=heads(whole, 1 / overall.chars_per_token, left_out) if against_usage else None,
        holds_for=AS_RECORDED if against_usage else f"texts as {tokenizer} counts them",
    )  # fmt: skip


def ratio_of(pairs: Sequence[tuple[int, float, float]]) -> Ratio:
    """Return the pooled characters per token of (transcript, chars, tokens), with an interval over transcripts."""
    chars, tokens = sum(p[1] for p in pairs), sum(p[2] for p in pairs)
    interval = ratio_interval([p[0] for p in pairs], [p[1:] for p in pairs])
    low, high = (round(end, 4) for end in interval) if interval else (None, None)
    ratio = round(chars / tokens, 4) if tokens else math.inf
    return Ratio(ratio, low, high, len(pairs), len({p[0] for p in pairs}), int(chars), round(tokens))


def recorded_ratio(found: Sequence[Series]) -> Ratio:
    """Return characters per recorded token without the heads, with an interval over transcripts."""
    per_char, interval = slope(found), slope_interval(found)
    beyond = recorded_prompts(found, per_char)
    high, low = (round(chars_per_token(end), 4) for end in interval) if interval else (None, None)
    return Ratio(
        round(chars_per_token(per_char), 4), low, high, len(beyond), len({series.transcript for series in found}),
        chars=sum(one.chars for one in beyond), tokens=round(sum(one.tokens for one in beyond)),
    )  # fmt: skip


def heads(found: Sequence[Series], per_char: float, left_out: int) -> Heads:
    """Return the 10th, 50th and 90th percentiles of the fitted heads' tokens; needs at least one series."""
    sizes = sorted(round(head(series, per_char)) for series in found)
    low, middle, high = (int(nearest_rank(sizes, percent)) for percent in (10, 50, 90))
    return Heads(median=middle, p10=low, p90=high, series=len(sizes), left_out=left_out)


def _groups(sample: Sample, by: str, scale: float, against_usage: bool) -> dict[str, Ratio]:
    """Ratios by group of texts, or against usage by model of the recorded calls; most tokens first.

    Usage isn't recorded by tool or kind of content: against it the counted ratios are `scale`d to the overall one.
    """
    if against_usage and by == "model":
        models = sorted({series.model for series in sample.series})
        found = {name: recorded_ratio([one for one in sample.series if one.model == name]) for name in models}
    else:
        pairs: dict[str, list[tuple[int, float, float]]] = {}
        for text in sample.texts:
            pairs.setdefault(text.group, []).append((text.transcript, text.chars, text.tokens))
        found = {name: _scaled(ratio_of(group), scale) for name, group in pairs.items()}
    return dict(sorted(found.items(), key=lambda pair: -pair[1].tokens))


def _scaled(ratio: Ratio, scale: float) -> Ratio:
    known = {name: getattr(ratio, name) for name in ("chars_per_token", "low", "high")}
    scaled = {name: round(value * scale, 4) for name, value in known.items() if value is not None}
    return msgspec.structs.replace(ratio, **scaled)
