"""Continue's terminal agent, by hand."""

from __future__ import annotations

import pytest
from by_hand import SUMMARY, Driven


def test_the_threshold_is_upstreams() -> None:
    # 200,000 - 64,000 = 136,000 for the input; of that the least of 64,000 and 15,000 stays free.
    assert Driven("continue-cli", 200_000).threshold == 121_000
    # 40,000 - 14,000 = 26,000; the larger of 14,000 and 5,200 is under 15,000.
    assert Driven("continue-cli", 40_000).threshold == 12_000
    # 100,000 - 1,000 = 99,000; a fifth of it is 19,800, over 15,000.
    assert Driven("continue-cli:max_tokens=1000", 100_000).threshold == 84_000


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


def test_a_shells_output_keeps_its_end() -> None:
    driven = Driven("continue-cli:bash_max_output_chars=10", 200_000)
    driven.user("The task.")
    shell, read = driven.calls("x" * 20 + "end"), driven.calls("x" * 20, tool="read_file")
    assert driven.text(shell[0]) == "(previous 13 characters truncated)\n\nxxxxxxxend"
    assert driven.text(read[0]) == "x" * 20
