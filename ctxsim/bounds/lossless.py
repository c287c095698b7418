"""The lossless oracle's plan: when each result leaves, for the least tokens or the least dollars."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from ctxsim.bounds.schedule import Dead, Prices, best_times
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
    dead = leaving(transcript, counter, counter.text(stub))(references.last_needed())
    times = {item.position: item.dies for item in dead}
    if aim == "dollars" and provider.prices is not None and provider.cache != "none":
        times.update(best_times(dead, cache_prices(transcript, provider, counter)).times)
    return times


def leaving(
    transcript: Transcript, counter: Counter, stub_tokens: int = 0
) -> Callable[[Mapping[int, int]], list[Dead]]:
    """Return the way from the last call that needs each result to the results that may leave, and when.

    No result leaves before it was sent.
    """
    calls, sent = len(transcript.calls), first_sent(transcript)
    sizes = [
        (item.place, counter.item(item) - stub_tokens, sent[item.place])
        for item in transcript.items
        if item.kind == "tool_result" and not item.media
    ]

    def of(needed: Mapping[int, int]) -> list[Dead]:
        times = ((place, saved, max(needed.get(place, 0), born) + 1) for place, saved, born in sizes)
        return [Dead(place, saved, dies) for place, saved, dies in times if saved > 0 and dies <= calls]

    return of


def cache_prices(transcript: Transcript, provider: Provider, counter: Counter) -> Prices:
    """Return what keeping and breaking costs at each call, by the prices of a request as large as the uncompacted one.

    After a pause longer than the cache's lifetime everything is written anyway: an edit there breaks nothing.
    """
    calls = transcript.calls
    rule = load_vendor(provider.cache).cache
    sizes = np.array([counter.item(item) for item in transcript.items], dtype=float)
    before = np.concatenate(([0.0], np.cumsum(sizes)))
    head = counter.head(transcript.head)
    rates = [(0.0, 0.0), *(provider.read_and_write_usd(int(head + before[call.start])) for call in calls)]
    cold = _cold_calls(transcript, provider)
    keep = np.array([write if number in cold else read for number, (read, write) in enumerate(rates)])
    break_price = [write - read for read, write in rates]
    cheaper = frozenset(n for n in range(1, len(rates)) if n in cold or break_price[n] < break_price[n - 1])
    # What an earlier request had: items that were first sent before a call.
    had = before[np.searchsorted(first_sent(transcript), np.arange(len(calls) + 1))].tolist()
    ends = before[1:].tolist()
    runs = _runs(transcript).tolist()

    def break_at(number: int, position: int, behind: float, dead: float) -> float:
        if number in cold:
            return 0.0
        # No entry is found beyond the lookback: the request is written from its first item on.
        far = rule.kind == "breakpoints" and runs[calls[number - 1].start - 1] - runs[position] > rule.lookback
        after = had[number] - (dead if far else ends[position] + behind)
        paid: float = after * break_price[number]
        return paid

    return Prices(keep, cheaper, break_at)


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
