"""Turns logged requests, each a full copy of the history, and their responses into transcripts without repetition.

The new messages of a request are those behind the last response. A request with a changed history was condensed by the
agent; the transcript keeps the whole history. If the request holds a summary, that is a compaction. If earlier messages
were only left out or shortened, the calls from there on are not comparable.
"""

import math
from collections import Counter as Frequencies
from collections.abc import Hashable, Iterable, Iterator, Sequence

import msgspec

from ctxsim.errors import InputError
from ctxsim.readers.assembly import Assembly, Part, kept_and_new
from ctxsim.readers.assembly.anthropic_content import Inside, add_inside
from ctxsim.readers.assembly.requests.threads import Request, Thread, threads
from ctxsim.transcript import Kind, Media, Transcript, Usage

SURE_CHARS = 20
"""Fewest characters of a first line by which a response without call ids is recognised in a changed history."""

MOST_JOINED = 4_000_000
"""Most messages that a log's requests have before them at the provider, all together: of 2,000 calls in a row."""

MOST_RETRIES = 3
"""How often SWE-agent asks again for a response in the right form (`max_requeries` of its agent)."""

AGAIN = "repeated request(s) left out"
ONLY_REPEATED = "response(s) known only from a later request: without usage and time"
REWRITTEN = "response(s) kept in the form in which the next request repeats them"
ABANDONED = "response(s) from which no later request went on left out (retried or rewound)"
OTHER_HEAD = "request(s) have another system prompt or other tools than the first; its head is kept"
ASKED_AGAIN = "response(s) in a wrong form left out: they were asked for again, and no later request holds them"


class Said(msgspec.Struct, frozen=True):
    """One message of a request: a response of the model, or user texts, or a tool result."""

    parts: tuple[Part, ...] = ()
    response: bool = False
    answer: Part | None = None


class Caught(Assembly):
    """Collects the messages of a request, instead of building a transcript, so that requests can be compared."""

    def __init__(self) -> None:
        super().__init__("")
        self.said: list[Said] = []

    @property
    def calls(self) -> int:
        return sum(said.response for said in self.said)

    def user(self, *parts: Part | str) -> None:
        self.said.append(Said(tuple(Part("user", part) if isinstance(part, str) else part for part in parts)))

    def response(self, parts: Iterable[Part], *_: object, **__: object) -> None:
        """Add an earlier response that the request repeats. The data of its own request is ignored."""
        self.said.append(Said(tuple(parts), response=True))

    def result(self, text: str, call_id: str = "", tool: str = "", media: tuple[Media, ...] = ()) -> None:
        self.said.append(Said(answer=Part("tool_result", text, tool, call_id, media)))

    def compacted(self, *_: object, **__: object) -> None:
        """Note a compaction: what it did is seen in the requests themselves."""
        self.shortening("recorded compaction")


class Logged(msgspec.Struct):
    """One request with its response. `where` is its file or line, for notes.

    `context` separates sessions, if the log does; `compacted`: the log says that the history was shortened here. `id`
    names the response; `after` names the one whose history the provider keeps and puts before this request. `inside`
    are requests that the server made for the response.
    """

    where: str
    request: Caught
    reply: tuple[Part, ...]
    usage: Usage | None = None
    time_s: float | None = None
    model: str = ""
    context: str = ""
    compacted: bool = False
    id: str = ""
    after: str = ""
    inside: Sequence[Inside] = ()

    @property
    def head(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return tuple(self.request.system), tuple(self.request.tools)

    def costing(self, usd: float | None) -> None:
        """Take the dollars that the log states, if any: they are those of the requests inside too."""
        if usd and self.usage:
            self.usage = self.usage.costing(usd)
            self.inside = [one._replace(usage=one.usage.costing(0.0)) for one in self.inside]


def transcripts(
    records: Iterable[Logged], name: str, format: str, notes: Sequence[str] = (), one_run: bool = False
) -> Iterator[Transcript]:
    """Yield one transcript per conversation; `records` are in order of time, the oldest or the newest first.

    With `one_run`, a conversation that starts while another is going on is its child. `notes` may still grow while
    records are read; they go to the first transcript. Without records, there is one transcript without calls. Raises
    InputError if the histories that the provider put before requests are too long together.
    """
    said: dict[Said, Said] = {}
    logs: list[Logged] = []
    named: dict[tuple[str, str], Logged] = {}
    met: set[tuple[object, ...]] = set()
    joined = again = 0
    for logged in records:
        # Each request repeats others: equal messages are held once.
        logged.request.said = [said.setdefault(one, one) for one in logged.request.said]
        mark = (logged.time_s, logged.usage, logged.reply, hash((*map(id, logged.request.said),)))
        if logged.time_s is None or mark not in met:
            logs.append(logged)
        else:
            again += 1
        met.add(mark)
    notes = [*notes, *[f"{again} {AGAIN}"] * bool(again)]
    if logs and (logs[0].time_s or 0) > (logs[-1].time_s or math.inf):
        logs.reverse()
    for logged in logs:
        if before := named.get((logged.context, logged.after)):
            logged.request.said[:0] = [*before.request.said, Said(before.reply, response=True)]
            joined += len(logged.request.said)
            if joined > MOST_JOINED:
                too_many = f"follows on more than {MOST_JOINED:,} earlier messages: give it in parts"
                raise InputError(logged.where, too_many)
        if logged.id:
            named[logged.context, logged.id] = logged
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
        parent = next((names[n] for n in range(index) if one_run and found[n].steps[-1].number > thread.first), None)
        start = f"starts at {_short(logs[thread.first].where)}, which continues no earlier request"
        yield _transcript(Assembly(names[index], format, parent), [start] if index else notes, thread, logs)


def _request(logged: Logged) -> Request:
    said = logged.request.said
    places: dict[Hashable, int] = {mark: n for n, one in enumerate(said) if one.response for mark in _marks(one.parts)}
    reply = hash(Said(logged.reply, response=True))
    marks = _marks(logged.reply)
    return Request([*map(hash, said)], reply, places, marks, logged.context, logged.head, logged.compacted)


class LoggedCall(msgspec.Struct):
    """One call: the messages that its request adds to the history, and its response as later requests repeat it."""

    logged: Logged
    new: list[Said]
    reply: tuple[Part, ...]
    whole: bool
    shorter: bool = False
    asked_again: bool = False
    replaced: int = 0
    """Number of leading messages with which a compaction replaced the history, if no response is among them."""


def _transcript(assembly: Assembly, notes: Iterable[str], thread: Thread, logs: Sequence[Logged]) -> Transcript:
    """Return one conversation. Responses have the form in which the next request repeats them: that is billed."""
    counts = assembly.counts
    calls = _calls(thread, logs, counts)
    first, last = calls[0].logged, calls[-1].logged.request
    assembly.system, assembly.tools = map(list, first.head)
    assembly.notes += [*notes, *dict.fromkeys(last.notes)]
    assembly.shortened, assembly.left_out = last.shortened, last.left_out
    counts.update(last.counts)
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
            # If no message is missing, old ones were shortened in place: no summary replaced them.
            compacted = replaced or (call.shorter and _compacted(assembly, logged.request.said))
            if whole and not compacted:
                done = f"{_short(logged.where)} leaves out or rewrites earlier messages"
                assembly.shortening("change of the history", f"{done}: this call and later ones are not comparable")
            whole = compacted
        counts[REWRITTEN] += _shown(call.reply) != _shown(logged.reply)
        same_head = logged.head == first.head
        counts[OTHER_HEAD] += not same_head
        comparable = whole and same_head and not call.asked_again
        add_inside(assembly, logged.inside, logged.time_s, logged.model)
        assembly.response(call.reply, logged.usage, logged.time_s, logged.model, comparable)
    counts[ABANDONED] = len(thread.abandoned)
    # Responses that are left out were paid for too.
    held = {id(call.logged) for call in calls}
    for logged in (logs[number] for number in sorted([*thread.abandoned, *(step.number for step in thread.steps)])):
        if id(logged) not in held:
            assembly.beside(logged.usage, logged.time_s, logged.model)
            add_inside(assembly, logged.inside, logged.time_s, logged.model)
    return assembly.finished()


def _calls(thread: Thread, logs: Sequence[Logged], counts: Frequencies[str]) -> list[LoggedCall]:
    """Return the calls of a thread without failed ones that SWE-agent made again after a response in a wrong form.

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
            # Failed responses have no tool result: a dropped exchange with one was shortened away, not asked for again.
            dropped = said[:length] == sent[:length] and not any(one.answer for one in sent[length:])
            if dropped and 0 < len(failed) <= MOST_RETRIES and len(failed[0].logged.request.said) == length:
                counts[ASKED_AGAIN] += len(failed)
                last.new, last.whole, last.asked_again = failed[0].new, failed[0].whole, True
                call.whole = True
                calls = [*calls[: -1 - len(failed)], last]
            call.shorter = length < len(sent)
            if logged.compacted and not said[length].response:
                # No response of the history is left: the message after the known ones is the summary.
                call.replaced, call.new = step.known + 1, call.new[1:]
            else:
                last.reply = _as_repeated(last.logged.reply, said[length])
        calls.append(call)
    return calls


def _compacted(assembly: Assembly, history: Iterable[Said]) -> bool:
    """Add a compaction if a request's messages hold new texts: its summary. Return whether they do."""
    said: list[tuple[Kind, str]] = []
    for one in history:
        said += [(part.kind, part.text) for part in (*filter(None, [one.answer]), *one.parts)]
    kept, new = kept_and_new(assembly.items, said)
    if any(new):
        assembly.compacted("", new, kept)
    return any(new)


def _as_repeated(reply: tuple[Part, ...], said: Said) -> tuple[Part, ...]:
    """Return a response as a request repeats it, plus its reasoning if the request leaves that, or its size, out."""
    thought = iter([part for part in reply if part.kind == "reasoning"])
    hidden = (part.kind == "reasoning" and not part.text and not part.media for part in said.parts)
    parts = tuple(next(thought, part) if bare else part for part, bare in zip(said.parts, hidden, strict=True))
    return parts if any(part.kind == "reasoning" for part in parts) else (*thought, *parts)


def _short(where: str) -> str:
    return where.rpartition("/")[-1]


def _shown(parts: Iterable[Part]) -> list[tuple[str, str]]:
    return [(part.tool, part.text) for part in parts if part.kind != "reasoning"]


def _text(parts: Iterable[Part]) -> str:
    return "".join(part.tool + part.text for part in parts if part.kind != "reasoning").strip()


def call_ids(parts: Sequence[Part]) -> frozenset[str]:
    """Return the ids of the tool calls and results among some parts."""
    return frozenset(part.call_id for part in parts if part.call_id)


def _repeats(said: Said, reply: tuple[Part, ...]) -> bool:
    """Return whether a message of a request is that response, perhaps with its calls written into the text."""
    if not said.response:
        return False
    ids, earlier = call_ids(said.parts), call_ids(reply)
    if ids and earlier:
        return bool(ids & earlier)
    text = "".join(part.text for part in reply if part.kind == "assistant").strip()
    tools = [part.tool for part in said.parts if part.kind == "tool_call"]
    if not tools:
        # Agents leave out calls that they could not parse.
        return _text(said.parts) == text
    return tools == [part.tool for part in reply if part.kind == "tool_call"] and _text(said.parts).startswith(text)


def _marks(parts: Sequence[Part]) -> list[str]:
    """Return the keys of a response inside a changed history: its call ids, else its first line if that is long."""
    ids = sorted(call_ids(parts))
    first_line = "".join(part.text for part in parts if part.kind == "assistant").strip().partition("\n")[0]
    return ids or [first_line] * (len(first_line) >= SURE_CHARS)
