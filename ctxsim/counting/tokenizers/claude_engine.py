"""Claude's tokenizers, which Anthropic doesn't publish: vocabularies and rules that its API's counts revealed.

Source: ctok 1.3.0 (github.com/sanderland/ctok, MIT; licence in `claude_licence.txt`), which has a measured count for
each piece and rule, needs Python 3.12 and is 25 times slower. `python -m evidence.claude_tokenizer` compares both.

A text becomes a stream. Marks enclose each word; they replace an initial capital, capitals throughout (Claude 3), and a
single space between words or punctuation. The count is the smallest number of pieces that make the stream. No piece
reaches over the end of a word, or of a run of punctuation, digits or white space. So each of these parts is counted by
itself and memoized.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cached_property
from hashlib import sha256
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from ctxsim.counting.tokenizers import CLAUDE
from ctxsim.counting.tokenizers.splintr_engine import without_surrogates

BEGIN, END, SHIFT, CAPS, SEAM = "\x01\x02\x03\x04\x05"
"""Marks: begin and end of a part, a capital, capitals only; and the space between two marked parts."""

LONGEST = 256
"""Characters of a part. Longer ones are cut, because time grows with the square of a part's length."""

REMEMBERED = 1 << 17
"""Parts whose number of tokens is memoized."""

NEVER_SENT = re.compile("[\x01-\x08\x0b-\x1f\x7f\x80-\x9f\ue000-\uf8ff]")
SPACES = re.compile("[\x00\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f]")
LINE = re.compile(r"(?<=\n)(?=[^\n])")
QUOTES = ("\u2018", "'"), ("\u2019", "'"), ("\u201c", '"'), ("\u201d", '"')

ALONE = (
    r"\u3005\u3006\u3031-\u3035\u303b\u303c\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00010000-\U0010ffff"
)
"""Letters that are parts by themselves."""

SIGNS = r"\u2013\u2014\u2018\u2019\u201c\u201d\u2022\u2026\u2190-\u21ff\u2500-\u25ff\u2705\u2713\u2714\u2717\u2718"
COMMON = re.compile(f"[\0-\x7f{SIGNS}]*")
"""Matches what `re` can cut, which is twice as fast as `regex`: ASCII, and signs that agents print."""

OF_COMMON = "[A-Za-z]", rf"[!-/:-@\[-`{{-~{SIGNS}]"
OF_ALL = (
    rf"[[\p{{L}}\p{{M}}]--[{ALONE}\ufe00-\ufe0f]]",
    rf"[[\p{{P}}\p{{S}}\p{{Cf}}\p{{Cn}}\p{{No}}\p{{Nd}}\ufe00-\ufe0f]--[0-9\u3001-\u303f{ALONE}]]",
)
"""Classes of characters in words, and of punctuation, as patterns of `re` and of `regex`."""


class _Cutter:
    """Cuts a text into the parts of its stream."""

    def __init__(self, word: str, sign: str, compiled: Callable[[str], Any]) -> None:
        many, marked = f"{{1,{LONGEST}}}+", f"(?:{word}|{sign})"
        # Patterns begin with the space, which is found fastest.
        self._seam = compiled(f" (?<={marked} )(?={marked})(?!'{word})")
        self._ends = compiled(f" (?<={sign} )(?! )")
        self._begins = compiled(f" (?={sign})(?!'{word})")
        self.word = compiled(word)
        self._part = compiled(
            f"{word}{many}| {many}|[0-9]{many}|\n{many}|\t{many}"
            f"|'(?<!{sign}')(?<!{SEAM}')(?:s|t|d|m|ll|re|ve)(?!{word})"
            f"|[{SEAM}{BEGIN}]?{sign}{many}(?:{SEAM}{sign}{many}){{0,64}}+[{SEAM}{END}]?|[^{SEAM}]"
        )

    def parts(self, text: str) -> list[str]:
        """Return a text's parts in order, without single spaces between marked parts."""
        text = self._seam.sub(SEAM, text)
        text = self._ends.sub(f"{END} ", text)
        found: list[str] = self._part.findall(self._begins.sub(f" {BEGIN}", text))
        return found


def _with_properties(pattern: str) -> Any:
    """Compile a pattern with Unicode's properties. `regex` is imported only where a text needs it."""
    import regex

    return regex.compile(pattern, regex.V1)


class _Sizes(dict[str, int]):
    """Memo of the number of tokens of each part. A full one begins anew."""

    def __init__(self, tokens: Callable[[str], Sequence[int]]) -> None:
        self._tokens = tokens

    def __missing__(self, part: str) -> int:
        if len(self) >= REMEMBERED:
            self.clear()
        size = self[part] = len(self._tokens(part))
        return size


class ClaudeTokenizer:
    """A tokenizer of `CLAUDE`. Its counts reconstruct the vendor's; its `ids` are our own, for one shortest cut."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._older = name == CLAUDE[0]
        self._sizes = _Sizes(self._fewest)

    def __reduce__(self) -> tuple[Any, ...]:
        return ClaudeTokenizer, (self.name,)

    @property
    def _file(self) -> bytes:
        return Path(__file__).with_name(f"{self.name}.json").read_bytes()

    @cached_property
    def _vocabulary(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = json.loads(self._file)
        return found

    @cached_property
    def _pieces(self) -> dict[str, int]:
        return {piece: number for number, piece in enumerate(self._vocabulary["pieces"])}

    @cached_property
    def _bytes(self) -> dict[bytes, int]:
        """Pieces that are bytes of a character."""
        return {bytes.fromhex(piece): -number for number, piece in enumerate(self._vocabulary["bytes"], 1)}

    @cached_property
    def _longest(self) -> dict[str, int]:
        """Characters of the longest piece that ends with a character."""
        longest: dict[str, int] = {}
        for piece in self._pieces:
            longest[piece[-1]] = max(longest.get(piece[-1], 0), len(piece))
        return longest

    @cached_property
    def _common(self) -> _Cutter:
        return _Cutter(*OF_COMMON, re.compile)

    @cached_property
    def _all(self) -> _Cutter:
        return _Cutter(*OF_ALL, _with_properties)

    @cached_property
    def _long_runs(self) -> Any:
        return _with_properties(r"(?<=\p{M}{32})(?=\p{M})")

    @property
    def vocabulary_sha256(self) -> str:
        """SHA-256 of the vocabulary's file."""
        return sha256(self._file).hexdigest()

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""
        return [sum(map(self._sizes.__getitem__, self._parts(text))) for text in texts]

    def ids(self, text: str) -> list[int]:
        """Return the token ids of a text."""
        return [token for part in self._parts(text) for token in self._fewest(part)]

    def _parts(self, text: str) -> list[str]:
        for curly, straight in QUOTES if self._older else ():
            text = text.replace(curly, straight)
        text = SPACES.sub(" ", NEVER_SENT.sub("", text))
        if COMMON.fullmatch(text):
            return self._common.parts(text)
        # Python sorts a run of combining marks in quadratic time.
        pieces = self._long_runs.split(without_surrogates(text))
        text = "".join(unicodedata.normalize("NFC", piece) for piece in pieces)
        # No part reaches over the end of a line.
        alike = groupby(LINE.split(text), lambda line: bool(COMMON.fullmatch(line)))
        cut = ((self._common if common else self._all).parts("".join(lines)) for common, lines in alike)
        return list(chain.from_iterable(cut))

    def _fewest(self, part: str) -> tuple[int, ...]:
        """Return the fewest tokens that make a part: one, two, or else by dynamic programming over its prefixes."""
        stream, pieces, longest = self._stream(part), self._pieces, self._longest
        if stream in pieces:
            return (pieces[stream],)
        for at in (-1, *range(1, len(stream) - 1)):
            if stream[at:] in pieces and stream[:at] in pieces:
                return pieces[stream[:at]], pieces[stream[at:]]
        number, begins = [0], [0]
        for end, last in enumerate(stream, 1):
            start, least = end - 1, number[-1] + (1 if last in pieces else len(self._in_bytes(last)))
            for at in range(max(0, end - longest.get(last, 0)), end - 1):
                if number[at] + 1 < least and stream[at:end] in pieces:
                    start, least = at, number[at] + 1
            number.append(least)
            begins.append(start)
        found: list[int] = []
        end = len(stream)
        while end:
            start = begins[end]
            token = pieces.get(stream[start:end])
            found += self._in_bytes(stream[start])[::-1] if token is None else [token]
            end = start
        return tuple(reversed(found))

    def _in_bytes(self, character: str) -> list[int]:
        """Return the tokens of a character that is no piece, by longest match of its bytes."""
        known, left, found = self._bytes, character.encode(), list[int]()
        while left:
            many = next((many for many in range(len(left), 1, -1) if left[:many] in known), 1)
            found.append(known.get(left[:many], -1000 - left[0]))
            left = left[many:]
        return found

    def _stream(self, part: str) -> str:
        """A part with its marks."""
        cutter = self._common if part.isascii() else self._all
        if cutter.word.match(part):
            return self._cased(part) + END
        if part[0] == "'" and cutter.word.match(part, 1):
            return part + END
        before, after = part[0] == SEAM, part[-1] == SEAM
        return BEGIN * before + part.strip(SEAM).replace(SEAM, END + BEGIN) + END * after

    def _cased(self, word: str) -> str:
        small = word.lower()
        if "ẞ" in word:
            return BEGIN + word
        if self._older and len(word) >= 4 and word.isupper() and not set(word) & set(small):
            return CAPS + BEGIN + small.replace("ς", "σ")
        return SHIFT + BEGIN + small if word[0] != small[0] and word[1:] == small[1:] else BEGIN + word
