"""The memo: a text is counted once, however many requests, policies and edits it appears in."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

from ctxsim.tokenizers import Tokenizer
from ctxsim.transcript import Head, Item, Transcript


class Counter:
    """Counts items by one tokenizer and remembers each text; use one per transcript to bound memory.

    `factor` are the provider's tokens for each of the tokenizer's, where the provider's own tokenizer isn't public.
    """

    def __init__(self, tokenizer: Tokenizer, factor: float = 1.0) -> None:
        self.tokenizer = tokenizer
        self.factor = factor
        self._counts: dict[str, int] = {"": 0}

    def _scaled(self, tokens: int) -> int:
        return tokens if self.factor == 1.0 else int(tokens * self.factor + 0.5)

    def learn(self, texts: Iterable[str]) -> None:
        """Count all texts not yet known, in one batch."""
        new = list(dict.fromkeys(text for text in texts if text not in self._counts))
        self._counts.update(zip(new, map(self._scaled, self.tokenizer.count_many(new)), strict=True))

    def learn_transcript(self, transcript: Transcript) -> None:
        """Count every text of a transcript, in one batch."""
        self.learn(text for item in transcript.items for text in item.texts)
        self.learn(transcript.head.texts)

    def text(self, text: str) -> int:
        """Tokens of one text."""
        count = self._counts.get(text)
        if count is None:
            count = self._counts[text] = self._scaled(self.tokenizer.count_many([text])[0])
        return count

    def shared(self, before: str, now: str) -> int:
        """Tokens at the beginning of two texts that are the same; not remembered."""
        pairs = zip(self.tokenizer.ids(before), self.tokenizer.ids(now), strict=False)
        return self._scaled(sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)))

    def item(self, item: Item) -> int:
        """Tokens of an item: its texts, plus its non-text content by the vendor's rule. Framing is not in it."""
        total = sum(map(self.text, item.texts))
        return total + sum(media.tokens for media in item.media) if item.media else total

    def head(self, head: Head) -> int:
        """Tokens of the system prompt and the tool schemas, framing apart."""
        return sum(self.text(text) for text in head.texts) + head.hidden
