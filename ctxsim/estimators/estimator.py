"""What an estimator is: a cheap guess of tokens from text, by which policies decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ctxsim.transcript import Head, Item


@dataclass(frozen=True)
class Estimator:
    """Guesses tokens per item; a request is the sum. Typed parameters are the only configuration."""

    name: ClassVar[str]

    def text(self, text: str) -> int:
        """Estimated tokens of one text."""
        raise NotImplementedError

    def item(self, item: Item) -> int:
        """Estimated tokens of one item. Non-text content counts as the vendor's rule says."""
        return sum(self.text(text) for text in item.texts) + sum(media.tokens for media in item.media)

    def head(self, head: Head) -> int:
        """Estimated tokens of the system prompt and the tool schemas."""
        return sum(self.text(text) for text in head.texts)
