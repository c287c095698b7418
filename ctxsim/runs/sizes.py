"""Sizes of transcripts before any policy runs: keep-all's tokens and dollars. A sample is drawn by them.

Sizes take one replay that edits nothing and looks for no references: a fraction of a bench's time. keep-all's totals of
the whole folder are then known, not estimated.

The sample has probability proportional to size, without replacement: systematic, in randomised order (Hartley and Rao,
Sampling with unequal probabilities and without replacement, Annals of Mathematical Statistics 33, 1962, 350-374).
Units so large that their probability would reach 1 are taken with certainty first, repeatedly. In any order, a unit is
taken with exactly its probability: that of the random start to lie in an interval of that length.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctxsim.policies import open_policy
from ctxsim.results.run_info import Sample
from ctxsim.runs.rows import Done
from ctxsim.runs.transcript_rows import sent_of
from ctxsim.simulator.measure.measured import AsSent

METHOD = "systematic, in randomised order, probability proportional to size (Hartley and Rao 1962)"

LEAST = 0.25
"""The least size that counts when drawing, as a share of the mean. In samples of 60 of 286 transcripts of very
different sizes, it halves the error of `kept`, and doubles that of dollars (`python -m evidence.samples`).
"""


def keep_all(one: AsSent) -> tuple[int, float | None]:
    """Return the tokens and the dollars of a transcript under keep-all; dollars are None if prices aren't known."""
    tokens, usd = 0, 0.0
    priced = True
    for request in sent_of(one, open_policy("keep-all")):
        tokens += request.tokens_sent
        priced &= request.bill.cost is not None
        usd += round(request.bill.cost.total, 10) if request.bill.cost else 0.0
    return tokens, round(usd, 10) if priced else None


class Plan(NamedTuple):
    """A drawn sample: by source, the indices of the drawn transcripts, from 0, with their probabilities; and the
    sample's description in `run.json`, without the drawn transcripts.
    """

    by_source: tuple[dict[int, float], ...]
    about: Sample


def plan(sources: Sequence[Done], wanted: int, seed: int) -> Plan | None:
    """Return a sample of `wanted` of all sources' transcripts; None if so many are wanted that all of them run."""
    every = [(number, at, size) for number, one in enumerate(sources) for at, size in enumerate(one.sizes)]
    if wanted >= len(every):
        return None
    usd = [size[1] for _, _, size in every if size[1] is not None]
    tokens = sum(size[0] for _, _, size in every)
    priced = sum(size[0] for _, _, size in every if size[1] is not None)
    dollars = 2 * len(usd) >= len(every) and sum(usd) > 0 and priced > 0
    # Transcripts without known prices get the average price per token.
    rate = sum(usd) / priced if dollars else 1.0
    known = [usd if dollars and usd is not None else tokens * rate for _, _, (tokens, usd) in every]
    probabilities = inclusion(known, wanted)
    by_source: tuple[dict[int, float], ...] = tuple({} for _ in sources)
    for unit in draw(probabilities, seed):
        number, at, _ = every[unit]
        by_source[number][at] = float(probabilities[unit])
    about = Sample(
        wanted, seed, METHOD, "keep-all's dollars" if dollars else "keep-all's tokens", len(every), len(usd),
        sum(one.info.calls for one in sources), tokens, round(sum(usd), 10) if usd else None,
    )  # fmt: skip
    return Plan(by_source, about)


def inclusion(sizes: Sequence[float], wanted: int) -> npt.NDArray[np.float64]:
    """Return each unit's probability of being among `wanted` units, proportional to its size, at most 1.

    Small units count as LEAST of the mean size: else a few that are hardly ever drawn would stand for most others.
    """
    known = np.asarray(sizes, dtype=float)
    known = np.maximum(known, LEAST * known.mean() if known.any() else 1.0)
    found = np.ones(len(known))
    rest = np.ones(len(known), dtype=bool)
    while rest.any() and wanted < len(known):
        share = (wanted - (~rest).sum()) * known / known[rest].sum()
        certain = rest & (share >= 1 - 1e-12)
        if not certain.any():
            found[rest] = share[rest]
            break
        rest &= ~certain
    return found


def draw(probabilities: npt.NDArray[np.float64], seed: int) -> list[int]:
    """Return the indices of the drawn units, in order. Their number is the sum of the probabilities."""
    dice = np.random.default_rng(seed)
    certain = probabilities >= 1
    order = dice.permutation(np.flatnonzero(~certain))
    return sorted([*np.flatnonzero(certain).tolist(), *order[steps(probabilities[order], dice.random())].tolist()])


def steps(probabilities: npt.NDArray[np.float64], start: float) -> npt.NDArray[np.int64]:
    """Return which units lie under `start`, `start` + 1, ... when their probabilities are laid end to end."""
    ends = np.cumsum(probabilities)
    many = round(float(ends[-1])) if len(ends) else 0
    if many:
        ends *= many / ends[-1]
    return np.asarray(np.minimum(np.searchsorted(ends, start + np.arange(many), side="right"), len(ends) - 1))
