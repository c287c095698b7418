"""Any tokenizer of the transformers library that is already on this machine; nothing is downloaded or executed."""

import hashlib
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from ctxsim.counting.tokenizers.splintr_engine import without_surrogates
from ctxsim.errors import UnknownName


class TransformersTokenizer:
    """A transformers tokenizer from a local `tokenizer.json`, a folder with one, or a cached model id."""

    def __init__(self, path_or_id: str) -> None:
        # Suppress transformers' message about PyTorch, which no tokenizer needs.
        os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
        # Imported here because importing transformers takes seconds.
        from transformers import AutoTokenizer, PreTrainedTokenizerFast

        self.name = f"hf:{path_or_id}"
        if Path(path_or_id).is_file():
            try:
                self._fast: Any = PreTrainedTokenizerFast(tokenizer_file=path_or_id)
            # The tokenizers library raises bare Exception for a file it can't read.
            except Exception as error:
                raise UnknownName(f"{path_or_id} is not a tokenizer.json: {error}") from error
        else:
            try:
                self._fast = AutoTokenizer.from_pretrained(path_or_id, local_files_only=True, trust_remote_code=False)
            except (OSError, ValueError) as error:
                raise UnknownName(
                    f"no tokenizer '{path_or_id}' on this machine; name a tokenizer.json, a folder or a cached model id"
                ) from error

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""
        return [len(ids) for ids in self._ids([without_surrogates(text) for text in texts])] if texts else []

    def ids(self, text: str) -> list[int]:
        """Return the token ids of a text."""
        return self._ids([without_surrogates(text)])[0]

    def _ids(self, texts: list[str]) -> list[list[int]]:
        encoded = self._fast(
            texts, add_special_tokens=False, split_special_tokens=True, return_attention_mask=False, verbose=False
        )
        return list(encoded["input_ids"])

    @cached_property
    def vocabulary_sha256(self) -> str:
        """SHA-256 of the vocabulary as `token id` lines in id order."""
        vocabulary: dict[str, int] = self._fast.get_vocab()
        digest = hashlib.sha256()
        for token, number in sorted(vocabulary.items(), key=lambda pair: pair[1]):
            digest.update(f"{token} {number}\n".encode("utf-8", "surrogatepass"))
        return digest.hexdigest()
