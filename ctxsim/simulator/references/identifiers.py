"""Strict detector: identifiers. A token counts whole or not at all.

An atom is a token, edge punctuation stripped, that is a URL, e-mail address, path with a slash, hash, number or date of
at least 4 digits, mix of letters and digits of at least 5 characters (- and _ allowed), or a dotted, snake or camel
name of at least 6. All but the names are *values*. Source of the rule: docs/references.md, definition, 2.
"""

import re
from collections.abc import Callable, Set
from functools import lru_cache
from itertools import compress, filterfalse

from ctxsim.simulator.references.canonical import fold, plain

VERSION = "strict-1"

_EDGE = "!#$%*+-./:?@^~"
_SEPARATORS = bytes(range(33)) + b"\"'`()[]{}<>,;|=&\\:\x7f"
# A colon splits `file.py:12` and `key:value` but not `https://`, whose colon is byte 1 during the split.
_TABLE = bytes.maketrans(_SEPARATORS + b"\x01", b" " * len(_SEPARATORS) + b":")

_VALUE = re.compile(
    r"""[a-z][a-z0-9+.-]*://.+                              # URL
    | [^@/]+@[^@/]+\.[a-z]{2,}                              # e-mail address
    | (?=.{5})(?=.*[^\W\d_]).*[^/]/[^/].*                   # path
    | (?=(?:\D*\d){4})[\d./+-]+                             # number, date
    | (?=[\d_-]*[^\W\d_])(?=\D*\d)[\w-]{5,}                 # letters and digits, hash
    """,
    re.VERBOSE | re.DOTALL,
)
_NAME = re.compile(r"(?=.{6})(?:[^\W\d][\w-]*(?:\.[\w-]+)+|(?=\w+\Z)\w*[^\W_]_+[^\W_]\w*)")
_HUMP = re.compile("[a-z][A-Z]")
_CAMEL = re.compile(r"(?=.{6})(?=[A-Za-z0-9_]+\Z)[A-Za-z0-9_]*[a-z][A-Z][A-Za-z0-9_]*")


def spelled(text: str) -> set[str]:
    """Return the different tokens of a plain text, with the punctuation at their edges."""
    return set(text.encode().replace(b"://", b"\x01//").translate(_TABLE).decode().split())


def tokens(text: str) -> set[str]:
    """Return the different tokens of a resolved text, edge punctuation stripped; their case is the text's."""
    return {word.strip(_EDGE) for word in spelled(plain(text))}


@lru_cache(maxsize=1 << 16)
def _is_atom(token: str) -> bool:
    return _VALUE.fullmatch(token) is not None or _NAME.fullmatch(token) is not None


def is_atom(token: str) -> bool:
    """Whether a case-folded token is an atom. Camel names are not among these: only their case shows them."""
    return not token.isalpha() and _is_atom(token)


def camels(text: str) -> set[str]:
    """Return the camel names of a resolved text, case-folded."""
    if not _HUMP.search(text):
        return set()
    words = filterfalse(str.islower, spelled(plain(text)))
    return {fold(token) for token in (word.strip(_EDGE) for word in words) if _CAMEL.fullmatch(token)}


def atoms(text: str) -> set[str]:
    """Return the atoms of a resolved text, case-folded. Case matters only for camel names."""
    # Fold first: case folding of non-ASCII letters can change where a text is split.
    return set(filter(is_atom, tokens(fold(text)))) | camels(text)


class Wanted:
    """Tokens to look for in texts. Each word, as texts spell it, is tested once for all texts."""

    def __init__(self, wanted: Callable[[str], bool]) -> None:
        self._wanted = wanted
        self._met: set[str] = set()
        self._spelled: set[str] = set()
        """Wanted words as they are spelled, with edge punctuation."""
        self.tokens: list[str] = []
        """All tokens so far, some more than once."""

    def among(self, words: Set[str]) -> set[str]:
        """Return the wanted tokens among the words of a text, which are as `spelled` returns them."""
        new = list(words - self._met)
        stripped = [word.strip(_EDGE) for word in new]
        self._met.update(new)
        self._spelled.update(compress(new, map(self._wanted, stripped)))
        self.tokens += stripped
        return {word.strip(_EDGE) for word in words & self._spelled}


def is_value(atom: str) -> bool:
    """Whether an atom is a value (path, id, number, address) and not a name from code."""
    return _VALUE.fullmatch(atom) is not None
