"""A request as a provider sees it: positions with a hash of everything up to them, and tokens up to them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from ctxsim.provider.vendor import Framing
from ctxsim.transcript import Head, Item

HEAD_POSITIONS = 2
"""Tools, then the system prompt: the order in which providers render them."""


class Rendering:
    """The last request. `follow` keeps what didn't change and renders the rest, so growth costs only the growth.

    `hashes[n]` stands for positions 0..n and `tokens[n]` counts them, framing included. Position 0 is the tools, 1 the
    system prompt, 2 the first item. Framing of a wire message is counted with its first item.
    """

    def __init__(
        self,
        head: Head,
        model: str,
        framing: Framing,
        hidden_tokens: int,
        count: Callable[[Item], int],
        text: Callable[[str], int],
    ) -> None:
        self._model = model
        self._hidden_tokens = hidden_tokens
        self._framing = framing
        self._count = count
        self._text = text
        self._start(head)

    def _start(self, head: Head) -> None:
        framing = self._framing
        tools = (
            self._hidden_tokens
            + sum(map(self._text, head.tools))
            + (framing.of_tools(self._model) if head.tools else 0)
        )
        system = self._text(head.system) + (framing.message if head.system else 0)
        first = hash(head.tools)
        self.head = head
        self.hashes = [first, hash((first, head.system))]
        self.tokens = [framing.request + tools, framing.request + tools + system]
        self.items: list[Item] = []

    def with_head(self, head: Head) -> None:
        """Send another head from now on: everything after it has another hash."""
        if head != self.head:
            items = self.items
            self._start(head)
            self.follow(items, 0)

    @property
    def total(self) -> int:
        """Tokens of the whole request."""
        return self.tokens[-1]

    def follow(self, items: Sequence[Item], changed_from: int) -> int:
        """Become the rendering of these items, of which those before `changed_from` are the same; return its tokens."""
        keep = min(changed_from, len(self.items), len(items))
        del self.items[keep:], self.hashes[HEAD_POSITIONS + keep :], self.tokens[HEAD_POSITIONS + keep :]
        for item in items[keep:]:
            self.append(item)
        return self.total

    def append(self, item: Item) -> None:
        """One more item at the end."""
        first = not self.items or self.items[-1].message != item.message
        apart = first or (self._framing.results_apart and item.kind == "tool_result")
        self.tokens.append(self.tokens[-1] + self._count(item) + (self._framing.message if apart else 0))
        # Only what goes over the wire: our own numbers don't.
        self.hashes.append(hash((self.hashes[-1], first, item.kind, item.text, item.tool, item.call_id, item.media)))
        self.items.append(item)

    def tokens_before(self, order: int) -> int:
        """Tokens of the head and of all items whose place in the recording is before `order`."""
        return self.tokens[HEAD_POSITIONS - 1 + bisect_left(self.items, order, key=lambda item: item.order)]
