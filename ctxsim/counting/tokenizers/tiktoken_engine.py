"""The reference engine: OpenAI's tiktoken, made to work offline.

tiktoken downloads its ranks and checks their SHA-256. The same ranks are in the default engine's wheel, so they are
written where tiktoken looks for a finished download; tiktoken itself verifies them when it loads.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ctxsim.counting.tokenizers.splintr_engine import RANKED, rank_file, vocabulary_sha256, without_surrogates


@contextmanager
def _cache_with_ranks(name: str) -> Iterator[None]:
    before = os.environ.get("TIKTOKEN_CACHE_DIR")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / RANKED[name]).write_bytes(rank_file(name))
        os.environ["TIKTOKEN_CACHE_DIR"] = folder
        try:
            yield
        finally:
            if before is None:
                del os.environ["TIKTOKEN_CACHE_DIR"]
            else:
                os.environ["TIKTOKEN_CACHE_DIR"] = before


class TiktokenTokenizer:
    """tiktoken's own encoding, counting special tokens as ordinary text."""

    def __init__(self, vocabulary: str) -> None:
        import tiktoken

        self.name = f"tiktoken:{vocabulary}"
        self._vocabulary = vocabulary
        with _cache_with_ranks(vocabulary):
            self._encoding: Any = tiktoken.get_encoding(vocabulary)

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""
        return [len(self._encoding.encode_ordinary(without_surrogates(text))) for text in texts]

    def ids(self, text: str) -> list[int]:
        """Return the token ids of a text."""
        return list(self._encoding.encode_ordinary(without_surrogates(text)))

    @property
    def vocabulary_sha256(self) -> str:
        """SHA-256 of the verified rank file."""
        return vocabulary_sha256(self._vocabulary)
