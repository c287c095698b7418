"""A recorded conversation as a pure value: head, items and calls."""

from __future__ import annotations

from typing import Literal

import msgspec

Kind = Literal["user", "assistant", "reasoning", "tool_call", "tool_result", "summary", "note"]

RESPONSE_KINDS = frozenset({"assistant", "reasoning", "tool_call"})
SYNTHETIC_KINDS = frozenset({"summary", "note"})

NO_RESULT = "[no result recorded]"
"""Stands for the result of a tool call that the recording leaves unanswered."""


class Media(msgspec.Struct, frozen=True, omit_defaults=True):
    """Content that is not text; `tokens` by the vendor's documented rule, not by a tokenizer."""

    kind: str
    tokens: int


class Item(msgspec.Struct, frozen=True, omit_defaults=True):
    """One block of a conversation.

    `place` is the position in the recording, counted from 0; an edited item keeps it, so an edit always says
    which recorded item it stands for. Items made by a policy have a negative place and name their `sources`;
    `at` is then the place of the recorded item that they stand before.
    """

    kind: Kind
    place: int
    message: int
    text: str = ""
    tool: str = ""
    answers: int | None = None
    call_id: str = ""
    media: tuple[Media, ...] = ()
    sources: tuple[int, ...] = ()
    at: int = 0

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that a tokenizer counts; a tool call is its name and its arguments."""
        return (self.tool, self.text) if self.kind == "tool_call" else (self.text,)

    @property
    def synthetic(self) -> bool:
        """Whether a policy made this item."""
        return self.place < 0

    @property
    def order(self) -> int:
        """Sort key of an item in a view."""
        return self.at if self.place < 0 else self.place

    def with_text(self, text: str) -> Item:
        """The same item with other text; non-text content is kept."""
        return msgspec.structs.replace(self, text=text)


class Head(msgspec.Struct, frozen=True, omit_defaults=True):
    """What goes with every request. `recorded` is false where the source does not store it."""

    system: str = ""
    tools: tuple[str, ...] = ()
    recorded: bool = True

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that a tokenizer counts: the system prompt and each tool schema as JSON text."""
        return (self.system, *self.tools)


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens as a provider reports them. `input_tokens` is the whole prompt: uncached + cache write + read."""

    input_tokens: int
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


class Call(msgspec.Struct, frozen=True, omit_defaults=True):
    """One request and its response: the request holds `items[:start]`, the response is `items[start:end]`."""

    start: int
    end: int
    usage: Usage | None = None
    time_s: float | None = None
    model: str = ""
    comparable: bool = True
    """False where the recorded request was not the whole history, e.g. after the agent's own compaction."""
    head: Head | None = None
    """What went with this request, where that differs from the transcript's head: a waste of any prompt cache."""


class Needle(msgspec.Struct, frozen=True, omit_defaults=True):
    """A planted fact or rule: the item that holds it, where in it, and the calls, from 1, that use it."""

    kind: str
    text: str
    place: int
    depth: str
    used: tuple[int, ...]


class Transcript(msgspec.Struct, frozen=True, omit_defaults=True):
    """One conversation. `name` is unique in a run; `parent` names the transcript that started a sub-agent."""

    name: str
    head: Head
    items: tuple[Item, ...]
    calls: tuple[Call, ...]
    format: str = ""
    parent: str | None = None
    notes: tuple[str, ...] = ()
    needles: tuple[Needle, ...] = ()

    @property
    def model(self) -> str:
        """The model of the first call that names one, or ''."""
        return next((call.model for call in self.calls if call.model), "")


def problems(transcript: Transcript) -> list[str]:
    """Return every way in which a transcript breaks its own rules; empty for one that can be replayed."""
    found: list[str] = []
    for number, item in enumerate(transcript.items):
        if item.place != number:
            found.append(f"item {number} says its place is {item.place}")
        if item.kind in SYNTHETIC_KINDS:
            found.append(f"item {number} is a {item.kind}, which only policies make")
        if item.kind == "tool_result" and (
            item.answers is None or not 0 <= item.answers < number or transcript.items[item.answers].kind != "tool_call"
        ):
            found.append(f"item {number} is a result that answers no earlier tool call")
    end = 0
    for number, call in enumerate(transcript.calls, 1):
        if not end <= call.start <= call.end <= len(transcript.items):
            found.append(f"call {number} spans items {call.start}..{call.end}, after {end}")
        for item in transcript.items[call.start : call.end]:
            if item.kind not in RESPONSE_KINDS:
                found.append(f"call {number} has a {item.kind} in its response")
        for item in transcript.items[end : call.start]:
            if item.kind in RESPONSE_KINDS:
                found.append(f"item {item.place} is a {item.kind} outside any response")
        end = call.end
    return found
