"""What a provider refuses in a request: calls and results without their partner, and thinking whose prefix has changed
since it was written.

Rules: Anthropic documentation, Preserved thinking and Prefix checks on thinking blocks. A block is valid as long as the
head and all messages before it are as they were in the request that it answered. Thinking written after a change stays
valid. An older rule: no thinking of the newest response may be changed or left out while the rest of it is sent.
"""

from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from ctxsim.simulator.ledger.legs import Leg
from ctxsim.simulator.ledger.request import HEAD, Request
from ctxsim.simulator.provider.vendor import Binding
from ctxsim.transcript import Head, Item
from ctxsim.view import Edit

CHANGED = "the thinking of call {call} is bound to a different conversation: what stands before it has changed"
UNLIKE = "the thinking of the newest response is not as the model wrote it"
DROPPED = "thinking behind a changed prefix"


class _Written(NamedTuple):
    """A response with thinking: its call, the identities of the head and the request that it answered, its items."""

    call: int
    head: int
    behind: int
    items: tuple[Item, ...]


class Thinking:
    """Checks the thinking in one conversation's requests."""

    def __init__(self, binding: Binding, latest: bool, heads_only: bool) -> None:
        """`latest`: whether the older rule holds. `heads_only`: only heads are checked, because the provider itself
        edits: a client can change only the head.
        """
        self._bound = binding != "none"
        self._latest = latest and not heads_only
        self._heads_only = heads_only
        self._written: dict[int, _Written] = {}
        """By place of a thinking block, its response."""
        self._newest: tuple[Item, ...] = ()
        self._invalid: list[Item] = []
        self._checked: Head | None = None
        """The head of the request that was checked last."""

    def answered(self, leg: Leg, request: Request) -> None:
        """Register a call's response to a request."""
        blocks = [item for item in leg.answered if item.kind == "reasoning"]
        self._newest = leg.answered if self._latest and blocks else ()
        if self._bound and blocks:
            head, behind = request.identity(HEAD - 1), request.identity(request.length - 1)
            written = _Written(leg.number, head, behind, leg.answered)
            self._written.update((item.place, written) for item in blocks)

    def changed(self, request: Request) -> list[Item]:
        """Return the thinking blocks of a request whose prefix has changed since they were written, in order."""
        if not self._written:
            return []
        changed = request.changed_from < request.remembered - HEAD
        if changed or request.head is not self._checked:
            # The result for an edited request isn't reused for the next one, because edits can be undone.
            self._checked = None if changed else request.head
            blocks = (at for at, item in enumerate(request.items) if item.place in self._written)
            self._invalid = [request.items[at] for at in blocks if not self._holds(request, at)]
        return self._invalid

    def drop(self, request: Request) -> list[Item]:
        """Remove the `changed` blocks from a request, and return them."""
        dropped = self.changed(request)
        if dropped:
            gone = {item.place for item in dropped}
            request.edit([Edit(item, None, at, DROPPED) for at, item in enumerate(request.items) if item.place in gone])
            self._invalid = []
            if any(item in self._newest for item in dropped):
                self._newest = ()
        return dropped

    def _holds(self, request: Request, at: int) -> bool:
        items = request.items
        written = self._written[items[at].place]
        if self._heads_only:
            return request.identity(HEAD - 1) == written.head
        before = written.items.index(items[at]) if items[at] in written.items else -1
        if before < 0 or tuple(items[at - before : at]) != written.items[:before]:
            return False
        return request.identity(HEAD - 1 + at - before) == written.behind

    def errors(self, request: Request, begins_turn: bool) -> list[str]:
        """Return what the provider would refuse; empty if the request is valid."""
        if changed := self.changed(request):
            return [CHANGED.format(call=self._written[changed[0].place].call)]
        return [UNLIKE] if not begins_turn and self._altered(request.items) else []

    def _altered(self, items: Sequence[Item]) -> bool:
        """Whether the newest response is sent with a thinking block missing or changed."""
        newest = self._newest
        if not newest:
            return False
        first, last = newest[0].place, newest[-1].place
        behind = takewhile(lambda item: item.order >= first, reversed(items))
        sent = {item.place: item for item in behind if first <= item.place <= last}
        spoken = any(item.kind != "reasoning" and item.place in sent for item in newest)
        return spoken and any(item.kind == "reasoning" and sent.get(item.place) != item for item in newest)


class PairCheck:
    """Checks calls and results of a growing view: each item once, after an edit from the message before it on."""

    def __init__(self) -> None:
        self._checked = 0

    def errors(self, view: Sequence[Item], changed_from: int = 0) -> list[str]:
        """Return what a provider would refuse in a request that holds these items; empty if it's valid.

        Items before position `changed_from` are those of the last check. Rule: Anthropic Messages API and OpenAI Chat
        Completions both refuse a request otherwise.
        """
        start = self._start_of_message(view, min(changed_from, self._checked) - 1)
        open_calls: dict[int, Item] = {}
        found: list[str] = []
        for item in view[start:]:
            if item.kind == "tool_result":
                if item.answers is None or open_calls.pop(item.answers, None) is None:
                    found.append(f"result {item.place} has no call in the message before it")
                continue
            if open_calls and item.message not in {call.message for call in open_calls.values()}:
                found += self._unanswered(open_calls)
                open_calls = {}
            if item.kind == "tool_call":
                open_calls[item.place] = item
        self._checked = 0 if found else len(view)
        return found + self._unanswered(open_calls)

    @staticmethod
    def _start_of_message(view: Sequence[Item], position: int) -> int:
        """The start of the message at a position, or of the response that it answers: no call is open there."""
        while position > 0 and (
            view[position].kind == "tool_result" or view[position - 1].message == view[position].message
        ):
            position -= 1
        return max(0, position)

    @staticmethod
    def _unanswered(calls: dict[int, Item]) -> list[str]:
        return [f"call {place} ({item.tool}) is not answered in the next message" for place, item in calls.items()]
