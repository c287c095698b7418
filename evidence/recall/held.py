"""Whether a request holds a stated answer: present in it, which may or may not mean that it is recalled."""

from __future__ import annotations

from collections.abc import Iterable

from ctxsim.simulator.references import identifiers
from ctxsim.simulator.references.canonical import canonical, content, fold
from ctxsim.transcript import Item


class Holds:
    """The texts of one request, looked into for many answers; reasoning isn't sent."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._texts = [fold(content(item)) for item in items if item.kind != "reasoning"]
        self._tokens = set().union(*map(identifiers.tokens, self._texts))

    def __contains__(self, answer: str) -> bool:
        """Whether some item holds an answer whole: one token as a token, several words where nothing touches them."""
        wanted = canonical(answer).strip()
        if identifiers.tokens(wanted) == {wanted}:
            return wanted in self._tokens
        return bool(wanted) and any(_stands_in(text, wanted) for text in self._texts)


def _stands_in(text: str, wanted: str) -> bool:
    """Whether a text holds the words with no letter or digit touching theirs."""
    at = text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not _one_word(text[at - 1 : at], wanted[0]) and not _one_word(wanted[-1], text[end : end + 1]):
            return True
        at = text.find(wanted, at + 1)
    return False


def _one_word(left: str, right: str) -> bool:
    return all(character.isalnum() or character == "_" for character in (left, right))
