"""A recorded conversation as a pure value: head, items and calls; and what items measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

Kind = Literal["user", "assistant", "reasoning", "tool_call", "tool_result", "summary", "note"]

StartedBy = Literal["auto", "manual", "overflow", ""]
"""What started a recorded compaction; '' where the log doesn't say."""

RESPONSE_KINDS = frozenset({"assistant", "reasoning", "tool_call"})
SYNTHETIC_KINDS = frozenset({"summary", "note"})

NO_RESULT = "[no result recorded]"
"""Stands for the result of a tool call that the recording leaves unanswered."""

CLEARED = "[Old tool result content cleared]"
"""Stands for a result that the agent has cleared. Claude Code's words, and OpenCode's."""

NO_HISTORY = "the history before the recorded compaction is missing: starts with its summary"
"""A note: the recording begins behind a compaction, of which nothing but the summary is known."""

UNLOGGED = "unlogged"
"""Kind of media that stand for tokens which were sent and are in no log: known by their number only."""

UNSHOWN = "unshown"
"""Kind of media that stand for thinking of which a log shows a part: as many tokens of text, as we count."""


class Media(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Content that is not text; `tokens` by the vendor's documented rule, not by a tokenizer."""

    kind: str
    tokens: int


class Item(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
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


class Head(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What goes with every request. `recorded` is false where the source does not store it.

    `hidden` are the provider's tokens of what isn't in the texts: fitted to recorded usage, or a prior.
    """

    system: str = ""
    tools: tuple[str, ...] = ()
    recorded: bool = True
    hidden: int = 0

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that a tokenizer counts: the system prompt and each tool schema as JSON text."""
        return (self.system, *self.tools)


class Usage(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Tokens as a provider reports them. `input_tokens` is the whole prompt: uncached + cache write + read.

    `cache_write_long_tokens` are those of `cache_write_tokens` that were written for the longer of a vendor's two cache
    lifetimes. `cost_usd` is what the log says this call cost, all of it, in dollars. `output_begun_tokens` is what a
    log states of a response that it shows unfinished: so many were written by then, and the whole isn't known.
    """

    input_tokens: int
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None
    cache_write_long_tokens: int | None = None
    output_begun_tokens: int | None = None

    @property
    def total_tokens(self) -> int:
        """The prompt's and the response's."""
        return self.input_tokens + (self.output_tokens or 0)

    def reported(self, factor: float) -> Usage:
        """Return the same as an endpoint reports it that is off by a factor."""
        if factor == 1:
            return self
        given = ((name, getattr(self, name)) for name in self.__struct_fields__ if name != "cost_usd")
        return Usage(**{name: int(count * factor) for name, count in given if count is not None})

    def costing(self, usd: float | None) -> Usage:
        """Return the same with what the log says the call cost."""
        return msgspec.structs.replace(self, cost_usd=usd)


class Call(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One request and its response: the request holds `items[:start]`, the response is `items[start:end]`."""

    start: int
    end: int
    usage: Usage | None = None
    time_s: float | None = None
    model: str = ""
    comparable: bool = True
    """False where the recorded request was not the history of its segment, e.g. after a clearing of old results."""
    head: Head | None = None
    """What went with this request, where that differs from the transcript's head: a waste of any prompt cache."""
    window: int | None = None
    """The model's window in tokens, only where the log states it for this call."""
    held: int | None = None
    """The most tokens of a request that the provider's cache could read, whoever sent it, where recorded reads
    contradict the vendor's rules: fewer, 0 for nothing, or some although they should have expired. None: by the rules.
    """


class Compaction(msgspec.Struct, frozen=True, omit_defaults=True):
    """The recorded agent's own compaction: requests from `call` on begin with `summary`, not with the history before.

    `call` counts from 1 and is one past the last where no call follows. Recorded items before the place `at` left the
    request, except those at the places `kept`. `summary` holds the texts that the log says were sent in place of the
    history, in order; empty where the log doesn't keep them.
    """

    call: int
    at: int
    # In our own format as in the logs that record it: a trigger.
    started_by: StartedBy = msgspec.field(default="", name="trigger")
    summary: tuple[str, ...] = ()
    kept: tuple[int, ...] = ()
    tokens_before: int | None = None
    tokens_after: int | None = None
    seconds: float | None = None


class Needle(msgspec.Struct, frozen=True, omit_defaults=True):
    """A planted fact or rule: the item that holds it, where in it, and the calls, from 1, that use it.

    `replaces` is what was told before in its place, and holds no longer.
    """

    kind: str
    text: str
    place: int
    depth: str
    used: tuple[int, ...]
    replaces: str = ""


class Transcript(msgspec.Struct, frozen=True, omit_defaults=True):
    """One conversation. `name` is unique in a run. For a sub-agent, `parent` is the name of the transcript that started
    it.

    `compactions` are those that the recorded agent made, in order; `items` hold the whole history all the same.
    Each pair (call, place) in `cleared` says from which call on, counted from 1, the agent's requests lacked the text
    of which tool result: the item at `place`.
    After a compaction, the first `carried` items of a segment are the summary and the items that were kept; of a fork,
    they are the other session's. `after_compaction`: this segment begins at a recorded compaction.
    `compacted_at` is the recorded input, in tokens, at which the agent ended this segment by an automatic compaction.
    It is None if this size is unknown, or if the segment ended in another way.
    `cost_usd` is a session's cost in dollars if the log states only the total. `project` is the folder that the agent
    worked in, and `version` the agent's version; both are '' if the log doesn't say. `beside` holds responses that
    are in the log but not in the conversation, such as those of abandoned branches. They were paid for, and have
    usage but no items.
    """

    name: str
    head: Head
    items: tuple[Item, ...]
    calls: tuple[Call, ...]
    format: str = ""
    parent: str | None = None
    notes: tuple[str, ...] = ()
    needles: tuple[Needle, ...] = ()
    compactions: tuple[Compaction, ...] = ()
    cleared: tuple[tuple[int, int], ...] = ()
    carried: int = 0
    after_compaction: bool = False
    compacted_at: int | None = None
    cost_usd: float | None = None
    project: str = ""
    version: str = ""
    beside: tuple[Call, ...] = ()

    @property
    def model(self) -> str:
        """The first model that a call names; '' if no call names one."""
        return next((call.model for call in self.calls if call.model), "")


class Sizes:
    """What items measure, remembered by place: most of what any policy sends is as recorded."""

    __slots__ = ("_edited", "_known", "_measure", "_sums")

    def __init__(self, measure: Callable[[Item], int]) -> None:
        self._measure = measure
        self._sums: dict[int, tuple[Sequence[Item], int]] = {}
        self._known: dict[int, tuple[Item, int]] = {}
        """As an item came first, which is mostly as recorded; what policies make of it doesn't take its place."""
        self._edited: dict[int, tuple[Item, int]] = {}

    def __call__(self, item: Item) -> int:
        """Return what an item measures."""
        found = self._known.get(item.place)
        if found is not None and found[0] is item:
            return found[1]
        if found is None:
            found = self._known[item.place] = (item, self._measure(item))
            return found[1]
        found = self._edited.get(item.place)
        if found is None or found[0] is not item:
            found = self._edited[item.place] = (item, self._measure(item))
        return found[1]

    def of(self, items: Sequence[Item]) -> int:
        """Return what items measure together; the same tuple is added up once."""
        if not isinstance(items, tuple):
            return sum(map(self, items))
        found = self._sums.get(id(items))
        if found is None:
            # Kept beside its sum: while it is, no other tuple has its id.
            found = self._sums[id(items)] = (items, sum(map(self, items)))
        return found[1]


def problems(transcript: Transcript) -> list[str]:
    """Return every way in which a transcript breaks its own rules; empty for one that can be replayed."""
    found: list[str] = []
    for number, item in enumerate(transcript.items):
        if item.place != number:
            found.append(f"item {number} says its place is {item.place}")
        if abs(item.message) >= 2**63:
            found.append(f"item {number} says its message is {item.message}")
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
            if item.kind in RESPONSE_KINDS and item.place >= transcript.carried:
                found.append(f"item {item.place} is a {item.kind} outside any response")
        end = call.end
    return found + _problems_of_edits(transcript)


def _problems_of_edits(transcript: Transcript) -> list[str]:
    """What is wrong with a transcript's compactions, clearings and carried items."""
    found: list[str] = []
    calls, size = transcript.calls, len(transcript.items)
    first = calls[0].start if calls else size
    if not 0 <= transcript.carried <= first:
        found.append(f"{transcript.carried} items are carried over, but the first request has {first}")
    before = 2
    for number, compaction in enumerate(transcript.compactions, 1):
        call, at, kept = compaction.call, compaction.at, compaction.kept
        if not before <= call <= len(calls) + 1:
            found.append(f"compaction {number} is before call {call}, which doesn't follow an earlier call")
            continue
        before = call
        start = calls[call - 1].start if call <= len(calls) else size
        if not calls[call - 2].end <= at <= start:
            found.append(f"compaction {number} before call {call} is at place {at}, not between its neighbours")
        if list(kept) != sorted(set(kept)) or any(not 0 <= place < at for place in kept):
            found.append(f"compaction {number} keeps places that are not earlier ones in order")
    for call, place in transcript.cleared:
        if not 1 <= call <= len(calls) + 1 or not 0 <= place < size or transcript.items[place].kind != "tool_result":
            found.append(f"place {place}, cleared from call {call} on, is no tool result of an earlier request")
    return found
