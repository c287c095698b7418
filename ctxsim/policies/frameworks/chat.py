"""Messages as frameworks edit them, with each result as one message. Made from a view, and turned back into one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import groupby
from typing import Literal

import msgspec

from ctxsim.counting.estimators import Estimator
from ctxsim.policies.agents.shared import history
from ctxsim.policies.policy import Surroundings
from ctxsim.transcript import Item, Sizes
from ctxsim.view import View

Role = Literal["user", "assistant", "tool"]


class Message(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A user's text or a summary, one response with its calls, or tool results. Equal only to itself."""

    items: tuple[Item, ...]

    @cached_property
    def role(self) -> Role:
        """The role in a chat interface; summaries and notes have the role `user`."""
        kind = self.items[0].kind
        if kind == "tool_result":
            return "tool"
        return "user" if kind in ("user", "summary", "note") else "assistant"

    @cached_property
    def text(self) -> str:
        """The content, without calls and reasoning."""
        return "".join(item.text for item in self.items if item.kind not in ("tool_call", "reasoning"))

    @cached_property
    def calls(self) -> list[Item]:
        """The tool calls of a response."""
        return [item for item in self.items if item.kind == "tool_call"]

    @cached_property
    def uses_tools(self) -> bool:
        """Whether it is a response with calls, or results."""
        return self.role == "tool" or bool(self.calls)

    @cached_property
    def places(self) -> list[int]:
        """The places of its items."""
        return [item.place for item in self.items]

    @property
    def order(self) -> int:
        """The sort key of its first item in the view."""
        return self.items[0].order

    def with_text(self, text: str) -> Message:
        """Return the message with another content. Its first text gets the content; its other texts become empty."""
        items, left = [], text
        for item in self.items:
            if item.kind not in ("tool_call", "reasoning"):
                item, left = item.with_text(left), ""
            items.append(item)
        return Message(tuple(items))


class _Grouped:
    """Groups neighbouring items that have the same key into messages.

    Of a view that has grown since it was grouped last, only what joined is grouped. A message with the items of an
    earlier one at its place is that one, so that what is known of it is known on.
    """

    def __init__(self, key: Callable[[Item], Hashable]) -> None:
        self._key = key
        self._last: tuple[Sequence[Item], list[Message]] = (), []
        self._known: dict[int, Message] = {}

    def __call__(self, view: Sequence[Item]) -> list[Message]:
        before, found = self._last
        if found and isinstance(view, View) and isinstance(before, View) and view.grew_from(before):
            # What joined may go on with the last message.
            found, start = found[:-1], len(before) - len(found[-1].items)
        else:
            found, start = [], 0
            if not (before and view and view[0] is before[0]):
                # Perhaps another transcript.
                self._known.clear()
        found += [self._message(tuple(run)) for _, run in groupby(view[start:], self._key)]
        self._last = view, found
        return found.copy()

    def _message(self, items: tuple[Item, ...]) -> Message:
        place = items[0].place
        known = self._known.get(place)
        if known is None or known.items != items:
            known = self._known[place] = Message(items)
        return known


messages = _Grouped(lambda item: item if item.kind == "tool_result" else item.message)
"""Returns a view's messages: parallel results are one each, as in OpenAI's and LangChain's lists."""

packed = _Grouped(lambda item: "results" if item.kind == "tool_result" else item.message)
"""Returns a view's messages: consecutive results are one, as in AutoGen, AG2 and Strands."""


def flat(groups: Iterable[Iterable[Message]]) -> list[Message]:
    """Return the messages of groups in a row."""
    return [message for group in groups for message in group]


def items_of(found: Iterable[Message]) -> list[Item]:
    """Return the items of messages in a row."""
    return [item for message in found for item in message.items]


def counted(sees: Surroundings, found: Iterable[Message], system: str = "") -> int:
    """Return the estimated tokens of messages, after a system prompt if one is given."""
    estimator = sees.estimator
    if type(estimator).messages is not Estimator.messages:
        return estimator.messages([message.items for message in found], system)
    return estimator.together(sum(map(_sizes(estimator, sees.sizes), found)), system)


def each_counted(sees: Surroundings, found: Iterable[Message]) -> list[int]:
    """Return the estimated tokens of each message alone."""
    estimator = sees.estimator
    if type(estimator).messages is not Estimator.messages:
        return [counted(sees, [message]) for message in found]
    return list(map(estimator.together, map(_sizes(estimator, sees.sizes), found)))


@lru_cache(maxsize=8)
def _sizes(estimator: Estimator, of: Sizes) -> Callable[[Message], int]:
    """Return a memo of the sizes of one transcript's messages by an estimator. `of`: that of its items."""
    return lru_cache(maxsize=1 << 13)(lambda message: estimator.message(message.items))


def since_usage(sees: Surroundings, found: Sequence[Message], without: Callable[[], int]) -> int:
    """Return the last reported usage plus an estimate of messages after the last response; `without()` without usage.

    Items that were edited since still count in full, because the usage is that of the request as it was sent.
    """
    last = next((n for n in range(len(found) - 1, -1, -1) if found[n].role == "assistant"), None)
    if sees.usage is None or last is None:
        return without()
    return sees.usage.total_tokens + counted(sees, found[last + 1 :])


def only(view: View, kept: Iterable[Message], reason: str) -> View:
    """Return the view with only the messages `kept`, and with their texts."""
    after = {item.place: item.text for item in items_of(kept)}
    view = view.drop([item.place for item in view if item.place not in after], reason)
    return view.rewrite(after, reason)


def in_place_of(
    view: View, old: Sequence[Message], text: str, reason: str, kind: Literal["summary", "note"] = "summary"
) -> View:
    """Return the view with a summary or a note in place of these messages."""
    return history.in_place_of(view, items_of(old), text, reason, kind=kind)


def first_that(condition: Callable[[int], bool], low: int, high: int) -> int:
    """Return the first index in [low, high) for which a condition holds; `high` if there is none.

    Uses binary search: the condition must stay true once it holds, and is evaluated for a few indices only.
    """
    return bisect_left(range(high), True, low, key=condition)
