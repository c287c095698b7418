"""The closed loop on recordings: `python -m evidence.refetch PATH`; docs/refetch.md has the table of the set `gemini`.

Prints what fetching again adds by policy, with and without a cache; how far draws at rates between 0 and 1 are off the
line between the ends; in how many transcripts the cheapest policy differs between the ends; and what the loop costs.
"""

from __future__ import annotations

import sys
from random import Random
from time import process_time
from typing import NamedTuple

import numpy as np

from ctxsim.policies import open_policy
from ctxsim.readers import read
from ctxsim.simulator.measure.columns import total
from ctxsim.simulator.measure.measured import Basis, measure
from ctxsim.simulator.measure.refetch import refetched
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import Prices

PRICES = Prices(input=0.30, output=2.50, cache_read=0.075)
"""Gemini 2.5 Flash, dollars for a million tokens."""

POLICIES = ("mask:keep=10", "mask:keep=2", "round-summary", "fifo:budget=8000")
RATES = (0.25, 0.5)
EVERY = 8
"""One in so many transcripts is also drawn at the rates between."""


class Seen(NamedTuple):
    """One transcript under one policy: dollars of keep-all and at both ends, its calls, and the calls inserted."""

    keep_all: float
    nothing: float
    all: float
    calls: int
    inserted: int


def main(path: str) -> None:
    """Print the tables."""
    seen: dict[tuple[str, str], list[Seen]] = {}
    between: dict[float, list[float]] = {rate: [] for rate in RATES}
    seconds = [0.0, 0.0]
    for number, transcript in enumerate(read(path)):
        for cache in ("none", "google"):
            provider = Provider(prices=PRICES, cache=cache, window=10_000_000, vendor="google")
            basis = Basis(transcript, provider, provider.counter())
            base = total(basis.keep_all.calls["cost_usd"]) or 0.0
            for label in POLICIES:
                spec = open_policy(label)
                times = [process_time()]
                plain = total(measure(basis, spec).calls["cost_usd"]) or 0.0
                times.append(process_time())
                again = refetched(basis, spec)
                times.append(process_time())
                seconds = [before + took for before, took in zip(seconds, np.diff(times), strict=True)]
                usd = again.cost_usd or 0.0
                seen.setdefault((label, cache), []).append(Seen(base, plain, usd, len(transcript.calls), again.calls))
                for rate in RATES if number % EVERY == 0 else ():
                    drawn = [refetched(basis, spec, (rate, Random(seed))).cost_usd or 0.0 for seed in range(5)]
                    between[rate].append((np.mean(drawn) - (plain + rate * (usd - plain))) / base)
    print("policy            cache   calls   bill of all runs to keep-all's, nothing and all fetched again")
    for (label, cache), found in seen.items():
        calls = np.mean([(one.calls + one.inserted) / one.calls for one in found])
        base, low, high = np.sum([one[:3] for one in found], axis=0)
        print(f"{label:17} {cache:7} {calls:.3f}   {low / base:.3f} -> {high / base:.3f}")
    for cache in ("none", "google"):
        ends = np.array([[(one.nothing, one.all) for one in seen[label, cache]] for label in POLICIES])
        differ = np.mean(ends[:, :, 0].argmin(axis=0) != ends[:, :, 1].argmin(axis=0))
        print(f"cheapest policy differs between the ends, cache {cache}: {differ:.0%} of {ends.shape[1]} transcripts")
    for rate, off in between.items():
        print(
            f"rate {rate}: all together {np.mean(off):+.4f}; draws off the line by {np.mean(np.abs(off)):.4f} on average, at most {np.max(np.abs(off)):.4f} of keep-all's bill"
        )
    print(f"CPU of the loop at rate 1 beside a measured replay at 0: {seconds[1] / seconds[0]:.2f}")


if __name__ == "__main__":
    main(sys.argv[1])
