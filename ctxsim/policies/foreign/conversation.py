"""A view as messages for foreign code: one dict per wire message, in OpenAI's form."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

from ctxsim.transcript import RESPONSE_KINDS, Head, Item
from ctxsim.view import View

Message = dict[str, Any]
"""A message in OpenAI's form: role, content, tool_calls or tool_call_id and name, and an `id` that never changes."""

HEAD = "head"
"""The id of the system message, which a policy sees but may not change."""


def call_of(name: str, tool: str, arguments: Any) -> Message:
    """Return a tool call in the form of `tool_calls`. `name` is its id; `arguments` are a text or an object."""
    return {"id": name, "type": "function", "function": {"name": tool, "arguments": arguments}}


def calls_in(message: Message) -> list[tuple[str, str, str]]:
    """Return the id, the tool and the arguments of each call in a message."""
    calls = message.get("tool_calls", ())
    return [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in calls]


def packed(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """Yield groups of messages: the results that follow one response together, any other message alone."""
    for answers, group in groupby(messages, lambda message: message["role"] == "tool"):
        run = list(group)
        yield from [run] if answers else ([message] for message in run)


def without_head(messages: Sequence[Message]) -> tuple[list[Message], list[Message]]:
    """Return the system message, if there is one, and the others. Most frameworks store them separately."""
    cut = 1 if messages and messages[0]["role"] == "system" else 0
    return list(messages[:cut]), list(messages[cut:])


class Group(NamedTuple):
    """The items of one wire message."""

    id: str
    items: tuple[Item, ...]


@dataclass
class Conversation:
    """One transcript's messages. Stores ids, so that a message and its calls keep theirs at every call."""

    calls: dict[int, str] = field(default_factory=dict)
    """The id of a tool call, by its place."""
    _used: set[str] = field(default_factory=set)
    made: dict[int, str] = field(default_factory=dict)
    """Ids that a foreign policy gave to messages of its own, by place."""
    _groups: list[Group] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    """Index of a group, by its id."""
    _seen: View | None = None

    def groups(self, view: View) -> Sequence[Group]:
        """Return the view's items by wire message: each response, each result and each other item is a message.

        The list is valid until the next call with another view.
        """
        start = 0
        if self._seen is not None and view.grew_from(self._seen):
            # New items may belong to the last response, so it is grouped again.
            start = len(self._seen)
            while self._groups and self._groups[-1].items[-1].kind in RESPONSE_KINDS:
                group = self._groups.pop()
                start -= len(group.items)
                del self.numbers[group.id]
        else:
            self._groups, self.numbers = [], {}
        for (response, number), run in groupby(view[start:], _wire_message):
            items = tuple(run)
            for item in items:
                if item.kind == "tool_call" and item.place not in self.calls:
                    own = item.call_id if item.call_id and item.call_id not in self._used else f"call_{item.place}"
                    self._used.add(own)
                    self.calls[item.place] = own
            if response or number >= 0:
                name = f"{'a' if response else 'm'}{number}"
            else:
                name = self.made.get(number, f"s{-number}")
            if name in self.numbers:
                name = f"{name}.{items[0].place}"
            self.numbers[name] = len(self._groups)
            self._groups.append(Group(name, items))
        self._seen = view
        return self._groups

    def messages(self, view: View, head: Head | None = None) -> list[Message]:
        """Return the view as new messages, after the system prompt of the head if one is given."""
        system = [{"id": HEAD, "role": "system", "content": head.system}] if head and head.system else []
        return system + [self.message(group) for group in self.groups(view)]

    def message(self, group: Group) -> Message:
        """Return one group as a message."""
        first = group.items[0]
        message: Message = {"id": group.id}
        if first.kind in RESPONSE_KINDS:
            message |= {"role": "assistant", "content": text_of(group)}
            asked = (item for item in group.items if item.kind == "tool_call")
            if calls := [call_of(self.calls[item.place], item.tool, item.text) for item in asked]:
                message["tool_calls"] = calls
            if reasoning := [item.text for item in group.items if item.kind == "reasoning"]:
                message["reasoning"] = "\n".join(reasoning)
        elif first.kind == "tool_result":
            answered = self.calls.get(-1 if first.answers is None else first.answers, first.call_id)
            message |= {"role": "tool", "tool_call_id": answered, "name": first.tool, "content": first.text}
        else:
            message |= {"role": "user", "content": first.text}
            if first.synthetic:
                message["made"] = first.kind
        if media := [{"kind": one.kind, "tokens": one.tokens} for item in group.items for one in item.media]:
            message["media"] = media
        return message

    def read_on(self, view: View, changed: Sequence[int]) -> None:
        """Update the groups with these numbers to the texts of an edited view, without grouping the view again."""
        for number in changed:
            name, items = self._groups[number]
            self._groups[number] = Group(name, tuple(view[view.position(item.place)] for item in items))
        self._seen = view


def _wire_message(item: Item) -> tuple[bool, int]:
    """What the items of one wire message have in common: a response's message number, or one item's place."""
    response = item.kind in RESPONSE_KINDS
    return response, item.message if response else item.place


def role_of(group: Group) -> str:
    """Return the role of a message."""
    kind = group.items[0].kind
    return "assistant" if kind in RESPONSE_KINDS else "tool" if kind == "tool_result" else "user"


def text_of(group: Group) -> str:
    """Return the text of a message; the texts of a response are joined by line feeds."""
    if group.items[0].kind in RESPONSE_KINDS:
        return "\n".join(item.text for item in group.items if item.kind == "assistant")
    return group.items[0].text
