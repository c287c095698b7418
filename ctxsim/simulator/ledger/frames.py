"""Items as a provider renders them: the tokens of each, framing included, and a hash of what goes over the wire."""

import json
from collections.abc import Sequence
from functools import lru_cache

from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.simulator.provider.rules import Provider
from ctxsim.simulator.provider.vendor import Framing, load_vendor
from ctxsim.transcript import Head, Item

Rendered = tuple[Item, Item | None, Item | None, int, int]
"""An item, the item before it, the one before that, its tokens and its hash."""


@lru_cache(maxsize=1 << 14)
def decoded(arguments: str) -> tuple[tuple[str, str], ...]:
    """Return a call's arguments as names and plain texts: a string as it is, anything else as JSON.

    Arguments that are no JSON object become one text with an empty name.
    """
    try:
        value = json.loads(arguments)
        if isinstance(value, dict):
            return tuple(
                (name, given if isinstance(given, str) else json.dumps(given, ensure_ascii=False))
                for name, given in value.items()
            )
    except (ValueError, RecursionError):
        # Not JSON, or nested too deeply.
        pass
    return (("", arguments),)


class Frames:
    """How one provider renders the items of one transcript; each is rendered once for all policies.

    An item's tokens and hash depend on the item, and on the message and kind of the two items before it.
    """

    def __init__(self, provider: Provider, counter: Counter) -> None:
        self._model = provider.model
        self._framing = load_vendor(provider.framing).framing.of(provider.model)
        self._plain = self._framing == Framing()
        self._counter = counter
        self._known: dict[int, Rendered] = {}
        """By place, the first version of an item, mostly the recorded one."""
        self._edited: dict[int, Rendered] = {}
        """By place, the newest other version, or the same item behind other items."""

    def head(self, head: Head) -> tuple[list[int], list[int]]:
        """Return the tokens and the hashes of a request's first two positions: tools, system prompt."""
        framing, text = self._framing, self._counter.text
        tools = (
            head.hidden
            + round(framing.schemas * sum(map(text, head.tools)))
            + (framing.of_tools(self._model) if head.tools else 0)
        )
        system = text(head.system) + (framing.message if head.system else 0)
        return [framing.request + tools, system], [hash(head.tools), hash(head.system)]

    def item(self, item: Item, last: Item | None, before: Item | None) -> tuple[int, int]:
        """Return an item's tokens and hash, given the item before it, `last`, and the one before that, `before`."""
        for memo in (self._known, self._edited):
            known = memo.get(item.place)
            if known is None:
                break
            if known[0] is item and (
                (known[1] is last and known[2] is before)
                or (same_shape(known[1], last) and same_shape(known[2], before))
            ):
                return known[3], known[4]
        first = last is None or last.message != item.message
        tokens = self._counter.item(item) if self._plain else self._framed(item, first, last, before)
        # Only what is sent: our places and message numbers aren't.
        own = hash((first, item.kind, item.text, item.tool, item.call_id, item.media))
        memo[item.place] = (item, last, before, tokens, own)
        return tokens, own

    def _framed(self, item: Item, first: bool, last: Item | None, before: Item | None) -> int:
        """Tokens of an item as the vendor renders it: its content and what stands around it."""
        framing, text = self._framing, self._counter.text
        around = framing.message if first else 0
        if item.kind == "tool_result":
            if framing.results_apart and not first:
                around = framing.message
            around += framing.result + (framing.results if first or framing.results_apart else 0)
            if framing.named_results and item.tool:
                around += text(item.tool)
        elif item.kind == "tool_call":
            around += framing.call + self._around_calls(first, last, before)
            if framing.arguments == "decoded":
                around += framing.parameter * len(decoded(item.text)) + sum(media.tokens for media in item.media)
                return around + sum(map(text, self.texts(item)))
        elif item.kind == "reasoning":
            around += framing.reasoning
        return around + self._counter.item(item)

    def written(self, response: Sequence[Item]) -> int:
        """Return the tokens of a response as the model writes it: its content, and what stands around its calls."""
        before = last = None
        tokens = 0
        for item in response:
            tokens += self._counter.item(item) if self._plain else self._framed(item, False, last, before)
            before, last = last, item
        return tokens

    def texts(self, item: Item) -> tuple[str, ...]:
        """Return an item's texts in the request, in order, without framing. A call's arguments are decoded if the
        vendor decodes them.
        """
        if item.kind == "tool_call" and self._framing.arguments == "decoded":
            return (item.tool, *(text for pair in decoded(item.text) for text in pair))
        return item.texts

    def shared(self, before: Item, after: Item) -> int:
        """Return the number of leading tokens that two items share, text by text."""
        tokens = 0
        for left, now in zip(self.texts(before), self.texts(after), strict=False):
            tokens += self._counter.shared(left, now)
            if left != now:
                break
        return tokens

    def _around_calls(self, first: bool, last: Item | None, before: Item | None) -> int:
        """Framing tokens that only the first and the second tool call of a response add."""
        framing = self._framing
        if first or last is None:
            return framing.calls
        if last.kind != "tool_call":
            return framing.calls + (framing.answer if last.kind == "assistant" else 0)
        second = before is None or before.message != last.message or before.kind != "tool_call"
        return framing.parallel if second else 0


def same_shape(this: Item | None, that: Item | None) -> bool:
    """Return whether an item is rendered alike behind two items: only their message and kind matter."""
    return this is that or (
        this is not None and that is not None and this.message == that.message and this.kind == that.kind
    )
