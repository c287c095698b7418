"""Whether a request holds a given answer. An answer that is present may or may not be recalled."""

from __future__ import annotations

from collections.abc import Iterable

from ctxsim.simulator.references import identifiers
from ctxsim.simulator.references.canonical import canonical, content, fold
from ctxsim.transcript import Item


class Holds:
    """The texts of one request, to be searched for many answers. Reasoning is left out, as it isn't sent."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._texts = [fold(content(item)) for item in items if item.kind != "reasoning"]
        self._tokens = set().union(*map(identifiers.tokens, self._texts))

    def __contains__(self, answer: str) -> bool:
        """Return whether an item holds a whole answer: one token as a token, other text with no letter next to it."""
        wanted = canonical(answer).strip()
        if identifiers.tokens(wanted) == {wanted}:
            return wanted in self._tokens
        return bool(wanted) and any(_stands_in(text, wanted) for text in self._texts)


def _stands_in(text: str, wanted: str) -> bool:
    """Return whether a text holds the words with no letter or digit directly next to one of theirs."""
    at = text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not _one_word(text[at - 1 : at], wanted[0]) and not _one_word(wanted[-1], text[end : end + 1]):
            return True
        at = text.find(wanted, at + 1)
    return False


def _one_word(left: str, right: str) -> bool:
    return all(character.isalnum() or character == "_" for character in (left, right))
