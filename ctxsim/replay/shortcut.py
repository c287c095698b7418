"""The mock's face, answering from what keep-all was answered: until a policy's first edit both send the same.

What makes replay fast, beside what makes it right: the rows are equal with and without it (tests/replay).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ctxsim.provider import Bill, MockLLM, SummaryCall, Verdict
from ctxsim.replay.tally import Sent
from ctxsim.transcript import Head, Item
from ctxsim.view import View


class Shortcut:
    """Stands before a mock that isn't asked until the first edit, and is then told, in order, all that it missed."""

    def __init__(
        self, llm: MockLLM, like: Sequence[Sent], demands: list[tuple[float, int]], touched: Callable[[], bool]
    ) -> None:
        self._llm = llm
        self._like = like
        self._demands = demands
        self._touched = touched
        self._stopped = False
        self._missed: list[tuple[Callable[..., object], tuple[object, ...]]] = []
        self._number = 0
        self._now_s = 0.0

    def _known(self) -> Sent | None:
        """What keep-all was answered at this call; None once the mock itself is asked."""
        return None if self._stopped or self._touched() else self._like[self._number - 1]

    def _asked(self) -> MockLLM:
        """The mock, told all that it missed."""
        missed, self._missed = self._missed, []
        for ask, arguments in missed:
            ask(self._llm, *arguments)
        return self._llm

    @property
    def now_s(self) -> float:
        """The simulated clock."""
        return self._asked().now_s if self._known() is None else self._now_s

    @property
    def demands(self) -> list[tuple[float, int]]:
        """What the rate limit was asked for."""
        return self._asked().demands if self._known() is None else self._demands

    def begin(self, scheduled_s: float, head: Head, cold: bool = False) -> None:
        """A call begins."""
        self._number += 1
        self._missed.append((MockLLM.begin, (scheduled_s, head, cold)))
        if known := self._known():
            self._now_s = known.clock[0]

    def ask(self, view: View, changed_from: int) -> int:
        """Return the request's tokens."""
        if known := self._known():
            self._missed.append((MockLLM.ask, (view, changed_from)))
            return known.tokens_sent
        return self._asked().ask(view, changed_from)

    def judge(self, view: View, tokens: int, changed_from: int) -> Verdict:
        """Return the verdict on the request asked last."""
        if known := self._known():
            self._missed.append((MockLLM.judge, (view, tokens, changed_from)))
            self._now_s = known.clock[1]
            return known.verdict
        return self._asked().judge(view, tokens, changed_from)

    def not_asked(self, changed_from: int) -> None:
        """A policy has given up: from here on nothing is as it was for keep-all."""
        self._stopped = True
        self._asked().not_asked(changed_from)

    def bill(self, output_tokens: int, new_from: int) -> Bill:
        """Return what the request asked last costs."""
        if known := self._known():
            self._missed.append((MockLLM.bill, (output_tokens, new_from)))
            return known.bill
        return self._asked().bill(output_tokens, new_from)

    def summarize(self, items: Iterable[Item], max_tokens: int, wanted: Sequence[str] = ()) -> SummaryCall:
        """Ask the mock for a summary: an edit follows."""
        self._stopped = True
        return self._asked().summarize(items, max_tokens, wanted)
