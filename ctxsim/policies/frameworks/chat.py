"""Messages as frameworks edit them, with each result as one message. Made from a view, and turned back into one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Literal

import msgspec

from ctxsim.policies.agents.shared import history
from ctxsim.policies.policy import Surroundings
from ctxsim.transcript import Item
from ctxsim.view import View

Role = Literal["user", "assistant", "tool"]


class Message(msgspec.Struct, frozen=True):
    """A user's text or a summary, one response with its calls, or tool results."""

    items: tuple[Item, ...]

    @property
    def role(self) -> Role:
        """The role in a chat interface; summaries and notes have the role `user`."""
        kind = self.items[0].kind
        if kind == "tool_result":
            return "tool"
        return "user" if kind in ("user", "summary", "note") else "assistant"

    @property
    def text(self) -> str:
        """The content, without calls and reasoning."""
        return "".join(item.text for item in self.items if item.kind not in ("tool_call", "reasoning"))

    @property
    def calls(self) -> list[Item]:
        """The tool calls of a response."""
        return [item for item in self.items if item.kind == "tool_call"]

    @property
    def uses_tools(self) -> bool:
        """Whether it is a response with calls, or results."""
        return self.role == "tool" or bool(self.calls)

    @property
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


def messages(view: Iterable[Item]) -> list[Message]:
    """Return a view's messages: parallel results are one each, as in OpenAI's and LangChain's lists."""
    runs = groupby(view, lambda item: ("result", item.place) if item.kind == "tool_result" else ("", item.message))
    return [Message(tuple(run)) for _, run in runs]


def packed(view: Iterable[Item]) -> list[Message]:
    """Return a view's messages: consecutive results are one, as in AutoGen, AG2 and Strands."""
    runs = groupby(view, lambda item: "results" if item.kind == "tool_result" else item.message)
    return [Message(tuple(run)) for _, run in runs]


def flat(groups: Iterable[Iterable[Message]]) -> list[Message]:
    """Return the messages of groups in a row."""
    return [message for group in groups for message in group]


def items_of(found: Iterable[Message]) -> list[Item]:
    """Return the items of messages in a row."""
    return [item for message in found for item in message.items]


def counted(sees: Surroundings, found: Iterable[Message], system: str = "") -> int:
    """Return the estimated tokens of messages, after a system prompt if one is given."""
    return sees.estimator.messages([message.items for message in found], system)


def since_usage(sees: Surroundings, found: Sequence[Message]) -> int | None:
    """Return the last reported usage plus an estimate of messages after the last response; None without usage.

    Items that were edited since still count in full, because the usage is that of the request as it was sent.
    """
    last = max((n for n, message in enumerate(found) if message.role == "assistant"), default=None)
    if sees.usage is None or last is None:
        return None
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
