"""Raw material: invented people, firms and sentences, none of them real; and text of an exact number of tokens."""

import random
import tomllib
from base64 import b64encode
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path

from ctxsim.errors import CtxsimError

_LISTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
FIRST, LAST, FIRMS, CITIES, SKILLS, TITLES, NOUNS, VERBS, LAYERS, _SUBJECTS, _VERBS, _OBJECTS, _TAILS = map(
    tuple, _LISTS.values()
)


def sentence(rng: random.Random) -> str:
    """Return one plain sentence."""
    return f"{rng.choice(_SUBJECTS)} {rng.choice(_VERBS)} {rng.choice(_OBJECTS)}, {rng.choice(_TAILS)}."


def prose(rng: random.Random, words: int) -> list[str]:
    """Return the words of plain sentences, at least `words` of them."""
    found: list[str] = []
    while len(found) < words:
        found += sentence(rng).split(" ")
    return found


def person(rng: random.Random) -> tuple[str, str]:
    """Return a name and the local part of an e-mail address."""
    first, last = rng.choice(FIRST), rng.choice(LAST)
    return f"{first} {last}", f"{first}.{last}".lower()


def host(firm: str) -> str:
    """Return a host name in the reserved top-level domain `.example`."""
    return f"{firm.lower().replace(' ', '')}.example"


def digits(rng: random.Random, n: int) -> str:
    """Return a number of n digits that doesn't start with 0."""
    return str(rng.randrange(10 ** (n - 1), 10**n))


def hexadecimal(rng: random.Random, n: int) -> str:
    """Return n hexadecimal digits with at least one letter and one digit."""
    while True:
        text = f"{rng.getrandbits(4 * n):0{n}x}"
        if not text.isdigit() and not text.isalpha():
            return text


def base64_blob(rng: random.Random, n_bytes: int) -> str:
    """Return random bytes in base64, which look like an inline image."""
    return b64encode(rng.randbytes(n_bytes)).decode()


def picked(rng: random.Random, options: tuple[str, ...], n: int) -> list[str]:
    """Return n different options, in random order."""
    left = list(options)
    return [left.pop(rng.randrange(len(left))) for _ in range(n)]


_SHORT = (" too", " now", " then", " again", " here", " there", " so")
"""Words that most vocabularies have as one token."""

_ENDINGS = ("", *("".join(_SHORT[at : at + n]) for n in range(1, 5) for at in range(len(_SHORT) - n + 1)))
"""Nothing, and all runs of one to four neighbouring words of _SHORT, the shortest first."""


def fit(render: Callable[[str], str], words: list[str], target: int, count: Callable[[str], int]) -> str:
    """Return a `render(prose)` of exactly `target` tokens, with as many of the words as fit.

    Raises CtxsimError if the page alone is too long, the words are too few, or no ending gives exactly `target`.
    """
    least, most = count(render("")), count(render(" ".join(words)))
    if not least <= target <= most:
        raise CtxsimError(f"cannot synthesize {target} tokens: {least} without prose, {most} with all of it")
    fitting = bisect_right(range(1, len(words) + 1), target, key=lambda n: count(render(" ".join(words[:n]))))
    for shorter in range(min(4, fitting + 1)):
        prose = " ".join(words[: fitting - shorter])
        for ending in _ENDINGS:
            text = render(prose + ending)
            if count(text) == target:
                return text
    raise CtxsimError(f"cannot synthesize exactly {target} tokens with this tokenizer")
