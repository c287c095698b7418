"""The cost of a recorded compaction, and after how many calls it has paid for itself. Dollars are modelled."""

from collections.abc import Sequence
from typing import NamedTuple

from ctxsim.answers.compactions.repeated_calls import Asked
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import rate_at


class Paid(NamedTuple):
    """Dollars of the summary request and of the broken cache, and the calls until savings have paid for both."""

    summary_usd: float
    cache_usd: float
    calls: float | None


def paid(provider: Provider, before: int, after: int, summary: int, rewritten: int) -> Paid | None:
    """Return the cost of a compaction of a request from `before` to `after` tokens; None without prices.

    The summary request reads `before` tokens from the cache and outputs `summary` tokens. The next request writes
    `rewritten` tokens that it would have read. Each later call saves reading what was removed. The same rule as
    `measure.columns.payback_calls`.
    """
    if provider.prices is None:
        return None
    read, write = provider.read_and_write_usd(before)
    asked = before * read + summary * rate_at(provider.prices.output, before) / 1e6
    broken = rewritten * (write - read)
    saved = (before - after) * read
    return Paid(round(asked, 6), round(broken, 6), round((asked + broken) / saved, 2) if saved > 0 else None)


def asked_again_usd(provider: Provider, prompt: int, again: Sequence[Asked]) -> float | None:
    """Return the dollars of repeated tool calls as output tokens, and of results as new input; None without prices."""
    if provider.prices is None:
        return None
    calls, results = sum(one.tokens_call for one in again), sum(one.tokens_result for one in again)
    _, write = provider.read_and_write_usd(prompt)
    return round(calls * rate_at(provider.prices.output, prompt) / 1e6 + results * write, 6)
