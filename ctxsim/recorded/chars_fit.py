"""Characters per recorded token: one constant for all transcripts, and for each series of calls a head that its log
lacks.

    recorded = head + characters / c + what joined later without being logged

The constant and the heads minimize the squared relative error. The tokens that joined unlogged are found first, as the
steps of `recorded.size_fit.fit_size`, and subtracted. All these numbers are *fitted*.
"""

import math
from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np

from ctxsim.recorded.resampled import FEWEST, by_session, ends
from ctxsim.recorded.size_fit import LEAST_FACTOR, MOST_FACTOR, Array, Request, fit_size, growth
from ctxsim.transcript import Transcript

RESAMPLES = 1_000
USUAL = 4
"""Characters per counted token, accurate enough to find steps and missing texts."""


class Series(msgspec.Struct, frozen=True):
    """Calls of one segment to one model, which share a head. The first is the base of the others' growth.

    Per call: characters and class features of the logged conversation, recorded tokens, and how many of these joined
    unlogged since the first call (fitted).
    """

    transcript: int
    model: str
    chars: tuple[int, ...]
    features: tuple[tuple[int, ...], ...]
    recorded: tuple[int, ...]
    joined: tuple[int, ...]


Measure = Callable[[Series], Array]
"""Callback that returns, for each call, the number that head and growth are fitted to."""


def characters(series: Series) -> Array:
    """Return the characters of each call."""
    return np.array(series.chars, dtype=float)


def series_of(segment: Transcript, number: int, sizes: Sequence[Array]) -> Iterator[Series]:
    """Yield the series of a segment of transcript `number`; `sizes`: characters, tokens and features by call."""
    groups: dict[int, list[int]] = {}
    for call, _, base in growth(segment):
        groups.setdefault(base, [base]).append(call)
    for base, calls in groups.items():
        usage = [segment.calls[call - 1].usage for call in calls]
        recorded = [one.input_tokens for one in usage if one]
        chars = [int(sizes[call - 1][0]) for call in calls]
        requests = [Request(call, c // USUAL, 0, r) for call, c, r in zip(calls, chars, recorded, strict=True)]
        size = fit_size(requests)
        steps = size.steps if size else ()
        model = segment.calls[base - 1].model or segment.model or "unknown"
        features = tuple(tuple(map(int, sizes[call - 1][2:])) for call in calls)
        joined = tuple(sum(step.tokens for step in steps if step.call <= call) for call in calls)
        yield Series(number, model, tuple(chars), features, tuple(recorded), joined)


def holds_its_texts(series: Series) -> bool:
    """Return whether the logged texts can explain the recorded growth; if not, the log lacks most of what was sent."""
    square, product = _spread(series, characters)
    return bool(square) and LEAST_FACTOR <= USUAL * product / square <= MOST_FACTOR


def _weighted(series: Series, measure: Measure) -> tuple[Array, Array, Array]:
    """Weights, the measure, and recorded tokens without those that joined unlogged; each by call."""
    recorded = np.array(series.recorded, dtype=float)
    return 1 / recorded**2, measure(series), recorded - np.array(series.joined)


def _spread(series: Series, measure: Measure) -> tuple[float, float]:
    """Weighted sums of squares and of products around the series' own means, which cancels its head."""
    weights, x, y = _weighted(series, measure)
    x = x - np.average(x, weights=weights)
    return float(weights @ x**2), float(weights @ (x * (y - np.average(y, weights=weights))))


def slope(found: Sequence[Series], measure: Measure = characters) -> float:
    """Return recorded tokens per unit of the measure, over all series; 0.0 if nothing grows."""
    sums = [_spread(series, measure) for series in found]
    square = sum(square for square, _ in sums)
    return sum(product for _, product in sums) / square if square else 0.0


def slope_interval(found: Sequence[Series]) -> tuple[float, float] | None:
    """Return the 95 % bootstrap interval of the slope by characters, over transcripts; None with fewer than six."""
    spreads = [_spread(series, characters) for series in found]
    return ratio_interval([one.transcript for one in found], [(above, below) for below, above in spreads])


def ratio_interval(transcripts: Sequence[int], parts: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """Return the 95 % bootstrap interval, over transcripts, of a ratio of sums, given each part's numerator and
    denominator; None with fewer than six transcripts.
    """
    sums = np.column_stack(by_session(transcripts, *np.reshape(parts, (-1, 2)).T))
    if len(sums) < FEWEST:
        return None
    rng = np.random.default_rng(0)
    # One at a time: of many transcripts, all of them together would fill the memory.
    drawn = np.array([sums[rng.integers(0, len(sums), len(sums))].sum(axis=0) for _ in range(RESAMPLES)])
    usable = drawn[drawn[:, 1] > 0]
    return ends(usable[:, 0] / usable[:, 1], len(sums))


def head(series: Series, per_char: float) -> float:
    """Return the tokens, at least 0, that every request of a series has besides its logged conversation."""
    weights, x, y = _weighted(series, characters)
    return max(0.0, float(np.average(y - per_char * x, weights=weights)))


def unseen_errors(series: Series, per_unit: float, measure: Measure = characters) -> Array:
    """Return the relative errors of all calls but the first, predicted from the first call's tokens and the growth."""
    x, recorded = measure(series), np.array(series.recorded, dtype=float)
    told = recorded[0] + per_unit * (x - x[0])
    return np.asarray(told[1:] / recorded[1:] - 1)


def chars_per_token(per_char: float) -> float:
    """Return characters per token, given tokens per character; infinity if that isn't positive."""
    return 1 / per_char if per_char > 0 else math.inf
