"""The memo: a text is counted once, however many requests, policies and edits it appears in."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import takewhile
from weakref import proxy

from ctxsim.counting.tokenizers import Tokenizer, own_tokenizer, per_default
from ctxsim.transcript import UNSHOWN, Head, Item, Sizes, Transcript


class Counter:
    """Counts items by one tokenizer and memoizes each text; use one per transcript to bound memory.

    `factor`: the provider's tokens per token of the tokenizer, where the provider's own tokenizer isn't public.
    `known`: a counter whose memo of counted texts is shared if it has the same tokenizer; factors may differ.
    """

    def __init__(self, tokenizer: Tokenizer, factor: float = 1.0, known: Counter | None = None) -> None:
        self.tokenizer = tokenizer
        self.factor = factor
        self._plain: dict[str, int] = known._plain if known and known.tokenizer is tokenizer else {"": 0}
        self._counts = self._plain if factor == 1.0 else {"": 0}
        # The proxy avoids a reference cycle: a counter is freed with its transcript, not by the garbage collector.
        self.item = Sizes(partial(Counter._item, proxy(self)))
        """Tokens of an item: its texts, plus its non-text content by the vendor's rule, without framing."""

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
        """Return the tokens of one text."""
        count = self._counts.get(text)
        if count is None:
            if text not in self._plain:
                self._plain[text] = self.tokenizer.count_many([text])[0]
            count = self._counts[text] = self._scaled(self._plain[text])
        return count

    def shared(self, before: str, now: str) -> int:
        """Return the number of first tokens that two texts have in common. It isn't memoized."""
        if before[:1] != now[:1] and (before[:1] + now[:1]).isascii():
            # The first tokens differ. Non-ASCII characters could still share a byte, and so a token.
            return 0
        pairs = zip(self.tokenizer.ids(before), self.tokenizer.ids(now), strict=False)
        return self._scaled(sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)))

    def _item(self, item: Item) -> int:
        total = sum(map(self.text, item.texts))
        if item.media:
            total += self.unshown(item) + sum(media.tokens for media in item.media if media.kind != UNSHOWN)
        return total

    def unshown(self, item: Item) -> int:
        """Return the tokens of an item's hidden thinking, which is sized in tokens of o200k_base."""
        hidden = sum(media.tokens for media in item.media if media.kind == UNSHOWN)
        return self._scaled(round(hidden * per_default(self.tokenizer.name))) if hidden else 0

    def head(self, head: Head) -> int:
        """Return the tokens of the system prompt, the tool schemas and the hidden head, without framing."""
        return sum(self.text(text) for text in head.texts) + head.hidden


def counted(transcript: Transcript, tokenizer: Tokenizer | None = None) -> Counter:
    """Return a counter that knows every text of a transcript, by a tokenizer or by the own one of its model."""
    counter = Counter(tokenizer or own_tokenizer(transcript.model))
    counter.learn_transcript(transcript)
    return counter
