"""What a compaction costs and saves by the closed forms of caching: what the bill of a replay is tested against.

Prices are per token: `read` and `write` of the prompt cache, `input` without it. Source of the forms: Anthropic's cost
guide (when deletion pays), and the batch size as an economic order quantity.
"""

from __future__ import annotations

import math


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
