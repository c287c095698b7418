"""A real agent as a policy: its requests, call by call, matched item by item to the recorded history.

The agent's conversation has the places of the script, with the agent's head, its tool calls, and its wrapping around
texts. Each difference between a request and the grown history is an edit. So a real agent is replayed, judged, billed
and measured by the same code as every policy.
"""

from collections import Counter as Frequencies
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, cast

import msgspec

from ctxsim.counting.estimators import DEFAULT, open_estimator
from ctxsim.errors import CtxsimError
from ctxsim.live.exchange import Asked, Before
from ctxsim.live.log import Entry
from ctxsim.live.matching import History, Match, as_made
from ctxsim.live.script import Script
from ctxsim.live.session import ask
from ctxsim.policies import Overflow, Policy, Spec
from ctxsim.readers.assembly import Part
from ctxsim.readers.assembly.requests.bodies import Api, answer
from ctxsim.readers.source import under
from ctxsim.transcript import Call, Head, Item, Transcript, Usage
from ctxsim.view import View

SENT_TWICE = "sent a second time"
NOT_SENT = "not in the agent's request"
CHANGED = "changed in the agent's request"
NEW = "the agent's own"


class Shown(msgspec.Struct, frozen=True):
    """One item of a request: its place in the history, None for an item of the agent's own, and its text."""

    place: int | None
    text: str
    reason: str = ""


class Try(NamedTuple):
    """One parsed request for a step, with the match of each of its items and its log entry."""

    asked: Asked
    matches: Sequence[Match]
    entry: Entry

    @property
    def pairs(self) -> Iterator[tuple[Item, Match]]:
        """Each item with its match."""
        return zip(self.asked.items, self.matches, strict=True)


class Observation(msgspec.Struct, frozen=True):
    """An agent's conversation, and the policy that sends what it sent.

    `attempts` are the requests for each call, those refused for the window first. `helpers` are the requests that
    aren't the conversation, by the number of the call after them. `refused` is why a call was never answered.
    """

    label: str
    transcript: Transcript
    attempts: tuple[tuple[tuple[Shown, ...], ...], ...]
    helpers: dict[int, list[Entry]]
    refused: dict[int, str]
    notes: tuple[str, ...]

    def spec(self) -> Spec:
        """Return the policy, ready for replay."""
        made = type("Observed", (Observed,), {"name": self.label, "attempts": self.attempts})
        return Spec(self.label, ((made, self.label, {}),), open_estimator(DEFAULT))


@dataclass
class Observed(Policy):
    """Sends what a real agent sent."""

    attempts: ClassVar[Sequence[Sequence[Sequence[Shown]]]] = ()

    def start(self) -> None:
        """Reset the state before the first call."""
        self._call = 0
        sent = [shown for tries in self.attempts for shown in tries[0]]
        self._first = {shown.place: shown.text for shown in reversed(sent)}

    def on_tool_result(self, item: Item) -> Item:
        """Return a result as the agent first sent it."""
        return item.with_text(self._first.get(item.place, item.text))

    def before_call(self, view: View) -> View:
        """Return the request as the agent first sent it."""
        self._call += 1
        self._tried = 0
        return as_sent(view, self.attempts[self._call - 1][0])

    def on_overflow(self, view: View, error: Overflow) -> View | None:
        """Return the agent's next attempt; None if it made none."""
        self._tried += 1
        tries = self.attempts[self._call - 1]
        return as_sent(view, tries[self._tried]) if self._tried < len(tries) else None


def as_sent(view: View, request: Sequence[Shown]) -> View:
    """Return the view, edited until it equals a request."""
    texts = {shown.place: shown.text for shown in reversed(request) if shown.place is not None}
    own = Frequencies(shown.text for shown in request if shown.place is None)
    gone = []
    for item in view:
        if item.synthetic:
            own[item.text] -= 1
        if (own[item.text] < 0) if item.synthetic else (item.place not in texts):
            gone.append(item.place)
    view = view.drop(gone, NOT_SENT)
    view = view.rewrite({item.place: texts[item.place] for item in view if not item.synthetic}, CHANGED)
    sources = [place for place in gone if place >= 0]
    left = [shown for shown in request if shown.place is None]
    for position, shown in enumerate(request):
        if shown.place is None and own[shown.text] > 0:
            own[shown.text] -= 1
            after = (one.place for one in request[position:] if one.place is not None and view.find(one.place))
            kind = "summary" if sources and len(shown.text) == max(len(one.text) for one in left) else "note"
            at = next(after, view[-1].order + 1 if len(view) else 0)
            view = view.insert(shown.text, at, shown.reason or NEW, kind, sources if kind == "summary" else ())  # type: ignore[arg-type]
    return view


def observe(label: str, script: Script, entries: Iterable[Entry]) -> Observation:
    """Return an agent's conversation from its log entries. A request retried, also after a rate limit, counts once.

    Raises CtxsimError if the agent got no answer but refusals for its rate.
    """
    history = History(script)
    tries: dict[int, list[Try]] = {}
    replies: dict[int, Sequence[Part]] = {}
    helpers: dict[int, list[Entry]] = {}
    notes: Frequencies[str] = Frequencies()
    before = Before()
    for entry in entries:
        api = cast(Api, entry.api)
        asked = ask(api, entry.request, "", False, before)
        if api == "responses" and entry.status == 200:
            before.add(asked, entry.response)
        if entry.kind != "main":
            helpers.setdefault(len(replies) + 1, []).append(entry)
            notes["requests that nobody recognised"] += entry.kind == "other"
            continue
        if entry.retry or entry.status == 429 or entry.step > len(script.steps):
            notes["requests past the end of the script"] += entry.step > len(script.steps)
            continue
        tries.setdefault(entry.step, []).append(Try(asked, history.match(asked.items, entry.step).matches, entry))
        if entry.status == 200:
            made = [part for part in answer(api, entry.response, "response").parts if part.kind == "tool_call"]
            history.answered(entry.step, made)
            replies[entry.step] = made
    if not tries:
        raise CtxsimError(f"{label}: no request of the script was answered: all got 429 or came after its end")
    steps = [tries[step] for step in sorted(tries)]
    preamble = _preamble(next(iter(tries.values()))[0])
    attempts = tuple(tuple(_shown(one, preamble) for one in found) for found in steps)
    calls = [_call(script.transcript.calls[step - 1], tries[step][-1], preamble) for step in sorted(tries)]
    first = calls[0].head or Head()
    calls = [msgspec.structs.replace(call, head=None if call.head == first else call.head) for call in calls]
    items = _own(script, steps, replies)[: calls[-1].end]
    transcript = msgspec.structs.replace(
        script.transcript, head=first, items=items, calls=tuple(calls), compactions=(), cleared=()
    )
    told = tuple(f"{count} {what}" for what, count in notes.items() if count)
    ends = enumerate((found[-1].entry for found in steps), 1)
    refused = {n: str(under(entry.response, "error", "message") or "") for n, entry in ends if entry.status != 200}
    return Observation(label, transcript, attempts, helpers, refused, told)


def _preamble(first: Try) -> frozenset[str]:
    """Return the texts before the first prompt. They describe the agent's surroundings, and count as its head."""
    known = next((n for n, match in enumerate(first.matches) if match.place is not None), 0)
    return frozenset(item.text for item in first.asked.items[:known])


def _shown(one: Try, preamble: frozenset[str]) -> tuple[Shown, ...]:
    return tuple(
        Shown(None, item.text, SENT_TWICE) if match.state == "twice" else Shown(match.place, item.text)
        for item, match in one.pairs
        if match.place is not None or not (item.text in preamble or item.kind == "reasoning")
    )


def _call(recorded: Call, made: Try, preamble: frozenset[str]) -> Call:
    """Return a call with the agent's head and the tokens that the endpoint counted."""
    asked, _, entry = made
    said = [item.text for item, match in made.pairs if match.place is None and item.text in preamble]
    head = Head("\n\n".join(filter(None, [asked.head.system, *said])), asked.head.tools)
    usage = Usage(entry.tokens, entry.output) if entry.status == 200 else None
    return Call(recorded.start, recorded.end, usage, recorded.time_s, recorded.model, head=head)


def _own(script: Script, steps: Iterable[Iterable[Try]], replies: Mapping[int, Sequence[Part]]) -> tuple[Item, ...]:
    """Return the script's items with the agent's tool calls, and its wrapping around prompts and results."""
    items = list(script.transcript.items)
    for step, made in replies.items():
        for item in as_made(script.steps[step - 1].wanted, made):
            items[item.place] = item
    seen: set[int] = set()
    for item, match in (pair for found in steps for one in found for pair in one.pairs):
        if match.place is not None and match.place not in seen:
            seen.add(match.place)
            if match.state == "kept":
                items[match.place] = items[match.place].with_text(item.text)
    return tuple(items)
