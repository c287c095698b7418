"""Text of an exact number of tokens: prose that grows word by word inside a page until the count is right."""

from collections.abc import Callable

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
    for shorter in range(min(4, low + 1)):
        prose = " ".join(words[: low - shorter])
        for ending in _endings():
            text = render(prose + ending)
            if count(text) == target:
                return text
    raise CtxsimError(f"cannot synthesize exactly {target} tokens with this tokenizer")


def _endings() -> list[str]:
    """Nothing, then one to four words in turn."""
    runs = [_ENDINGS[start : start + n] for n in range(1, 5) for start in range(len(_ENDINGS) - n + 1)]
    return ["", *("".join(run) for run in runs)]
