"""The default engine: vocabularies inside the splintr wheel, counted in parallel.

Trap: splintr's batch call matches special tokens (`<|endoftext|>` counts 1 instead of 7), also those that splintr
itself adds to each vocabulary. A text that contains one of them is therefore counted alone, as ordinary text.
"""

import hashlib
import re
import tomllib
from base64 import b64encode
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import splintr

_DATA = tomllib.loads(Path(__file__).with_name("hashes.toml").read_text(encoding="utf-8"))

STORED_FOR: str = _DATA["version"]
"""The version of the splintr-rs wheel that holds these vocabularies."""

STORED: dict[str, str] = _DATA["sha256"]
"""SHA-256 of each vocabulary's rank file, stored because computing it takes a third of a second in each run."""

VOCABULARIES = tuple(STORED)

RANKED = {
    # vocabulary: name of the file in tiktoken's cache (SHA-1 of its download address)
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
}

_SURROGATE = re.compile("[\ud800-\udfff]")


def without_surrogates(text: str) -> str:
    """Return a text with each lone surrogate, which no UTF-8 tokenizer can read, replaced by U+FFFD."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


class SplintrTokenizer:
    """A tokenizer of one bundled vocabulary. It counts as `encode_ordinary` does, in batches where that is the same."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __reduce__(self) -> tuple[Any, ...]:
        return SplintrTokenizer, (self.name,)

    # Loaded lazily: a process that needs only the vocabulary's hash saves a fifth of a second.
    @cached_property
    def _engine(self) -> Any:
        return splintr.Tokenizer.from_pretrained(self.name)

    @cached_property
    def _special(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, sorted(self._engine.special_tokens()))))

    @cached_property
    def _openings(self) -> list[str]:
        """First two characters of special tokens: a cheap test before the exact one, as most texts contain none."""
        return sorted({token[:2] for token in self._engine.special_tokens()})

    @cached_property
    def _boundary(self) -> int:
        """Number of boundary tokens such as [CLS], which belong to a request and not to each of its texts."""
        return len(self._engine.encode_ordinary(""))

    def _has_special(self, text: str) -> bool:
        return any(opening in text for opening in self._openings) and bool(self._special.search(text))

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""
        clean = [without_surrogates(text) for text in texts]
        special = [self._has_special(text) for text in clean]
        plain = [text for text, alone in zip(clean, special, strict=True) if not alone]
        # splintr returns no offsets for an empty batch.
        _, offsets = self._engine.encode_batch_flat(plain) if plain else (b"", b"")
        lengths = (end - start for start, end in pairwise(memoryview(offsets).cast("Q")))
        return [
            (len(self._engine.encode_ordinary(text)) if alone else next(lengths)) - self._boundary
            for text, alone in zip(clean, special, strict=True)
        ]

    def ids(self, text: str) -> list[int]:
        """Return the token ids of a text; special tokens in it are ordinary text."""
        return list(self._engine.encode_ordinary(without_surrogates(text)))

    @property
    def vocabulary_sha256(self) -> str:
        """SHA-256 of all tokens in id order, in the form of a rank file (tiktoken's own hash for o200k_base)."""
        return vocabulary_sha256(self.name)


def vocabulary_sha256(name: str) -> str:
    """Return the SHA-256 of a bundled vocabulary's rank file: stored, or computed if the wheel has another version."""
    if version("splintr-rs") == STORED_FOR:
        return STORED[name]
    return hashlib.sha256(rank_file(name)).hexdigest()


def rank_file(name: str) -> bytes:
    """Return the rank file of a splintr vocabulary, special tokens left out.

    For o200k_base and cl100k_base its SHA-256 is the one that tiktoken expects of its download
    (openai/tiktoken, tiktoken_ext/openai_public.py), which is how the copy is known to be exact.
    """
    engine = splintr.Tokenizer.from_pretrained(name)
    special = set(engine.special_tokens().values())
    lines = []
    for rank in range(engine.vocab_size):
        # A vocabulary may skip ids.
        with suppress(ValueError):
            if rank not in special:
                lines.append(b"%s %d\n" % (b64encode(engine.decode_token_bytes(rank)), rank))
    return b"".join(lines)
