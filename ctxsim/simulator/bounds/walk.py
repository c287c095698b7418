"""What a schedule of clearings really costs: its requests through the kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import msgspec

from ctxsim.simulator.ledger import Bill, Ledger
from ctxsim.simulator.provider.prices import Split
from ctxsim.view import Edit


class Step(msgspec.Struct, frozen=True):
    """One request: its dollars, its tokens by class, the output's, and the first place that it couldn't read whole."""

    usd: float
    split: Split
    output: int
    unread: int

    @property
    def total(self) -> int:
        """Input tokens of all classes."""
        return self.split.read + self.split.write + self.split.uncached


class Walk:
    """A transcript before a provider. Costs are those that replay finds."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    @cached_property
    def kept(self) -> list[Step]:
        """The requests of no clearing at all."""
        known = zip(self.ledger.legs, self.ledger.kept, strict=True)
        return [self._step(leg.tokens_output, kept.bill, kept.unread) for leg, kept in known]

    def usd(self, clear_at: Mapping[int, int], stub: str) -> Iterator[float]:
        """Yield what each request costs where each place of `clear_at` is sent a stub from that call, from 1, on."""
        due: dict[int, list[int]] = {}
        for place, number in clear_at.items():
            due.setdefault(number, []).append(place)
        # Up to its first clearing a schedule sends what no clearing at all sends.
        first = min([*due, len(self.kept) + 1])
        yield from (step.usd for step in self.kept[: first - 1])
        if first <= len(self.kept):
            yield from self._from_first(due, stub, first)

    def _from_first(self, due: Mapping[int, Sequence[int]], stub: str, first: int) -> Iterator[float]:
        ledger = self.ledger
        kernel, items = ledger.kernel_at(first), ledger.transcript.items
        for leg in ledger.legs[first - 1 :]:
            ledger.enter(kernel.request, leg)
            cleared = [items[place] for place in due.get(leg.number, ()) if items[place].text != stub]
            kernel.request.edit([Edit(item, item.with_text(stub), item.place, "") for item in cleared])
            kernel.begin(leg)
            # A rate limit moves the clock, which a cache's lifetime goes by; what is refused is billed all the same.
            if ledger.provider.rate_limit is not None:
                kernel.judge()
            yield self._step(leg.tokens_output, kernel.bill(leg)).usd

    def _step(self, output: int, bill: Bill, unread: int = 0) -> Step:
        # Rounded as in a row, so that sums agree.
        return Step(round(bill.cost.total, 10) if bill.cost else 0.0, bill.split, output, unread)
