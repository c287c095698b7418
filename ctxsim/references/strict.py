"""Strict detector: identifiers. A token counts whole or not at all.

An atom is a token, edge punctuation stripped, that is a URL, e-mail address, path with a slash, hash, number or date of
at least 4 digits, mix of letters and digits of at least 5 characters (- and _ allowed), or a dotted, snake or camel
name of at least 6. All but the names are *values*. Source of the rule: docs/references.md, definition, 2.
"""

from __future__ import annotations

import re
from collections.abc import Set
from functools import lru_cache

from ctxsim.references.canonical import fold

VERSION = "strict-1"

_EDGE = "!#$%*+-./:?@^~"
_SEPARATORS = bytes(range(33)) + b"\"'`()[]{}<>,;|=&\\:\x7f"
# A colon parts `file.py:12` and `key:value` but not `https://`, whose colon byte 1 stands for meanwhile.
_TABLE = bytes.maketrans(_SEPARATORS + b"\x01", b" " * len(_SEPARATORS) + b":")
_FOREIGN = re.compile(r"[^\x00-\x7f\w]+")

_VALUE = re.compile(
    r"""[a-z][a-z0-9+.-]*://.+                              # URL
    | [^@/]+@[^@/]+\.[a-z]{2,}                              # e-mail address
    | (?=.{5})(?=.*[^\W\d_]).*[^/]/[^/].*                   # path
    | (?=(?:\D*\d){4})[\d./+-]+                             # number, date
    | (?=[0-9_-]*[a-z])(?=[a-z_-]*[0-9])[a-z0-9_-]{5,}      # letters and digits, hash
    """,
    re.VERBOSE | re.DOTALL,
)
_NAME = re.compile(r"(?=.{6})(?:[^\W\d][\w-]*(?:\.[\w-]+)+|(?=\w+\Z)\w*[^\W_]_+[^\W_]\w*)")
_CAMEL = re.compile(r"(?=.{6})(?=[A-Za-z0-9_]+\Z)[A-Za-z0-9_]*[a-z][A-Z][A-Za-z0-9_]*")


def tokens(text: str) -> set[str]:
    """Return the different tokens of a resolved text, edge punctuation stripped; their case is the text's."""
    if not text.isascii():
        text = _FOREIGN.sub(" ", text)
    words = text.encode().replace(b"://", b"\x01//").translate(_TABLE).decode().split()
    return {word.strip(_EDGE) for word in set(words)}


@lru_cache(maxsize=1 << 16)
def _is_atom(token: str) -> bool:
    return _VALUE.fullmatch(token) is not None or _NAME.fullmatch(token) is not None


def atoms(text: str) -> set[str]:
    """Return the atoms of a resolved text, case-folded. Case is looked at only to tell a camel name."""
    written = tokens(text)
    # What case folding does to other letters can part a text differently.
    folded = set(map(str.lower, written)) if text.isascii() else tokens(fold(text))
    return set(filter(_is_atom, folded)).union(fold(token) for token in written if _CAMEL.fullmatch(token))


def held(text: str, vocabulary: Set[str]) -> set[str]:
    """Return the atoms of the vocabulary that a canonical text holds whole."""
    return tokens(text) & vocabulary if vocabulary else set()


def is_value(atom: str) -> bool:
    """Whether an atom is a value (path, id, number, address) and not a name from code."""
    return _VALUE.fullmatch(atom) is not None
