"""Continue's terminal agent, by hand."""

from __future__ import annotations

import pytest
from by_hand import SUMMARY, Driven


@pytest.mark.parametrize(
    ("texts", "asked"),
    # By the character: from 720 on; the summariser has room for 900.
    [((500, 219), None), ((500, 220), 2), ((500, 400), 2), ((500, 401), 1), ((901, 1), 0)],
)
def test_from_its_threshold_on_the_oldest_messages_that_fit_are_shown(
    texts: tuple[int, int], asked: int | None
) -> None:
    driven = Driven("continue-cli:max_tokens=100,estimator=chars:ratio=1", 1_000)
    driven.user("a" * texts[0])
    driven.says("b" * texts[1])
    assert driven.threshold == 720
    assert (driven.sent() == [SUMMARY]) is (asked is not None)
    assert [len(items) for items in driven.asked] == ([] if asked is None else [asked])
