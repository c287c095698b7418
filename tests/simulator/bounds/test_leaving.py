"""When results may leave: after the last call that needs them, and where that saves anything."""

from __future__ import annotations

import pytest
from samples import RESULT, conversation

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.simulator.bounds.lossless import Dead, leaving

COUNTER = Counter(open_tokenizer())
MADE = conversation(RESULT, "", RESULT)
"""Four calls; the results stand at 2, 4 and 6, and calls 2, 3 and 4 are the first to send them."""
SIZE = COUNTER.item(MADE.items[2])


@pytest.mark.parametrize(("needed", "stub", "left"), [
    ({}, 0, [Dead(2, SIZE, 3)]), ({2: 1}, 0, [Dead(2, SIZE, 3)]), ({2: 3}, 0, [Dead(2, SIZE, 4)]), ({2: 4}, 0, []),
    ({}, 7, [Dead(2, SIZE - 7, 3)]), ({}, SIZE - 1, [Dead(2, 1, 3)]), ({}, SIZE, []),
])  # fmt: skip
def test_a_result_leaves_at_the_call_after_it_was_needed_or_sent(
    needed: dict[int, int], stub: int, left: list[Dead]
) -> None:
    assert leaving(MADE, COUNTER, needed, stub) == left
