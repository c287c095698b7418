"""What a compaction costs and saves, in one replay. Prices are per token."""

from __future__ import annotations

from itertools import pairwise
from statistics import median

from ctxsim.simulator.measure.columns import Columns
from ctxsim.simulator.provider import Provider
from ctxsim.transcript import Transcript


def payback_calls(of: Columns, provider: Provider) -> float | None:
    """Return the median, over a replay's compactions, of one-time cost / saving per later call.

    One-time: the summary, and what the next request writes again instead of reading it. Saving: the removed tokens at
    the price of reading them, or of input where nothing is cached. None without prices or without such a compaction.
    """
    prices = provider.prices
    if prices is None:
        return None
    found = []
    rewritten_at = (*of["tokens_rewritten"], 0)
    for at, (compactions, removed) in enumerate(zip(of["compactions"], of["tokens_removed"], strict=True)):
        if not compactions or removed <= 0:
            continue
        read, write = provider.read_and_write_usd(of["tokens_sent"][at])
        rewritten = rewritten_at[at] or rewritten_at[at + 1]
        once = (of["cost_summary_usd"][at] or 0.0) + rewritten * (write - read)
        found.append(once / (removed * read))
    return round(median(found), 3) if found else None


def cost_interval(of: Columns, transcript: Transcript, provider: Provider) -> tuple[float, float] | None:
    """Return the lowest and highest dollars of a replay if the vendor's cache misses as often as on recordings.

    None without prices, or where no rate of misses was measured. Where the recording says what was read, its misses are
    in the bill already, and both are that bill. The ends of all calls add up: as if one cause made all of them miss.
    """
    if provider.prices is None:
        return None
    paid = sum(usd or 0.0 for usd in of["cost_usd"])
    if any(call.usage and call.usage.cache_read_tokens is not None for call in transcript.calls):
        return round(paid, 10), round(paid, 10)
    from ctxsim.simulator.provider.misses import expected_loss

    low = high = paid
    measured = False
    for number, (last, this) in enumerate(pairwise(transcript.calls), 1):
        timed = this.time_s is not None and last.time_s is not None
        gap_s = (this.time_s or 0.0) - (last.time_s or 0.0) if timed else provider.pace_s
        loss = expected_loss(provider.cache, max(0.0, gap_s))
        if loss is None:
            continue
        measured = True
        read, write = provider.read_and_write_usd(of["tokens_sent"][number])
        billed = of["tokens_missed"][number]
        readable = of["tokens_cache_read"][number] + billed
        low += (readable * loss.low - billed) * (write - read)
        high += (readable * loss.high - billed) * (write - read)
    return (round(low, 10), round(high, 10)) if measured or provider.cache == "none" else None
