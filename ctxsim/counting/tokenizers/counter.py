"""The memo: a text is counted once, however many requests, policies and edits it appears in."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import takewhile
from weakref import proxy

from ctxsim.counting.tokenizers import Tokenizer
from ctxsim.transcript import UNSHOWN, Head, Item, Sizes, Transcript


class Counter:
    """Counts items by one tokenizer and remembers each text; use one per transcript to bound memory.

    `factor` are the provider's tokens for each of the tokenizer's, where the provider's own tokenizer isn't public.
    `known`: another counter, what it has counted by the same tokenizer isn't counted again, whatever its factor.
    """

    def __init__(self, tokenizer: Tokenizer, factor: float = 1.0, known: Counter | None = None) -> None:
        self.tokenizer = tokenizer
        self.factor = factor
        self._plain: dict[str, int] = known._plain if known and known.tokenizer is tokenizer else {"": 0}
        self._counts = self._plain if factor == 1.0 else {"": 0}
        # Without a way back to itself a counter goes with its transcript, and not when the garbage collector comes.
        self.item = Sizes(partial(Counter._item, proxy(self)))
        """Tokens of an item: its texts, plus its non-text content by the vendor's rule. Framing is not in it."""

    def _scaled(self, tokens: int) -> int:
        return tokens if self.factor == 1.0 else int(tokens * self.factor + 0.5)

    def learn(self, texts: Iterable[str]) -> None:
        """Count all texts not yet known, in one batch."""
        new = list({text: None for text in texts if text not in self._plain})
        if new:
            self._plain.update(zip(new, self.tokenizer.count_many(new), strict=True))

    def learn_transcript(self, transcript: Transcript) -> None:
        """Count every text of a transcript, in one batch."""
        self.learn(text for item in transcript.items for text in item.texts)
        self.learn(transcript.head.texts)

    def text(self, text: str) -> int:
        """Tokens of one text."""
        count = self._counts.get(text)
        if count is None:
            if text not in self._plain:
                self._plain[text] = self.tokenizer.count_many([text])[0]
            count = self._counts[text] = self._scaled(self._plain[text])
        return count

    def shared(self, before: str, now: str) -> int:
        """Tokens at the beginning of two texts that are the same; not remembered."""
        if before[:1] != now[:1] and (before[:1] + now[:1]).isascii():
            # No token has a part of both.
            return 0
        pairs = zip(self.tokenizer.ids(before), self.tokenizer.ids(now), strict=False)
        return self._scaled(sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)))

    def _item(self, item: Item) -> int:
        total = sum(map(self.text, item.texts))
        if item.media:
            total += self.unshown(item) + sum(media.tokens for media in item.media if media.kind != UNSHOWN)
        return total

    def unshown(self, item: Item) -> int:
        """Tokens of the thinking of an item that isn't shown, which is text all the same."""
        return self._scaled(sum(media.tokens for media in item.media if media.kind == UNSHOWN))

    def head(self, head: Head) -> int:
        """Tokens of the system prompt and the tool schemas, framing apart."""
        return sum(self.text(text) for text in head.texts) + head.hidden
