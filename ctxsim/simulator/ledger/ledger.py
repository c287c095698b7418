"""What all policies on a transcript share under one provider, and its requests without a policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import msgspec

from ctxsim.counting.estimators import Estimator
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.simulator.ledger.frames import Frames
from ctxsim.simulator.ledger.kernel import Bill, Kernel
from ctxsim.simulator.ledger.legs import SPREAD, Leg, legs_of
from ctxsim.simulator.ledger.request import Request
from ctxsim.simulator.provider.prices import Split
from ctxsim.simulator.provider.rules import Provider
from ctxsim.transcript import Sizes, Transcript
from ctxsim.view import Edit

FINISHED = "reasoning of a finished turn"
"""The reason of an edit by which a vendor leaves reasoning out."""


class Step(msgspec.Struct, frozen=True):
    """One request: its tokens by class, and the first place that it couldn't read whole."""

    split: Split
    unread: int


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

    @cached_property
    def spread(self) -> Ledger:
        """This ledger with room between the places, for replays that insert items."""
        return Ledger(self.transcript, self.provider, self.counter, SPREAD)

    def sizes(self, estimator: Estimator) -> Sizes:
        """Return the memo of an estimator's sizes of items."""
        return self._sizes.setdefault(estimator, Sizes(estimator.item))

    def kernel(self, heads_only: bool = False) -> Kernel:
        """Return a kernel before its first call. `heads_only`: thinking is bound to the head alone, because the
        provider itself makes the edits.
        """
        return Kernel(self.provider, self.counter, self.transcript.head, self.frames, heads_only)

    def enter(self, request: Request, leg: Leg) -> None:
        """Turn the last call's request into the request of this one, without what the vendor leaves out: if the call
        begins a turn, the reasoning of the turns before.
        """
        if leg.number > 1:
            request.join(self.legs[leg.number - 2].answered)
        if leg.begins_turn:
            items = enumerate(request.items)
            request.edit([Edit(item, None, at, FINISHED) for at, item in items if item.kind == "reasoning"])
        request.join(leg.joining)

    # requests without a policy: they cost what a replay costs

    @cached_property
    def kept(self) -> list[Step]:
        """The requests without any edit."""
        kernel, places = self.kernel(), len(self.transcript.items)
        found = []
        for bill in self._bills(kernel, {}, ""):
            items, split = kernel.request.items, bill.split
            # Reads are rounded down to steps.
            whole = kernel.request.items_within(split.read + kernel.cache.step - 1) if split.read else 0
            unread = items[whole].place if whole < len(items) else places
            found.append(Step(split, unread))
        return found

    def usd_if_cleared(self, clear_at: Mapping[int, int], stub: str) -> Iterator[float]:
        """Yield the USD of each request if each place of `clear_at` is sent as a stub from its call, from 1, on."""
        due: dict[int, list[int]] = {}
        for place, number in clear_at.items():
            due.setdefault(number, []).append(place)
        for bill in self._bills(self.kernel(), due, stub):
            # Rounded as in a row, so that sums agree.
            yield round(bill.cost.total, 10) if bill.cost else 0.0

    def _bills(self, kernel: Kernel, due: Mapping[int, Sequence[int]], stub: str) -> Iterator[Bill]:
        items = self.transcript.items
        for leg in self.legs:
            self.enter(kernel.request, leg)
            kernel.begin(leg)
            cleared = [items[place] for place in due.get(leg.number, ()) if items[place].text != stub]
            kernel.request.edit([Edit(item, item.with_text(stub), item.place, "") for item in cleared])
            kernel.drop_thinking()
            # A rate limit delays the clock, by which cache entries expire. A refused request is billed like others.
            if self.provider.rate_limit is not None:
                kernel.judge()
            yield kernel.bill(leg)
