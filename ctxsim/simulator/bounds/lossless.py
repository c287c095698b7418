"""When each result leaves to save tokens or dollars: the lossless oracle's plan, schedules near a frontier."""

from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.simulator.bounds.frontier import Frontier, cheapest_usd, least_usd
from ctxsim.simulator.bounds.schedule import Dead, KeepOrBreak, best_times
from ctxsim.simulator.ledger import Ledger
from ctxsim.simulator.provider.vendor import load_vendor
from ctxsim.simulator.references.finding import first_sent
from ctxsim.simulator.references.needs import References
from ctxsim.transcript import Transcript


def plan(ledger: Ledger, references: References, aim: Literal["tokens", "dollars"], stub: str) -> dict[int, int]:
    """Return, by place of a result, the first call, from 1, that is sent a stub instead of it.

    For tokens, that is the call after the last one that needs the result. For dollars, the cheapest of that schedule,
    no clearing and the best times by cache prices, each billed by the provider. Without a cache or prices both aims
    give the same plan. Other policies of a chain aren't considered.
    """
    transcript, provider, counter = ledger.transcript, ledger.provider, ledger.counter
    dead = leaving(transcript, counter, references.last_needed(), counter.text(stub))
    at_once = {item.position: item.dies for item in dead}
    if aim == "tokens" or provider.prices is None or provider.cache == "none" or not dead:
        return at_once
    at_best = best_times(dead, cache_prices(ledger)).times
    return min({}, at_once, at_best, key=lambda times: sum(ledger.usd_if_cleared(times, stub)))


def leaving(transcript: Transcript, counter: Counter, needed: Mapping[int, int], stub_tokens: int = 0) -> list[Dead]:
    """Return the results that may leave, and when, given the last call that needs each result.

    No result leaves before it was sent once.
    """
    sent = first_sent(transcript)
    dead = (
        Dead(item.place, counter.item(item) - stub_tokens, max(needed.get(item.place, 0), sent[item.place]) + 1)
        for item in transcript.items
        if item.kind == "tool_result" and not item.media
    )
    return [item for item in dead if item.saved > 0 and item.dies <= len(transcript.calls)]


def cache_prices(ledger: Ledger) -> KeepOrBreak:
    """Return the costs of keeping and breaking at each call, by the requests without any clearing.

    An edit breaks what such a request could read behind it: nothing after a pause, below the cache's minimum, or behind
    thinking that has just left.
    """
    transcript, provider, counter, kept = ledger.transcript, ledger.provider, ledger.counter, ledger.kept
    calls = transcript.calls
    rule = load_vendor(provider.cache).cache
    stays = provider.reasoning == "all"
    sizes = [counter.item(item) if stays or item.kind != "reasoning" else 0 for item in transcript.items]
    before = np.concatenate(([0.0], np.cumsum(sizes, dtype=float)))
    called = zip(calls, kept, strict=True)
    rates = [(0.0, 0.0), *(provider.of(call).read_and_write_usd(step.split.total) for call, step in called)]
    readable = [0.0, *before[[step.unread for step in kept]].tolist()]
    sent = [0.0, 0.0, *before[[call.start for call in calls]].tolist()]
    cold = [readable[number] * 2 <= sent[number] for number in range(len(rates))]
    keep = np.array([write if is_cold else read for is_cold, (read, write) in zip(cold, rates, strict=True)])
    break_price = [write - read for read, write in rates]
    cheaper = frozenset(
        n for n in range(1, len(rates)) if readable[n] < readable[n - 1] or break_price[n] < break_price[n - 1]
    )
    runs = _runs(transcript)
    reach = [0.0] * len(rates)
    if rule.kind == "breakpoints":
        # No entry is found beyond the lookback: the request is written from its first item on.
        last = np.concatenate(([0], runs))[[call.start for call in calls]]
        reach[1:] = (last - float(rule.lookback)).tolist()
    return KeepOrBreak(keep, cheaper, break_price, readable, reach, before[1:].tolist(), runs.tolist())


def _runs(transcript: Transcript) -> npt.NDArray[np.int64]:
    """Number the items so that neighbouring calls, or results, of one run share a number."""
    kinds = ["", *(item.kind for item in transcript.items)]
    return np.cumsum([int(a != b or not b.startswith("tool")) for a, b in pairwise(kinds)], dtype=np.int64)


def scheduled(ledger: Ledger, frontier: Frontier) -> Callable[[float], float | None]:
    """Return a callback for the USD of schedules near a `results` frontier, by survival, output included; None if
    prices are unknown. Each result is sent once or more, so cutting one on arrival can cost less.
    """
    transcript, provider, counter = ledger.transcript, ledger.provider, ledger.counter
    prices = cache_prices(ledger) if provider.prices is not None and provider.cache != "none" else None
    once, again = least_usd(ledger), cheapest_usd(provider)[1]
    sent = first_sent(transcript)
    results = (item for item in transcript.items if item.kind == "tool_result")
    sizes = {item.place: counter.item(item) for item in results if sent[item.place] <= len(transcript.calls)}

    # Neighbouring levels often keep the same.
    @cache
    def results_usd(kept: tuple[tuple[int, int], ...]) -> float:
        last = dict(kept)
        usd = sum(
            once(sent[place], tokens) + tokens * again * max(0, last.get(place, 0) - sent[place])
            for place, tokens in sizes.items()
        )
        return usd if prices is None else usd + best_times(leaving(transcript, counter, last), prices).cost

    def usd(survival: float) -> float | None:
        dialogue = frontier.cost_usd(0.0)
        return None if dialogue is None else dialogue + results_usd(tuple(sorted(frontier.kept(survival).items())))

    return usd
