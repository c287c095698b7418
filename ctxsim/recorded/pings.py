"""Pings: the last request sent again, for one token of output, before the cache forgets it.

Nobody who pings knows when the next request comes. So a pause is pinged until that has cost what it can save: writing
the request once more instead of reading it. Then whoever pings gives up (the rule of renting skis: never more than
twice what a prophet would pay).
"""

from __future__ import annotations

import math
from itertools import pairwise

import msgspec

from ctxsim.simulator.ledger.cache import open_cache
from ctxsim.simulator.measure import Basis
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import Prices, Split, cost_of
from ctxsim.simulator.provider.vendor import load_vendor
from ctxsim.transcript import Transcript

EARLY = 0.9
"""When a ping is sent: after this share of the cache's lifetime."""


class Pinged(msgspec.Struct, frozen=True):
    """A transcript whose pauses are as short as its cache sees them, and how many pings that takes for how much."""

    transcript: Transcript
    pings: int
    usd: float


def pinged(basis: Basis) -> Pinged | None:
    """Return a recorded transcript with pings in its pauses; None where none is worth one, or times aren't recorded.

    After the last call none is sent. Recorded misses stay.
    """
    provider, calls = basis.provider, basis.transcript.calls
    times = [call.time_s for call in calls if call.time_s is not None]
    prices = provider.prices
    every_s = EARLY * load_vendor(provider.cache).cache.lifetime(provider.model, provider.long_cache)
    # Where prices go by the hour, a shorter pause would be another bill.
    if not every_s or prices is None or prices.hours or len(times) < len(calls):
        return None
    pings, usd, cut_s, moved = 0, 0.0, 0.0, times[:1]
    of = basis.keep_all.calls
    billed = map(Split, of["tokens_cache_read"], of["tokens_cache_write"], of["tokens_uncached"])
    for (before, after), split in zip(pairwise(times), billed, strict=False):
        price, most = _worth(split, provider, prices, basis)
        count = max(0, min(most, math.ceil((after - before) / every_s) - 1))
        pings, usd, cut_s = pings + count, usd + count * price, cut_s + count * every_s
        moved.append(after - cut_s)
    if not pings:
        return None
    shorter = tuple(msgspec.structs.replace(call, time_s=time) for call, time in zip(calls, moved, strict=True))
    return Pinged(msgspec.structs.replace(basis.transcript, calls=shorter), pings, usd)


def _worth(split: Split, provider: Provider, prices: Prices, basis: Basis) -> tuple[float, int]:
    """Dollars of one ping after a call, and how many of them cost no more than they can save."""
    rule = load_vendor(provider.cache).cache
    lifetime_s = rule.lifetime(provider.model, provider.long_cache)
    cache = open_cache(rule, provider.model, provider.breakpoints, lifetime_s, basis.ledger.frames.shared)
    total = split.read + split.write + split.uncached
    held = cache.holds(split, total)
    held -= held % cache.step
    if not held:
        return 0.0, 0
    writes = rule.kind == "breakpoints" or rule.paid_writes
    ping = cost_of(prices, Split(held, 0, total - held), 1, provider.long_cache).total
    anew = Split(0, held, total - held) if writes else Split(0, 0, total)
    again = cost_of(prices, anew, 1, provider.long_cache).total
    return ping, int((again - ping) / ping) if ping else 0
