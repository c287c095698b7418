"""The lossless oracle's plan: when each result leaves, for the least tokens or the least dollars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from ctxsim.bounds.schedule import Dead, Floats, Prices, best_times
from ctxsim.provider import Provider
from ctxsim.provider.vendor import load_vendor
from ctxsim.references import References, first_sent
from ctxsim.tokenizers.counter import Counter
from ctxsim.transcript import Transcript

Aim = Literal["tokens", "dollars"]


def plan(
    transcript: Transcript, references: References, provider: Provider, counter: Counter, aim: Aim, stub: str
) -> dict[int, int]:
    """Return the first call, from 1, that is sent a stub instead of the result of each place.

    For tokens, that is the call after a result's last reader; for dollars, the best call from there on under the
    provider's cache prices, which for a provider without cache or prices is the same.
    """
    dead = leaving(transcript, counter, references.last_needed(), counter.text(stub))
    times = {item.position: item.dies for item in dead}
    if aim == "dollars" and provider.prices is not None and provider.cache != "none":
        times.update(best_times(dead, cache_prices(transcript, provider, counter, dead)))
    return times


def leaving(transcript: Transcript, counter: Counter, needed: Mapping[int, int], stub_tokens: int = 0) -> list[Dead]:
    """Return the results that may leave, given the last call that needs each; no result leaves before it was sent."""
    sent = first_sent(transcript)
    found = [
        Dead(item.place, counter.item(item) - stub_tokens, max(needed.get(item.place, 0), sent[item.place]) + 1)
        for item in transcript.items
        if item.kind == "tool_result" and not item.media
    ]
    return [item for item in found if item.saved > 0 and item.dies <= len(transcript.calls)]


def cache_prices(transcript: Transcript, provider: Provider, counter: Counter, dead: Sequence[Dead]) -> Prices:
    """Return what keeping and breaking costs at each call, by the prices of a request as large as the uncompacted one.

    After a pause longer than the cache's lifetime everything is written anyway: an edit there breaks nothing.
    """
    calls = transcript.calls
    rule = load_vendor(provider.cache).cache
    sizes = np.array([counter.item(item) for item in transcript.items], dtype=float)
    before = counter.head(transcript.head) + np.concatenate(([0.0], np.cumsum(sizes)))
    rates = [(0.0, 0.0), *(provider.read_and_write_usd(int(before[call.start])) for call in calls)]
    cold = _cold_calls(transcript, provider)
    keep = np.array([write if number in cold else read for number, (read, write) in enumerate(rates)])
    born = np.array(first_sent(transcript))
    dies = np.full(len(sizes), len(calls) + 2)
    stubs = sizes.copy()
    for item in dead:
        dies[item.position] = item.dies
        stubs[item.position] -= item.saved
    runs = _runs(transcript)

    def break_from(number: int) -> Floats:
        if number in cold:
            return np.zeros(len(sizes))
        # What earlier requests had cached, without what is dead.
        live = np.where(born < number, np.where(dies <= number, stubs, sizes), 0.0)
        after = np.cumsum(live[::-1])[::-1] - live
        if rule.kind == "breakpoints":
            # No entry is found beyond the lookback: the request is written from its first item on.
            after = np.where(runs[calls[number - 1].start - 1] - runs > rule.lookback, live.sum(), after)
        read, write = rates[number]
        return after * (write - read)

    return Prices(keep, break_from)


def _cold_calls(transcript: Transcript, provider: Provider) -> set[int]:
    """The calls, from 1, that find no cache: the first, and each after a pause longer than its lifetime."""
    rule = load_vendor(provider.cache).cache
    lifetime_s = rule.long_lifetime_s if provider.long_cache and rule.long_lifetime_s else rule.lifetime_s
    cold = {1}
    for number, (last, this) in enumerate(pairwise(transcript.calls), 2):
        timed = this.time_s is not None and last.time_s is not None
        pause_s = this.time_s - last.time_s if timed else provider.pace_s  # type: ignore[operator]
        if pause_s > lifetime_s:
            cold.add(number)
    return cold


def _runs(transcript: Transcript) -> npt.NDArray[np.int64]:
    """Number the items so that neighbouring calls, or results, of one run share a number."""
    kinds = ["", *(item.kind for item in transcript.items)]
    return np.cumsum([int(a != b or not b.startswith("tool")) for a, b in pairwise(kinds)], dtype=np.int64)
