"""Raw material: invented people, firms and sentences. Nobody in it exists."""

import random
import tomllib
from base64 import b64encode
from pathlib import Path

_LISTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
FIRST, LAST, FIRMS, CITIES, SKILLS, TITLES, NOUNS, VERBS, LAYERS, _SUBJECTS, _VERBS, _OBJECTS, _TAILS = map(
    tuple, _LISTS.values()
)


def sentence(rng: random.Random) -> str:
    """One plain sentence."""
    return f"{rng.choice(_SUBJECTS)} {rng.choice(_VERBS)} {rng.choice(_OBJECTS)}, {rng.choice(_TAILS)}."


def prose(rng: random.Random, words: int) -> list[str]:
    """At least so many words of plain sentences."""
    found: list[str] = []
    while len(found) < words:
        found += sentence(rng).split(" ")
    return found


def person(rng: random.Random) -> tuple[str, str]:
    """A name and the local part of an address."""
    first, last = rng.choice(FIRST), rng.choice(LAST)
    return f"{first} {last}", f"{first}.{last}".lower()


def host(firm: str) -> str:
    """An address nobody has: reserved top-level domain."""
    return f"{firm.lower().replace(' ', '')}.example"


def digits(rng: random.Random, n: int) -> str:
    """A number of n digits that doesn't start with 0."""
    return str(rng.randrange(10 ** (n - 1), 10**n))


def hexadecimal(rng: random.Random, n: int) -> str:
    """n hexadecimal digits with at least one letter and one digit."""
    while True:
        text = f"{rng.getrandbits(4 * n):0{n}x}"
        if not text.isdigit() and not text.isalpha():
            return text


def base64_blob(rng: random.Random, n_bytes: int) -> str:
    """What an inline image looks like."""
    return b64encode(rng.randbytes(n_bytes)).decode()


def picked(rng: random.Random, options: tuple[str, ...], n: int) -> list[str]:
    """n different options, in random order."""
    left = list(options)
    return [left.pop(rng.randrange(len(left))) for _ in range(n)]
