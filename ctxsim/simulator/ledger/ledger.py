"""What all policies on a transcript share under one provider: its calls, and its requests without edits."""

from __future__ import annotations

from functools import cached_property

from ctxsim.counting.estimators import Estimator
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.simulator.ledger.frames import Frames
from ctxsim.simulator.ledger.kernel import Kernel
from ctxsim.simulator.ledger.legs import SPREAD, Leg, legs_of
from ctxsim.simulator.ledger.request import Request
from ctxsim.simulator.provider.rules import Provider
from ctxsim.transcript import Sizes, Transcript
from ctxsim.view import Edit

FINISHED = "reasoning of a finished turn"
"""The reason of an edit by which a vendor leaves reasoning out."""


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
