"""What frameworks edit: messages, each result one of its own. From a view, and back into it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import msgspec

from ctxsim.policies.policy import Surroundings
from ctxsim.transcript import Item
from ctxsim.view import View

Role = Literal["user", "assistant", "tool"]


class Message(msgspec.Struct, frozen=True):
    """A user's text or a summary, one response with its calls, or one tool result."""

    items: tuple[Item, ...]

    @property
    def role(self) -> Role:
        """Who speaks, as a chat interface has it; a summary comes as a user's."""
        kind = self.items[0].kind
        if kind == "tool_result":
            return "tool"
        return "user" if kind in ("user", "summary", "note") else "assistant"

    @property
    def text(self) -> str:
        """The content: without calls and without reasoning."""
        return "".join(item.text for item in self.items if item.kind not in ("tool_call", "reasoning"))

    @property
    def calls(self) -> list[Item]:
        """The tool calls of a response."""
        return [item for item in self.items if item.kind == "tool_call"]

    @property
    def places(self) -> list[int]:
        """The places of its items."""
        return [item.place for item in self.items]

    @property
    def order(self) -> int:
        """Where it stands in the view."""
        return self.items[0].order

    def with_text(self, text: str) -> Message:
        """The same message with its content replaced, in its first text; the others are emptied."""
        items, left = [], text
        for item in self.items:
            if item.kind not in ("tool_call", "reasoning"):
                item, left = item.with_text(left), ""
            items.append(item)
        return Message(tuple(items))


def messages(view: Iterable[Item]) -> list[Message]:
    """Return a view's messages: parallel results are one each, as in OpenAI's and LangChain's lists."""
    groups: list[list[Item]] = []
    number: int | None = None
    for item in view:
        if item.kind == "tool_result" or item.message != number:
            groups.append([])
        number = None if item.kind == "tool_result" else item.message
        groups[-1].append(item)
    return [Message(tuple(group)) for group in groups]


def packed(found: Iterable[Message]) -> list[list[Message]]:
    """Return messages with the results that follow one response as one: AutoGen's, Pydantic AI's and Strands' shape."""
    groups: list[list[Message]] = []
    for message in found:
        if message.role == "tool" and groups and groups[-1][0].role == "tool":
            groups[-1].append(message)
        else:
            groups.append([message])
    return groups


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
    """Return the last reported usage with an estimate of what came after its response; None where nothing is reported.

    What was edited since then still counts whole: the usage is of the request as it was.
    """
    last = max((n for n, message in enumerate(found) if message.role == "assistant"), default=None)
    if sees.usage is None or last is None:
        return None
    return sees.usage.total_tokens + counted(sees, found[last + 1 :])


def only(view: View, kept: Iterable[Message], reason: str) -> View:
    """Return the view with these of its messages and no others, with the texts that they have now."""
    after = {item.place: item.text for item in items_of(kept)}
    view = view.drop([item.place for item in view if item.place not in after], reason)
    return view.rewrite(after, reason)


def in_place_of(
    view: View, old: Sequence[Message], text: str, reason: str, kind: Literal["summary", "note"] = "summary"
) -> View:
    """Return the view with a summary, or a note, where these messages stood."""
    places = [place for message in old for place in message.places]
    left = view.drop(places, reason)
    last = view.position(places[-1])
    at = view[last + 1].order if last + 1 < len(view) else view[last].order + 1
    return left.insert(text, at, reason, kind=kind, sources=places)


def first_that(condition: Callable[[int], bool], low: int, high: int) -> int:
    """Return the first index in [low, high) for which a condition holds that then stays true; `high` if it never does.

    By halving: a condition on a suffix is asked for a few suffixes only.
    """
    return bisect_left(range(high), True, low, key=condition)
