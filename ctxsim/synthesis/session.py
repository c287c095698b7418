"""A transcript as it grows: items in their places, messages numbered, calls and planted facts beside them."""

import json
from collections.abc import Iterable

from ctxsim.errors import CtxsimError
from ctxsim.transcript import Call, Head, Item, Needle, Transcript

MOST_CALLS = 50_000
MOST_CHARS = 50_000_000
"""Of one made conversation: hundreds of times as long as any that agents recorded."""


class Session:
    """What generators tell, exchange by exchange."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.calls: list[Call] = []
        self.needles: list[Needle] = []
        self._said_chars = 0

    @property
    def message(self) -> int:
        """The number of the next message."""
        return self.items[-1].message + 1 if self.items else 1

    def user(self, text: str) -> int:
        """Add a text of the user, and return its place."""
        return self._add(Item("user", len(self.items), self.message, text))

    def respond(self, text: str, tool: str = "", arguments: str = "", call_id: str = "") -> None:
        """Add a call with its response: a text where there is one, and a tool call where a tool is named."""
        start, message = len(self.items), self.message
        if text:
            self._add(Item("assistant", start, message, text))
        if tool:
            self._add(Item("tool_call", len(self.items), message, arguments, tool, None, call_id))
        self.calls.append(Call(start, len(self.items)))

    def result(self, text: str) -> int:
        """Add the result that answers the newest tool call, and return its place."""
        called = self.items[-1]
        return self._add(
            Item("tool_result", len(self.items), self.message, text, called.tool, called.place, called.call_id)
        )

    def _add(self, item: Item) -> int:
        """Add an item, and return its place. Raises CtxsimError where the scenario asks for too much."""
        self._said_chars += len(item.text)
        if len(self.calls) >= MOST_CALLS or self._said_chars > MOST_CHARS:
            raise CtxsimError(
                f"synthesis.parameters ask for more than {MOST_CALLS:,} calls or {MOST_CHARS:,} characters"
            )
        self.items.append(item)
        return len(self.items) - 1

    def transcript(self, name: str, head: Head) -> Transcript:
        """Return all of it; of the facts those that a call uses."""
        needles = tuple(needle for needle in self.needles if needle.used)
        return Transcript(name, head, tuple(self.items), tuple(self.calls), format="synthetic", needles=needles)


def schema(tool: str, description: str, fields: dict[str, str], required: Iterable[str]) -> str:
    """Return what a head says of a tool, as compact JSON; `fields` are types by name."""
    properties = {field: {"type": kind} for field, kind in fields.items()}
    wanted = {"type": "object", "properties": properties, "required": list(required)}
    return json.dumps({"name": tool, "description": description, "input_schema": wanted}, separators=(",", ":"))
