"""Logged requests with their responses: from full copies of the history to transcripts without repetition.

What is new in a request stands behind the last response. A request that was made from a changed history was condensed
by the agent: the transcript keeps the whole history. Where it holds a summary, that is a compaction; where earlier
messages were only left out or shortened, the calls from there on are not comparable.
"""

from collections import Counter as Frequencies
from collections.abc import Hashable, Iterable, Iterator, Sequence

import msgspec

from ctxsim.readers.assembly import Assembly, Part, kept_and_new
from ctxsim.readers.assembly.requests.threads import Request, Thread, threads
from ctxsim.transcript import Kind, Media, Transcript, Usage

SURE_CHARS = 20
"""A response without call ids is recognised inside a changed history by a first line of this length at least."""

MOST_RETRIES = 3
"""So often SWE-agent asks again for a response in the right form (`max_requeries` of its agent)."""

ONLY_REPEATED = "response(s) known only from a later request: without usage and time"
REWRITTEN = "response(s) kept in the form in which the next request repeats them"
ABANDONED = "response(s) from which no later request went on left out (retried or rewound)"
OTHER_HEAD = "request(s) have another system prompt or other tools than the first; its head is kept"
ASKED_AGAIN = "response(s) in a wrong form left out: they were asked for again, and no later request holds them"
COUNTED = (ONLY_REPEATED, REWRITTEN, ABANDONED, ASKED_AGAIN, OTHER_HEAD)


class Said(msgspec.Struct, frozen=True):
    """What one message of a request says: a response of the model, or user texts, or a tool result."""

    parts: tuple[Part, ...] = ()
    response: bool = False
    answer: Part | None = None


class Caught(Assembly):
    """Catches what the messages of a request would add to a transcript, so that requests can be compared."""

    def __init__(self) -> None:
        super().__init__("")
        self.said: list[Said] = []

    @property
    def calls(self) -> int:
        """Number of responses so far."""
        return sum(said.response for said in self.said)

    def user(self, *parts: Part | str) -> None:
        """A user message."""
        self.said.append(Said(tuple(Part("user", part) if isinstance(part, str) else part for part in parts)))

    def response(self, parts: Iterable[Part], *_: object, **__: object) -> None:
        """An earlier response, as the request repeats it: nothing is told of its own request."""
        self.said.append(Said(tuple(parts), response=True))

    def result(self, text: str, call_id: str = "", tool: str = "", media: tuple[Media, ...] = ()) -> None:
        """A tool result."""
        self.said.append(Said(answer=Part("tool_result", text, tool, call_id, media)))


class Logged(msgspec.Struct):
    """One request with its response. `where` is for people: a file, or a line.

    `context` tells sessions apart, where the log does; `compacted`: the log says that the history was shortened here.
    """

    where: str
    request: Caught
    reply: tuple[Part, ...]
    usage: Usage | None = None
    time_s: float | None = None
    model: str = ""
    context: str = ""
    compacted: bool = False

    @property
    def head(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """System prompt and tool schemas."""
        return tuple(self.request.system), tuple(self.request.tools)


def transcripts(
    records: Iterable[Logged], name: str, format: str, notes: Sequence[str] = (), one_run: bool = False
) -> Iterator[Transcript]:
    """Return one transcript per conversation, from its requests in order of time.

    In `one_run`, a conversation that starts while another is going on is its child. `notes` may still grow while
    records are read; they go to the first transcript. A log without a response is one without calls.
    """
    said: dict[Said, Said] = {}
    logs: list[Logged] = []
    for logged in records:
        # Each request is a copy of those before it: what they share is held once.
        logged.request.said = [said.setdefault(one, one) for one in logged.request.said]
        logs.append(logged)
    found = threads(
        [_request(logged) for logged in logs],
        lambda earlier, number, at: _repeats(logs[number].request.said[at], logs[earlier].reply),
    )
    if not found:
        empty = Assembly(name, format)
        empty.notes += notes
        yield empty.finished()
    names = [f"{name}#{index}" for index in range(1, len(found) + 1)] if len(found) > 1 else [name]
    for index, thread in enumerate(found):
        parent = next((names[n] for n in range(index) if one_run and found[n].last > thread.first), None)
        start = f"starts at {_short(logs[thread.first].where)}, which continues no earlier request"
        yield _transcript(Assembly(names[index], format, parent), [start] if index else notes, thread, logs)


def _request(logged: Logged) -> Request:
    said = logged.request.said
    places: dict[Hashable, int] = {mark: n for n, one in enumerate(said) if one.response for mark in _marks(one.parts)}
    reply = hash(Said(logged.reply, response=True))
    marks = _marks(logged.reply)
    return Request([*map(hash, said)], reply, places, marks, logged.context, logged.head, logged.compacted)


class LoggedCall(msgspec.Struct):
    """One call of a conversation: what its request adds to the history, and its response as it is repeated later."""

    logged: Logged
    new: list[Said]
    reply: tuple[Part, ...]
    whole: bool
    shorter: bool = False
    asked_again: bool = False
    replaced: int = 0
    """Leading messages of the request that a compaction put in the place of the history, if none of it is a reply."""


def _transcript(assembly: Assembly, notes: Iterable[str], thread: Thread, logs: Sequence[Logged]) -> Transcript:
    """Return one conversation. A response stays in the form in which the next request repeats it: so it is billed."""
    counts: Frequencies[str] = Frequencies()
    calls = _calls(thread, logs, counts)
    first, last = calls[0].logged, calls[-1].logged
    assembly.system, assembly.tools = map(list, first.head)
    assembly.notes += [*notes, *dict.fromkeys(last.request.notes)]
    whole = True
    for call in calls:
        logged = call.logged
        replaced = call.replaced and _compacted(assembly, logged.request.said[: call.replaced])
        for said in call.new:
            counts[ONLY_REPEATED] += said.response
            if said.answer:
                assembly.give(said.answer)
            elif said.response:
                assembly.response(said.parts)
            else:
                assembly.user(*said.parts)
        if not call.whole:
            # Where no message is missing, old ones were shortened where they stood: no summary replaced them.
            compacted = replaced or (call.shorter and _compacted(assembly, logged.request.said))
            if whole or compacted:
                unclear = "" if compacted else ", this call and later ones are not comparable"
                detail = f"{_short(logged.where)} leaves out or rewrites earlier messages"
                assembly.compaction_note(detail, f": the whole history is kept{unclear}")
            whole = compacted
        counts[REWRITTEN] += _shown(call.reply) != _shown(logged.reply)
        same_head = logged.head == first.head
        counts[OTHER_HEAD] += not same_head
        comparable = whole and same_head and not call.asked_again
        assembly.response(call.reply, logged.usage, logged.time_s, logged.model, comparable)
    counts[ABANDONED] = len(thread.abandoned)
    assembly.notes += [f"{counts[what]} {what}" for what in COUNTED if counts[what]]
    return assembly.transcript()


def _calls(thread: Thread, logs: Sequence[Logged], counts: Frequencies[str]) -> list[LoggedCall]:
    """Return the calls of a thread without those that were asked for again, as SWE-agent does after a bad format.

    The second try is sent the failed response and what was wrong with it; no later request holds either.
    """
    calls: list[LoggedCall] = []
    for step in thread.steps:
        logged = logs[step.number]
        said = logged.request.said
        call = LoggedCall(logged, said[step.known :], logged.reply, step.whole)
        if calls:
            last = calls[-1]
            length = step.known - 1
            failed = [each for each in calls[:-1] if len(each.logged.request.said) >= length]
            sent = last.logged.request.said
            # What failed was no tool call: a dropped exchange with a result was shortened away, not asked for again.
            dropped = said[:length] == sent[:length] and not any(one.answer for one in sent[length:])
            if dropped and 0 < len(failed) <= MOST_RETRIES and len(failed[0].logged.request.said) == length:
                counts[ASKED_AGAIN] += len(failed)
                last.new, last.whole, last.asked_again = failed[0].new, failed[0].whole, True
                call.whole = True
                calls = [*calls[: -1 - len(failed)], last]
            call.shorter = length < len(sent)
            if logged.compacted and not said[length].response:
                # No reply is left of the history: what follows the messages that are known is the summary.
                call.replaced, call.new = step.known + 1, call.new[1:]
                calls.append(call)
                continue
            last.reply = _as_repeated(last.logged.reply, said[length])
        calls.append(call)
    return calls


def _compacted(assembly: Assembly, history: Iterable[Said]) -> bool:
    """Take a request's messages, a shorter history with texts that nobody had said: a summary. False if it isn't."""
    said: list[tuple[Kind, str]] = []
    for one in history:
        said += [(part.kind, part.text) for part in (*filter(None, [one.answer]), *one.parts)]
    kept, new = kept_and_new(assembly.items, said)
    if any(new):
        assembly.compacted("", new, kept)
    return any(new)


def _as_repeated(reply: tuple[Part, ...], said: Said) -> tuple[Part, ...]:
    """Return a response as a request repeats it, with its reasoning also where that is not resent."""
    if any(part.kind == "reasoning" for part in said.parts):
        return said.parts
    return (*(part for part in reply if part.kind == "reasoning"), *said.parts)


def _short(where: str) -> str:
    return where.rsplit("/", 1)[-1]


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
