"""Text of an exact number of tokens: prose that grows word by word inside a page until the count is right."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from ctxsim.errors import CtxsimError

_ENDINGS = (" too", " now", " then", " again", " here", " there", " so")
"""Words that most vocabularies have as one token."""


def fit(render: Callable[[str], str], words: list[str], target: int, count: Callable[[str], int]) -> str:
    """Return `render(prose)` that counts exactly `target` tokens, with as many of the words as fit.

    Raises CtxsimError if the page alone is too long or the words are too few.
    """
    low, high = 0, len(words)
    if count(render("")) > target or count(render(" ".join(words))) < target:
        raise CtxsimError(
            f"cannot synthesize {target} tokens: {count(render(''))} without prose, "
            f"{count(render(' '.join(words)))} with all of it"
        )
    while low < high:
        middle = (low + high + 1) // 2
        if count(render(" ".join(words[:middle]))) <= target:
            low = middle
        else:
            high = middle - 1
    prose = " ".join(words[:low])
    for ending in ("", *_ENDINGS, *(a + b for a, b in pairwise(_ENDINGS)), *(a + b + c for a, b, c in _triples())):
        text = render(prose + ending)
        if count(text) == target:
            return text
    raise CtxsimError(f"cannot synthesize exactly {target} tokens with this tokenizer")


def _triples() -> list[tuple[str, str, str]]:
    return list(zip(_ENDINGS, _ENDINGS[1:], _ENDINGS[2:], strict=False))
