"""Continue's terminal agent, by hand."""

from __future__ import annotations

import pytest
from by_hand import SUMMARY, Driven

from ctxsim.policies import Surroundings, open_policy


def threshold(label: str, window: int) -> float | None:
    (policy,) = open_policy(label).create()
    policy.attach(Surroundings(window=window))
    return policy.threshold()


def test_the_threshold_is_upstreams() -> None:
    # 200,000 - 64,000 = 136,000 for the input; of that the least of 64,000 and 15,000 stays free.
    assert threshold("continue-cli", 200_000) == 121_000
    # 40,000 - 14,000 = 26,000; the larger of 14,000 and 5,200 is under 15,000.
    assert threshold("continue-cli", 40_000) == 12_000
    # 100,000 - 1,000 = 99,000; a fifth of it is 19,800, over 15,000.
    assert threshold("continue-cli:max_tokens=1000", 100_000) == 84_000


def test_everything_becomes_a_summary_whose_request_goes_without_the_end() -> None:
    # 1,000 - 100 = 900 for the input, less a buffer of 180: 720 tokens of words.
    driven = Driven("continue-cli:max_tokens=100", 1_000)
    driven.user("word " * 300)
    driven.calls("word " * 300)
    assert SUMMARY not in driven.sent()
    driven.calls("word " * 400)
    assert driven.sent() == [SUMMARY]
    assert sum(len(item.text) for item in driven.asked[0]) < 5 * 900, "the newest result doesn't fit"


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
    driven.sent()
    assert [len(items) for items in driven.asked] == ([] if asked is None else [asked])


def test_a_shells_output_keeps_its_end() -> None:
    driven = Driven("continue-cli:bash_max_output_chars=10", 200_000)
    driven.user("The task.")
    shell, read = driven.calls("x" * 20 + "end"), driven.calls("x" * 20, tool="read_file")
    assert driven.text(shell[0]) == "(previous 13 characters truncated)\n\nxxxxxxxend"
    assert driven.text(read[0]) == "x" * 20
