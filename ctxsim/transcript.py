"""A recorded conversation as a pure value: head, items and calls; and a memo of items' sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec

Kind = Literal["user", "assistant", "reasoning", "tool_call", "tool_result", "summary", "note"]

StartedBy = Literal["auto", "manual", "overflow", ""]
"""What started a recorded compaction; '' where the log doesn't say."""

RESPONSE_KINDS = frozenset({"assistant", "reasoning", "tool_call"})
SYNTHETIC_KINDS = frozenset({"summary", "note"})

NO_RESULT = "[no result recorded]"
"""Stands for the result of a tool call that the recording leaves unanswered."""

CLEARED = "[Old tool result content cleared]"
"""Text in place of a result that the agent has cleared, as Claude Code and OpenCode write it."""

NO_HISTORY = "the history before the recorded compaction is missing"
"""Note of a recording that begins after a compaction: of the history before, only the summary is known."""

UNLOGGED = "unlogged"
"""Media kind for tokens that were sent but aren't in the log. Only their number is known."""

UNSHOWN = "unshown"
"""Media kind for thinking that the log doesn't show. `tokens` is in tokens of o200k_base."""


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
    """System prompt and tool schemas, sent with every request. `recorded` is False if the source doesn't store them.

    `hidden` is the number of the provider's tokens that aren't in the texts: fitted to recorded usage, or a prior.
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
    lifetimes. `cost_usd` is what the log says this call cost, all of it, in dollars. `output_begun_tokens` is the
    output so far of a response that the log shows unfinished; the total output isn't known. `served` is how the request
    was served: the vendor's words between spaces, such as fast, flex, batch or us; '' for the standard way.
    `web_searches` are those that the provider made for the response, and bills one by one.
    """

    input_tokens: int
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None
    cache_write_long_tokens: int | None = None
    output_begun_tokens: int | None = None
    served: str = ""
    web_searches: int | None = None

    @property
    def total_tokens(self) -> int:
        """Tokens of prompt and response together; an unknown output counts as 0."""
        return self.input_tokens + (self.output_tokens or 0)

    def reported(self, factor: float) -> Usage:
        """Return the tokens times `factor`, rounded down, without the rest; this usage itself if the factor is 1."""
        if factor == 1:
            return self
        given = ((name, getattr(self, name)) for name in self.__struct_fields__ if name.endswith("_tokens"))
        tokens: dict[str, Any] = {name: int(count * factor) for name, count in given if count is not None}
        return Usage(**tokens)

    def costing(self, usd: float | None) -> Usage:
        """Return this usage with the dollars that the log states for the call."""
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
    """This request's head if it differs from the transcript's. Another head makes any prompt cache miss."""
    window: int | None = None
    """The model's window in tokens, only where the log states it for this call."""
    held: int | None = None
    """The most tokens that the provider's cache could read at this call, under any policy, if recorded reads contradict
    the vendor's rules: fewer, 0 for nothing, or some that should have expired. None: the rules decide.
    """

    @property
    def served(self) -> str:
        """How the request was served, as its usage states it; '' for the standard way, or without usage."""
        return self.usage.served if self.usage else ""


class Compaction(msgspec.Struct, frozen=True, omit_defaults=True):
    """The recorded agent's own compaction: requests from `call` on begin with `summary`, not with the history before.

    `call` counts from 1 and is one past the last where no call follows. Recorded items before the place `at` left the
    request, except those at the places `kept`. `summary` holds the texts that the log says were sent in place of the
    history, in order; empty where the log doesn't keep them. `time_s` is the Unix time of the request for it.
    """

    call: int
    at: int
    # Our own format and the logs call it `trigger`.
    started_by: StartedBy = msgspec.field(default="", name="trigger")
    summary: tuple[str, ...] = ()
    kept: tuple[int, ...] = ()
    tokens_before: int | None = None
    tokens_after: int | None = None
    seconds: float | None = None
    time_s: float | None = None


class Needle(msgspec.Struct, frozen=True, omit_defaults=True):
    """A planted fact or rule: the item that holds it, where in it, and the calls, from 1, that use it.

    `replaces` is the earlier fact or rule that this one supersedes, if any.
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
    `cost_usd` is a session's cost in dollars, with its sub-agents, if the log states only the total. `project` is the
    folder that the agent worked in, and `version` its version; both are '' if the log doesn't say. `beside` holds
    responses that are in the log but not in the conversation, such as those of abandoned branches. They were paid for,
    and have usage but no items. One that wrote a compaction's summary has the compaction's place as its `start`, others
    have 0. One with a greater `end` states the total of a model for all calls in between whose own usage isn't logged.
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
    """Memo of items' sizes, by place: of each item the first version, mostly the recorded one, and the newest other."""

    __slots__ = ("_edited", "_known", "_measure", "_sums")

    def __init__(self, measure: Callable[[Item], int]) -> None:
        self._measure = measure
        self._sums: dict[int, tuple[Sequence[Item], int]] = {}
        self._known: dict[int, tuple[Item, int]] = {}
        """The first version of each item. An edited version doesn't replace it."""
        self._edited: dict[int, tuple[Item, int]] = {}

    def __call__(self, item: Item) -> int:
        """Return the size of an item."""
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
        """Return the sum of the items' sizes; for the same tuple it is computed once."""
        if not isinstance(items, tuple):
            return sum(map(self, items))
        found = self._sums.get(id(items))
        if found is None:
            # The tuple is kept with its sum, so that no other tuple can get its id.
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
