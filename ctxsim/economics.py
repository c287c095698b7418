"""What a compaction costs and saves: the closed forms of caching, and the same figures for one replay.

Prices are per token: `read` and `write` of the prompt cache, `input` without it. Source of the forms: Anthropic's cost
guide (when deletion pays), and the batch size as an economic order quantity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from ctxsim.provider import Provider
from ctxsim.provider.prices import rate_at
from ctxsim.rows import CallRow


def deletion_pays(deleted: float, calls_left: float, tokens_after: float, read: float, write: float) -> bool:
    """Whether deleting `deleted` tokens that stand before `tokens_after` others pays over the calls that follow.

    Each of `calls_left` calls saves deleted * read; the first has to write what stood after instead of reading it.
    """
    return deleted * calls_left * read > tokens_after * (write - read)


def reads_until_caching_pays(read: float, write: float, input: float = 1.0) -> int:
    """Return the reads after which one write and those reads cost less than sending the same uncached."""
    return math.floor((write - input) / (input - read)) + 1


def best_batch(growth: float, other: float, protected: float, read: float, write: float, cold: float = 0.0) -> float:
    """Return how many prunable tokens should gather before they are cleared at once.

    `growth` prunable and `other` further tokens come per call, `protected` tokens stand after the cleared ones,
    `cold` is the chance that the cache is cold anyway. Rewriting costs once per batch, keeping costs per call: the
    square root of economic order quantities.
    """
    keeping = read * (1 - cold) + write * cold
    rewriting = (write - read) * (1 - cold)
    return math.sqrt(2 * rewriting * protected * (growth + other) / keeping)


def payback_calls(rows: Sequence[CallRow], provider: Provider) -> float | None:
    """Return the median, over a replay's compactions, of one-time cost / saving per later call.

    One-time: the summary, and what the next request writes again instead of reading it. Saving: the removed tokens at
    the price of reading them, or of input where nothing is cached. None without prices or without such a compaction.
    """
    prices = provider.prices
    if prices is None:
        return None
    found = []
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        if not row.compactions or row.tokens_removed <= 0:
            continue
        read, write = provider.read_and_write_usd(row.tokens_sent)
        rewritten = row.tokens_rewritten or (following.tokens_rewritten if following else 0)
        once = (row.cost_summary_usd or 0.0) + rewritten * (write - read)
        found.append(once / (row.tokens_removed * read))
    return round(median(found), 3) if found else None


def refetch_usd(provider: Provider, result_tokens: int, call_tokens: int, prompt_tokens: int) -> float:
    """Return what it costs to fetch one removed result again: one more call that reads the prompt and asks, and the
    result as new tokens of the call after it.
    """
    assert provider.prices is not None
    read, write = provider.read_and_write_usd(prompt_tokens)
    return (
        prompt_tokens * read
        + call_tokens * rate_at(provider.prices.output, prompt_tokens) / 1e6
        + result_tokens * write
    )


def break_even_refetch(saved_usd: float, refetch_all_usd: float) -> float | None:
    """Return the share of removed results that may be fetched again before the policy loses money.

    0 for a policy that saves nothing, None if nothing was removed; above 1: all may be fetched again.
    """
    if not refetch_all_usd:
        return None
    return round(max(0.0, saved_usd / refetch_all_usd), 4)
