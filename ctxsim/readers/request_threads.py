"""Recorded requests that grow: from full copies of the history, one a request, to transcripts without repetition.

Requests of one conversation repeat everything before them; what is new stands behind the last response. A request that
has the last response but not the whole history before it was condensed by the agent: the transcript keeps the history,
and its later calls are not comparable. A request that continues no earlier one starts a transcript of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from ctxsim.readers.assembly import Assembly, Part
from ctxsim.transcript import Media, Transcript, Usage

SURE_CHARS = 20
"""A response without call ids is recognised inside a changed history by a first line of this length at least."""


class Answer(msgspec.Struct, frozen=True):
    """A tool result of a request."""

    text: str
    call_id: str = ""
    tool: str = ""
    media: tuple[Media, ...] = ()


class Said(msgspec.Struct, frozen=True):
    """What one message of a request says: a response of the model, or user texts, or a tool result."""

    parts: tuple[Part, ...] = ()
    response: bool = False
    answer: Answer | None = None


class Caught(Assembly):
    """Catches what the messages of a request would add to a transcript, so that requests can be compared."""

    def __init__(self) -> None:
        super().__init__("")
        self.said: list[Said] = []

    def user(self, *parts: Part | str) -> None:
        """A user message."""
        self.said.append(Said(tuple(Part("user", part) if isinstance(part, str) else part for part in parts)))

    def response(
        self,
        parts: Iterable[Part],
        usage: Usage | None = None,
        time_s: float | None = None,
        model: str = "",
        comparable: bool = True,
    ) -> None:
        """An earlier response, as the request repeats it."""
        self.said.append(Said(tuple(parts), response=True))

    def result(self, text: str, call_id: str = "", tool: str = "", media: tuple[Media, ...] = ()) -> None:
        """A tool result."""
        self.said.append(Said(answer=Answer(text, call_id, tool, media)))


class Logged(msgspec.Struct):
    """One request with its response. `where` is for people: a file, or a line."""

    where: str
    request: Caught
    reply: tuple[Part, ...]
    usage: Usage | None = None
    time_s: float | None = None
    model: str = ""

    @property
    def head(self) -> tuple[list[str], list[str]]:
        """System prompt and tool schemas."""
        return self.request.system, self.request.tools


class Step(msgspec.Struct):
    """One call: what its request adds to the transcript, and its response."""

    new: list[Said]
    reply: tuple[Part, ...]
    usage: Usage | None
    time_s: float | None
    model: str
    comparable: bool


class Thread:
    """The calls of one conversation. Of the requests it keeps only the last: each is a copy of those before."""

    def __init__(self, logged: Logged, number: int) -> None:
        self.where = logged.where
        self.number = number
        self.last_number = number
        self.head = logged.head
        self.last = logged
        self.steps: list[Step] = []
        self.whole = True
        self.notes: list[str] = []
        self.retried = self.rewritten = self.other_heads = 0
        self._add(logged.request.said, logged)

    def extend(self, logged: Logged) -> bool:
        """Take a request that repeats the last one and its response; False if it doesn't."""
        said, sent = logged.request.said, self.last.request.said
        length = len(sent)
        if said[:length] != sent or len(said) <= length or not _repeats(said[length], self.steps[-1].reply):
            return False
        self._continue(logged, length)
        return True

    def retry(self, logged: Logged) -> bool:
        """Take a request that repeats the last one without its response, which therefore was not used."""
        said, sent = logged.request.said, self.last.request.said
        if said[: len(sent)] != sent or logged.head != self.last.head:
            return False
        unused = self.steps.pop()
        self.retried += 1
        self._add(unused.new + said[len(sent) :], logged)
        return True

    def continue_condensed(self, logged: Logged, places: dict[str, int]) -> bool:
        """Take a request that has the last response, at one of these places, behind a changed history."""
        at = next((places[mark] for mark in _marks(self.steps[-1].reply) if mark in places), None)
        if at is None:
            return False
        if self.whole:
            self.notes.append(
                f"recorded compaction before call {len(self.steps) + 1} ({_short(logged.where)} leaves out or rewrites "
                "earlier messages): the whole history is kept, this call and later ones are not comparable"
            )
        self.whole = False
        self._continue(logged, at)
        return True

    def _continue(self, logged: Logged, at: int) -> None:
        """Add a call whose request repeats the last response at that index."""
        said = logged.request.said
        last = self.steps[-1]
        repeated = said[at].parts
        if not any(part.kind == "reasoning" for part in repeated):
            repeated = (*(part for part in last.reply if part.kind == "reasoning"), *repeated)
        self.rewritten += _shown(repeated) != _shown(last.reply)
        # The form in which later requests carry a response is what they are billed for.
        last.reply = repeated
        self._add(said[at + 1 :], logged)

    def _add(self, new: list[Said], logged: Logged) -> None:
        same_head = logged.head == self.head
        self.other_heads += not same_head
        self.last = logged
        comparable = self.whole and same_head
        self.steps.append(Step(new, logged.reply, logged.usage, logged.time_s, logged.model, comparable))

    def transcript(self, name: str, format: str, parent: str | None, notes: Iterable[str]) -> Transcript:
        """Return the finished transcript."""
        assembly = Assembly(name, format, parent)
        assembly.system, assembly.tools = self.head
        assembly.head_recorded = bool(assembly.system)
        assembly.notes += [*notes, *dict.fromkeys(self.last.request.notes), *self.notes]
        only_repeated = 0
        for step in self.steps:
            for said in step.new:
                only_repeated += said.response
                _add_said(assembly, said)
            assembly.response(step.reply, step.usage, step.time_s, step.model, step.comparable)
        for count, what in (
            (only_repeated, "response(s) known only from a later request: without usage and time"),
            (self.rewritten, "response(s) kept in the form in which the next request repeats them"),
            (self.retried, "response(s) that the next request does not repeat left out (retried)"),
            (self.other_heads, "request(s) have another system prompt or other tools than the first; its head is kept"),
        ):
            if count:
                assembly.notes.append(f"{count} {what}")
        return assembly.transcript()


def transcripts(
    records: Iterable[Logged], name: str, format: str, notes: Sequence[str] = (), one_run: bool = False
) -> Iterator[Transcript]:
    """Return one transcript per conversation, from its requests in order of time.

    In `one_run`, a conversation that starts while another is going on is its child. `notes` may still grow while
    records are read; they go to the first transcript.
    """
    threads: list[Thread] = []
    for number, logged in enumerate(records):
        thread = _taken(threads, logged)
        if thread:
            thread.last_number = number
        else:
            threads.append(Thread(logged, number))
    names = [f"{name}#{index}" for index in range(1, len(threads) + 1)] if len(threads) > 1 else [name]
    for index, thread in enumerate(threads):
        going_on = (n for n in range(index) if one_run and threads[n].last_number > thread.number)
        parent = next(going_on, None)
        own = [f"starts at {_short(thread.where)}, which continues no earlier request"] if index else notes
        yield thread.transcript(names[index], format, None if parent is None else names[parent], own)


def _taken(threads: list[Thread], logged: Logged) -> Thread | None:
    """Return the thread that takes a request, the newest first, or None."""
    newest_first = threads[::-1]
    for way in (Thread.extend, Thread.retry):
        for thread in newest_first:
            if way(thread, logged):
                return thread
    places = {mark: n for n, said in enumerate(logged.request.said) if said.response for mark in _marks(said.parts)}
    return next((thread for thread in newest_first if thread.continue_condensed(logged, places)), None)


def _short(where: str) -> str:
    return where.rsplit("/", 1)[-1]


def _thread_name(name: str, index: int, threads: list[Thread]) -> str:
    return f"{name}#{index + 1}" if len(threads) > 1 else name


def _add_said(assembly: Assembly, said: Said) -> None:
    if said.answer:
        assembly.result(said.answer.text, said.answer.call_id, said.answer.tool, said.answer.media)
    elif said.response:
        assembly.response(said.parts)
    else:
        assembly.user(*said.parts)


def _shown(parts: Iterable[Part]) -> list[tuple[str, str]]:
    return [(part.tool, part.text) for part in parts if part.kind != "reasoning"]


def _text(parts: Iterable[Part]) -> str:
    return "".join(part.tool + part.text for part in parts if part.kind != "reasoning").strip()


def _call_ids(parts: Sequence[Part]) -> set[str]:
    return {part.call_id for part in parts if part.call_id}


def _repeats(said: Said, reply: tuple[Part, ...]) -> bool:
    """Whether a message of a request is that response, perhaps with its calls written into the text."""
    if not said.response:
        return False
    ids, earlier = _call_ids(said.parts), _call_ids(reply)
    if ids and earlier:
        return bool(ids & earlier)
    text = "".join(part.text for part in reply if part.kind == "assistant").strip()
    tools = [part.tool for part in said.parts if part.kind == "tool_call"]
    if not tools:
        # Agents leave out calls that they could not parse.
        return _text(said.parts) == text
    return tools == [part.tool for part in reply if part.kind == "tool_call"] and _text(said.parts).startswith(text)


def _marks(parts: Sequence[Part]) -> list[str]:
    """Return what a response is recognised by inside a changed history: its call ids, else its first line."""
    ids = sorted(_call_ids(parts))
    first_line = "".join(part.text for part in parts if part.kind == "assistant").strip().partition("\n")[0]
    return ids or [first_line] * (len(first_line) >= SURE_CHARS)
