"""What a compaction costs and saves by the closed forms of caching: what the bill of a replay is tested against.

Prices are per token: `read` and `write` of the prompt cache, `input` without it. Source of the forms: Anthropic's cost
guide (when deletion pays).
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
