"""Loose detector: quotations. An atom is five consecutive words on one line.

At least three of the five have three letters and lie outside paths, URLs and e-mail addresses. Source of the rule:
docs/references.md, definition, 3. Words are compared as numbers, in numpy arrays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from itertools import count, repeat

import numpy as np
from numpy.typing import NDArray

VERSION = "loose-1"

WORDS = 5
TELLING = 3
"""How many of the words must have three letters and lie outside paths and addresses."""
LETTERS = 3

Places = NDArray[np.int64]
Codes = NDArray[np.uint64]

_KEPT = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_" + bytes(range(128, 256))
_TABLE = bytes(byte if byte in _KEPT else 32 for byte in range(256))
_TABLE_OF_LINES = bytes(10 if byte == 10 else _TABLE[byte] for byte in range(256))
_BETWEEN_LINES = " \x02 "
"""Stands between lines as a token that is no word, so that no quotation spans two lines."""
_FEW = 8
"""Most bytes of a word whose number is its bytes."""
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(_FEW + 1)], np.uint64)
_MANY = np.uint64(0xFF << 56)
"""Marks the numbers of longer words: the byte 0xFF isn't in UTF-8, so no word has it."""

_LETTER = np.array([chr(byte).isalpha() if byte < 128 else byte >= 0xC0 for byte in range(256)])
"""By byte, whether a letter begins with it; digits of other scripts are replaced before."""
_WHITE = np.array([chr(byte).isspace() and byte < 128 for byte in range(256)])
_OTHER_DIGITS = re.compile(r"[^\x00-\x7f\D]+")
_SPACE, _SLASH, _AT, _COLON, _LINE_END = b" /@:\n"

_FACTOR = 0x9E3779B97F4A7C15
"""The first factor of the hashes; any odd number will do."""
_SPARSE = 16
"""Slots per atom, at least, of the table that rules out most hashes before an atom is looked up."""


class _Numbers(dict[bytes, int]):
    """Numbers of words of more than eight bytes, from 1; a new one gets the next."""

    def __missing__(self, word: bytes) -> int:
        number = self[word] = len(self) + 1
        return number


class Words:
    """The words of plain texts in order: where each stands in the texts' bytes, and its number."""

    def __init__(self, texts: Sequence[str], numbers: _Numbers, new: bool) -> None:
        """Number the words. A long word that isn't in `numbers` gets a new number if `new`, else one that all share."""
        parts = [text.encode() for text in texts]
        # A line end before and after each text, and eight bytes to read behind the last word.
        self._bytes = b"\n".join([b"", *parts, bytes(_FEW)])
        self._data = np.frombuffer(self._bytes, np.uint8)
        self._behind = np.cumsum([len(part) + 1 for part in parts], dtype=np.int64)
        self._line_ends = np.flatnonzero(self._data == _LINE_END)
        kept = self._bytes.translate(_TABLE)
        self._inside = np.frombuffer(kept, np.uint8) != _SPACE
        bounds = np.flatnonzero(self._inside[1:] != self._inside[:-1]) + 1
        self._starts, self._ends = bounds[::2], bounds[1::2]
        sizes = self._ends - self._starts
        eights = np.ndarray(len(kept) - _FEW + 1, "<u8", kept, strides=1)
        self._codes = eights[self._starts] & _MASKS[np.minimum(sizes, _FEW)]
        long = np.flatnonzero(sizes > _FEW)
        if long.size:
            places = zip(self._starts[long].tolist(), self._ends[long].tolist(), strict=True)
            words = [kept[start:end] for start, end in places]
            found = [numbers[word] for word in words] if new else list(map(numbers.get, words, repeat(0)))
            self._codes[long] = np.array(found, np.uint64) | _MANY
        self.count = len(self._codes)

    def texts(self, runs: Places) -> Places:
        """Return the index of the text that holds each run of words, given by its first word."""
        return np.searchsorted(self._behind, self._starts[runs], side="right")

    def on_one_line(self, runs: Places) -> NDArray[np.bool_]:
        """Return whether each run of five words, given by its first word, lies on one line."""
        line = np.searchsorted(self._line_ends, self._starts[runs])
        found: NDArray[np.bool_] = self._line_ends[line] > self._starts[runs + WORDS - 1]
        return found

    def by_text(self, texts: Places, numbers: Places) -> list[set[int]]:
        """Return, for each text, the set of the `numbers` whose entry in `texts` is its index."""
        found: list[set[int]] = [set() for _ in self._behind]
        for text, number in zip(texts.tolist(), numbers.tolist(), strict=True):
            found[text].add(number)
        return found

    def run(self, run: int) -> str:
        """Return the words of a run of five, separated by one space."""
        text = self._bytes[self._starts[run] : self._ends[run + WORDS - 1]]
        return b" ".join(text.translate(_TABLE).split()).decode()

    def rows(self, runs: Places) -> Codes:
        """Return the numbers of the words of runs, of shape (WORDS, runs): row k has the k-th word of each run."""
        return np.stack([self._codes[runs + word] for word in range(WORDS)])

    def hashes(self, factor: int) -> Codes:
        """Return the hash of each run of five words, in order."""
        found = np.zeros(max(0, self.count - WORDS + 1), np.uint64)
        for word in range(WORDS):
            found *= np.uint64(factor)
            found += self._codes[word : word + len(found)]
        return found

    def telling(self) -> NDArray[np.bool_]:
        """Return, for each word, whether it has three letters and lies outside paths and addresses."""
        text = self._bytes
        if not text.isascii():
            text = _OTHER_DIGITS.sub(lambda digits: "0" * len(digits[0].encode()), text.decode()).encode()
        letters = np.cumsum(_LETTER[np.frombuffer(text, np.uint8)], dtype=np.int32)
        found: NDArray[np.bool_] = letters[self._ends - 1] - letters[self._starts - 1] >= LETTERS
        addresses = self._addresses()
        if addresses.size:
            white = np.flatnonzero(_WHITE[self._data])
            behind = np.searchsorted(white, addresses)
            first, after = (np.searchsorted(self._starts, white[at]) for at in (behind - 1, behind))
            size = len(found) + 1
            found &= (np.bincount(first, minlength=size) - np.bincount(after, minlength=size)).cumsum()[:-1] == 0
        return found

    def _addresses(self) -> Places:
        r"""A place inside each `\w/+\w`, `\w@\w` and `://`."""
        data, inside = self._data, self._inside
        signs = np.flatnonzero((data == _SLASH) | (data == _AT))
        slash = data[signs] == _SLASH
        first = signs[~slash | (data[signs - 1] != _SLASH)]
        last = signs[~slash | (data[signs + 1] != _SLASH)]
        found: Places = first[inside[first - 1] & inside[last + 1] | (data[first - 1] == _COLON) & (last > first)]
        return found


def _different(hashes: Codes) -> tuple[Codes, Places, Places]:
    """Return the sorted unique hashes, the first index of each, and the index of each hash among the unique ones."""
    # np.unique would load a part of numpy that nothing else needs.
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    new = np.ones(len(hashes), np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    same = np.empty(len(hashes), np.int64)
    same[order] = np.cumsum(new) - 1
    return ordered[new], order[new], same


class Quotations:
    """Atoms to look for in texts. An atom's number is the index of its first word in the texts it was found in."""

    def __init__(self, numbers: _Numbers, words: Words, runs: Places) -> None:
        self._numbers, self._words = numbers, words
        rows = words.rows(runs)
        for factor in count(_FACTOR, 2):
            hashes = words.hashes(factor)[runs]
            self._hashes, first, same = _different(hashes)
            self._rows = rows[:, first]
            # If different atoms have the same hash, another factor is taken; results don't depend on it.
            if np.array_equal(self._rows[:, same], rows):
                break
        self._factor = factor
        self._atoms = runs[first]
        self._said = words.texts(runs), self._atoms[same]
        bits = (len(first) * _SPARSE).bit_length()
        self._shift = np.uint64(64 - bits)
        self._possible = np.zeros(1 << bits, np.bool_)
        self._possible[self._hashes >> self._shift] = True

    @classmethod
    def in_texts(cls, texts: Sequence[str]) -> Quotations:
        """Return the atoms of plain texts, case-folded, their white space ASCII."""
        numbers = _Numbers()
        words = Words(texts, numbers, new=True)
        telling = np.concatenate([[0], np.cumsum(words.telling())])
        runs = np.flatnonzero(telling[WORDS:] - telling[:-WORDS] >= TELLING)
        return cls(numbers, words, runs[words.on_one_line(runs)])

    def only(self, numbers: Iterable[int]) -> Quotations:
        """Return the atoms with these numbers, which they keep."""
        return Quotations(self._numbers, self._words, np.array(sorted(numbers), np.int64))

    def atom(self, number: int) -> str:
        """Return an atom: its words, separated by one space."""
        return self._words.run(number)

    def said(self, numbers: Set[int]) -> list[set[int]]:
        """Return, for each text that the atoms were found in, which of the atoms with these numbers it has."""
        texts, atoms = self._said
        among = np.zeros(self._words.count, np.bool_)
        among[list(numbers)] = True
        return self._words.by_text(texts[among[atoms]], atoms[among[atoms]])

    def held(self, texts: Sequence[str] | None = None) -> list[set[int]]:
        """Return, for each plain, case-folded text, the numbers of the atoms that it holds whole. Without `texts`, do
        so for the texts that the atoms were found in.
        """
        if not self._hashes.size:
            return self._words.by_text(self._atoms, self._atoms) if texts is None else [set() for _ in texts]
        words = self._words if texts is None else Words(texts, self._numbers, new=False)
        hashes = words.hashes(self._factor)
        runs = np.flatnonzero(self._possible[hashes >> self._shift])
        at = np.minimum(np.searchsorted(self._hashes, hashes[runs]), len(self._hashes) - 1)
        equal = (words.rows(runs) == self._rows[:, at]).all(axis=0) & words.on_one_line(runs)
        runs = runs[equal]
        return words.by_text(words.texts(runs), self._atoms[at[equal]])


class Sought:
    """Atoms to look for in one text at a time. For a short text this is faster than making arrays."""

    def __init__(self, atoms: Iterable[str]) -> None:
        self._atoms = {tuple(atom.split(" ")): atom for atom in atoms}

    def held(self, text: str) -> set[str]:
        """Return the atoms that a plain, case-folded text holds whole."""
        if not self._atoms:
            return set()
        words = text.encode().translate(_TABLE_OF_LINES).decode().replace("\n", _BETWEEN_LINES).split()
        runs = zip(*(words[word:] for word in range(WORDS)), strict=False)
        return {self._atoms[run] for run in filter(self._atoms.__contains__, runs)}
