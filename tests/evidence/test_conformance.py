"""Canaries of others, looked for by their probe and by our search: where the two differ it is named. By hand."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ctxsim.transcript import Head, Item
from evidence.conformance import Canary, Seen, again, compared, rounds


def seen(text: str, *tokens: str, old: tuple[str, ...] = ()) -> Seen:
    """What both say of tokens in one user text; the probe is the kit's rule: each token is a substring."""

    def probe(theirs: object, request: str) -> SimpleNamespace:
        return SimpleNamespace(survived=all(token in request for token in tokens))

    canary = Canary("fact", tokens, "The limit is $500.", SimpleNamespace(superseded_tokens=old))
    return compared("any", 1, canary, Head(""), [Item("user", 0, 0, text)], SimpleNamespace(probe=probe))


@pytest.mark.parametrize(
    ("text", "token", "theirs", "ours", "difference"),
    [
        ("The limit is $500.", "$500", True, True, ""),
        ("No limit.", "$500", False, False, ""),
        ("See https://db.example.com/a", "db.example.com", True, False, "host name inside its URL"),
        ("order-12345x", "12345", True, False, "inside a longer word: 12345"),
        ("THE LEDGER-7", "ledger-7", False, True, "canonical form"),
    ],
)
def test_a_difference_is_named(text: str, token: str, theirs: bool, ours: bool, difference: str) -> None:
    found = seen(text, token)
    assert (found.theirs, found.ours) == (theirs, ours)
    assert difference in found.difference if difference else not found.difference


def test_an_old_value_alone_is_stale() -> None:
    assert seen("db-71 it is", "db-72", old=("db-71",)).stale == (True, True)
    assert seen("db-71, now db-72", "db-72", old=("db-71",)).stale == (False, False)
    assert seen("db-71 it is", "db-72").stale is None


def test_each_round_acts_on_what_the_one_before_left() -> None:
    items = again([Item("user", n, n, f"text {n} of several words") for n in range(10)])
    left = [[item.text for item in found] for found in rounds(Head(""), items, "max-messages:n={messages}")]
    assert left == [[item.text for item in items][-count:] for count in (6, 3, 2)]
