"""Beside another kit's probes: rounds act on what the round before left, and each difference has its name."""

from __future__ import annotations

import pytest

from ctxsim.transcript import Head, Item
from evidence.conformance import Canary, difference, rounds


def test_each_round_acts_on_what_the_round_before_left() -> None:
    items = tuple(Item("user" if n % 2 == 0 else "assistant", n, n, f"text {n}") for n in range(10))
    # Of 10 messages 6 stay, of those 3, and of those 2: .6 of each, rounded down, and never fewer than two.
    left = list(rounds(Head("go"), items, "max-messages:n={messages}"))
    assert [[one.text for one in view] for view in left] == [
        [f"text {n}" for n in range(first, 10)] for first in (4, 7, 8)
    ]


@pytest.mark.parametrize(
    ("theirs", "ours", "token", "text", "said"),
    [
        (True, True, "x1", "x1", ""),
        (True, False, "a.internal", "see https://a.internal/v2", "host name inside its URL"),
        (True, False, "harm", "harmless", "inside a longer word: harm"),
        (True, False, "one two", "one", "across two texts"),
        (False, True, "é", "e\u0301", "canonical form only"),
    ],
)
def test_a_difference_has_its_name(theirs: bool, ours: bool, token: str, text: str, said: str) -> None:
    found = difference(theirs, ours, Canary("fact", (token,), text, None), [text])
    assert said in found and bool(said) == bool(found)
