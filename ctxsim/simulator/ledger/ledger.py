"""What all policies on a transcript share under one provider: its calls, and its requests without edits."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from ctxsim.counting.estimators import Estimator
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.simulator.ledger.frames import Frames
from ctxsim.simulator.ledger.kernel import Bill, Kernel, Verdict
from ctxsim.simulator.ledger.legs import SPREAD, Leg, legs_of
from ctxsim.simulator.ledger.refused import drops_of
from ctxsim.simulator.ledger.request import Request
from ctxsim.simulator.provider.rules import Provider
from ctxsim.transcript import Item, Sizes, Transcript
from ctxsim.view import Edit, View

FINISHED = "reasoning of a finished turn"
"""The reason of an edit by which a vendor leaves reasoning out."""


class Kept(NamedTuple):
    """One call without any policy's edits, as under keep-all: its request and the provider's answer.

    `size` is the number of its items, `clock` the simulated seconds of its begin and end. `noted` is the cache's record
    of it, `state` and `revived` are the kernel's after it.
    """

    size: int
    changed_from: int
    tokens: int
    verdict: Verdict
    bill: Bill
    clock: tuple[float, float]
    noted: Any
    state: tuple[Any, ...]
    revived: bool
    dropped: tuple[Item, ...]
    """Thinking that the provider drops from its request."""
    unread: int
    """Place of the first item that it couldn't read whole from the cache."""


class Ledger:
    """One transcript under one provider: its calls, and all that its replays share."""

    def __init__(self, transcript: Transcript, provider: Provider, counter: Counter, apart: int = 1) -> None:
        """`apart`: the distance of neighbouring places, and of neighbouring messages."""
        counter.learn_transcript(transcript)
        self.apart = apart
        self.transcript = transcript
        self.provider = provider
        self.counter = counter
        self.frames = Frames(provider, counter)
        self.legs = legs_of(transcript, provider, self.frames, apart)
        self._sizes: dict[Estimator, Sizes] = {}
        self._views: dict[Estimator, list[View]] = {}

    @cached_property
    def spread(self) -> Ledger:
        """This ledger with room between the places, for replays that insert items."""
        return Ledger(self.transcript, self.provider, self.counter, SPREAD)

    def sizes(self, estimator: Estimator) -> Sizes:
        """Return the memo of an estimator's sizes of items."""
        return self._sizes.setdefault(estimator, Sizes(estimator.item))

    def views(self, estimator: Estimator) -> list[View] | None:
        """Return the list of unedited views, as they grow, with the sizes of an estimator; None if the vendor edits
        views: it leaves out or drops reasoning.
        """
        edits = self.provider.reasoning == "current_turn" or self.provider.thinking == "drop"
        return None if edits else self._views.setdefault(estimator, [])

    def kernel(self) -> Kernel:
        """Return a kernel before its first call."""
        return Kernel(self.provider, self.counter, self.transcript.head, self.frames)

    def enter(self, request: Request, leg: Leg) -> None:
        """Turn the last call's request into the request of this one, without what the vendor leaves out."""
        self.finish(request, leg)
        request.join(leg.joining)

    def finish(self, request: Request, leg: Leg) -> None:
        """Add the last response. If the call begins a turn, remove earlier turns' reasoning, as the vendor does."""
        if leg.number > 1:
            request.join(self.legs[leg.number - 2].answered)
        if leg.begins_turn:
            items = enumerate(request.items)
            request.edit([Edit(item, None, at, FINISHED) for at, item in items if item.kind == "reasoning"])

    @cached_property
    def kept(self) -> list[Kept]:
        """Every call without any policy's edits."""
        self._last = self.kernel()
        return [self._answered(self._last, leg) for leg in self.legs]

    def _answered(self, kernel: Kernel, leg: Leg) -> Kept:
        """Send a kernel the request of a call without any policy's edits."""
        request = kernel.request
        self.enter(request, leg)
        kernel.begin(leg)
        began_s = kernel.now_s
        changed = request.changed_from
        dropped = tuple(kernel.drop_thinking())
        verdict = kernel.judge(leg.begins_turn)
        bill = kernel.bill(leg)
        size = len(request.items)
        # Reads are rounded down to steps.
        whole = request.items_within(bill.split.read + kernel.cache.step - 1) if bill.split.read else 0
        unread = request.items[whole].place if whole < size else len(self.transcript.items)
        noted, state = kernel.cache.noted(request), kernel.state()
        clock = began_s, kernel.now_s
        return Kept(size, changed, request.total, verdict, bill, clock, noted, state, kernel.revived, dropped, unread)

    @cached_property
    def demands(self) -> list[tuple[float, int]]:
        """Simulated second and tokens that count towards a rate limit, per request without edits."""
        return self._last.demands if self.kept else []

    def kernel_at(self, number: int) -> Kernel:
        """Return a kernel in its state before a call, counted from 1, without edits so far."""
        kernel, before = self.kernel(), self.kept[: number - 1]
        if self.provider.others:
            # Each model has a cache of its own: all that they were sent is billed again.
            for leg in self.legs[: number - 1]:
                self._answered(kernel, leg)
            return kernel
        if not before:
            return kernel
        if self._only_grows:
            kernel.request = self._last.request.first(before[-1].size)
        for leg, known in zip(self.legs, before, strict=False):
            if not self._only_grows:
                kernel.request.with_head(leg.head)
                self.enter(kernel.request, leg)
                kernel.request.edit(drops_of(kernel.request, known.dropped))
                kernel.request.remember()
            kernel.thinking.answered(leg, kernel.request, known.size)
            if known.revived:
                kernel.cache.revive(known.clock[1])
            elif leg.call.held == 0:
                kernel.cache.forget()
            kernel.cache.recall(known.noted, known.clock[1])
        kernel.resume(before[-1].state, self.demands[: number - 1])
        return kernel

    @cached_property
    def _only_grows(self) -> bool:
        """Whether each request begins with all of the one before."""
        grown = all(this.changed_from >= last.size for last, this in pairwise(self.kept))
        return grown and all(leg.head == self.transcript.head for leg in self.legs)
