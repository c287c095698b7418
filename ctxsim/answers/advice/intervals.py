"""Means over transcripts and how far to trust them: intervals, ranks, and the p-value of a paired difference."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from ctxsim.recorded.resampled import FEWEST, by_session, ends

RESAMPLES = 2_000
FINE_RESAMPLES = 20_000
"""Resamples for far tails."""

MANY_SESSIONS = 5_000
"""With more sessions, means are taken as normally distributed, and nothing is resampled."""

DRAWN_AT_ONCE = 20_000_000
"""Most numbers in memory while resampling."""

EXACT = 14
"""With up to this many sessions that differ, all assignments of signs are tested; with more, random ones."""

DRAWS = 9_999
SIGNS_AT_ONCE = 4_000_000
"""Most signs in memory."""

Interval = tuple[float, float, float]
"""Mean, low, high."""


def bootstrap_mean(values: Sequence[float] | npt.NDArray[np.float64], roots: Sequence[str]) -> Interval | None:
    """Return the mean and its 95 % bootstrap interval, resampled by root session (`roots`, one for each).

    None for fewer than six sessions, which say too little about others.
    """
    data = np.asarray(values, dtype=float)
    sums, counts = by_session(roots, data, np.ones(len(data)))
    if len(sums) < FEWEST:
        return None
    if len(sums) > MANY_SESSIONS:
        error = float(ratio_error(sums[:, None], counts)[0])
        mean, reach = data.mean(), NormalDist().inv_cdf(0.975) * error
        return float(mean), float(mean - reach), float(mean + reach)
    picks = np.random.default_rng(0).integers(0, len(sums), (RESAMPLES, len(sums)))
    means = sums[picks].sum(axis=1) / counts[picks].sum(axis=1)
    return float(data.mean()), *ends(means, len(sums))


def rank_ranges(parts: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Return each policy's best and worst possible rank by survival, given its summary rows.

    Two policies are ranked against each other only if the bootstrap interval of their paired difference excludes 0, at
    a level that leaves 5 % for one wrong order among all pairs (Bonferroni). With many sessions it is a normal one;
    fewer than six rank nobody.
    """
    first = next((part[part.survival.notna()] for part in parts.values()), None)
    if first is None or len(parts) < 2:
        return {}
    kept = [part.set_index("transcript").survival.dropna()[first.transcript] for part in parts.values()]
    *each, counts = by_session(first.root.to_numpy(), *kept, np.ones(len(first)))
    count, sums = len(counts), np.stack(each, axis=1)
    if count < FEWEST:
        return {}
    tail = 0.05 / 2 / (len(parts) * (len(parts) - 1) / 2)
    few = count <= MANY_SESSIONS
    drawn = resampled(count, FINE_RESAMPLES) if few else [np.ones((1, count))]
    means = np.concatenate([(some @ sums) / (some @ counts)[:, None] for some in drawn])
    ranges = {}
    for n, label in enumerate(parts):
        low, high = np.percentile(means - means[:, [n]], [100 * tail, 100 - 100 * tail], axis=0)
        if not few:
            reach = NormalDist().inv_cdf(1 - tail) * ratio_error(sums - sums[:, [n]], counts)
            low, high = low - reach, high + reach
        ranges[label] = (int((low > 0).sum()) + 1, len(parts) - int((high < 0).sum()))
    return ranges


def ratio_error(sums: npt.NDArray[np.float64], counts: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the standard error of each column's mean, sessions independent (delta method for a ratio of sums)."""
    total, sessions = counts.sum(), len(counts)
    rest = sums - counts[:, None] * (sums.sum(axis=0) / total)
    error: npt.NDArray[np.float64] = np.sqrt((rest**2).sum(axis=0) * sessions / (sessions - 1)) / total
    return error


def resampled(sessions: int, times: int) -> Iterator[npt.NDArray[np.int64]]:
    """Yield how often each session is drawn in each resample, some resamples at a time to bound memory."""
    rng = np.random.default_rng(0)
    at_once = max(1, DRAWN_AT_ONCE // sessions)
    for start in range(0, times, at_once):
        size = min(at_once, times - start)
        yield rng.multinomial(sessions, np.full(sessions, 1 / sessions), size=size)


def sign_flip(differences: Sequence[float] | npt.NDArray[np.float64], roots: Sequence[str]) -> float | None:
    """Return the two-sided p-value of a mean paired difference under no change, by a sign-flip permutation test;
    `roots` has the session of each difference.

    Each session is measured under both. Under no change, A and B could be swapped within a session: its difference has
    either sign with the same probability, and transcripts of one session swap together (R. A. Fisher, The Design of
    Experiments, 1935, section 21).

    The p-value is the share of assignments of signs whose sum is at least as far from 0 as the observed sum; if
    assignments are drawn, the observed one is added to them. None for fewer than FEWEST sessions.
    """
    (sums,) = by_session(roots, differences)
    if len(sums) < FEWEST:
        return None
    # A difference of 0 has no sign to flip.
    sums = sums[sums != 0]
    # Sums of the same numbers in another order may differ in their last digits.
    seen = abs(sums.sum()) - 1e-9 * np.abs(sums).sum()
    if len(sums) <= EXACT:
        signs = 1 - 2 * (np.arange(2 ** len(sums))[:, None] >> np.arange(len(sums)) & 1)
        return float(np.mean(np.abs(signs @ sums) >= seen))
    chance, beyond, left = np.random.default_rng(0), 0, DRAWS
    while left:
        some = min(left, max(1, SIGNS_AT_ONCE // len(sums)))
        drawn = 2 * chance.integers(0, 2, (some, len(sums)), dtype=np.int8) - 1
        beyond += int(np.sum(np.abs(drawn @ sums) >= seen))
        left -= some
    return (beyond + 1) / (DRAWS + 1)
