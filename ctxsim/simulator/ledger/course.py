"""The provider's answers to one replay: the ledger's up to the first edit, then those of a kernel of its own."""

from collections.abc import Iterable, Sequence

from ctxsim.simulator.ledger.kernel import Bill, Kernel, SummaryCall, Verdict
from ctxsim.simulator.ledger.ledger import Kept, Ledger
from ctxsim.simulator.ledger.legs import Leg
from ctxsim.simulator.ledger.refused import drops_of
from ctxsim.simulator.provider.rules import SummaryMode
from ctxsim.transcript import Item
from ctxsim.view import Edit


class Course:
    """The provider's answers to one replay, call by call. Shared with keep-all until the first edit."""

    def __init__(self, ledger: Ledger, bound: bool = True) -> None:
        """`bound`: whether thinking is bound to all before it; to the head alone if the provider makes the edits."""
        self._ledger = ledger
        self._bound = bound
        self._kernel: Kernel | None = None
        self._leg: Leg | None = None
        self._billed = False
        self._dropped: Sequence[Item] = ()
        self._items: Sequence[Item] = ()
        """The items of the request asked last."""
        self._unlike: tuple[int, str, int] = (0, "", 0)
        """`changed_from`, `cause` and `reshaped_from` before the last edit; restored if that edit is rejected."""

    @property
    def number(self) -> int:
        """The number of the call under way, or of the last one; 0 before the first."""
        return self._leg.number if self._leg else 0

    @property
    def demands(self) -> list[tuple[float, int]]:
        """Simulated second and tokens that count towards a rate limit, per request so far."""
        return self._kernel.demands if self._kernel else self._ledger.demands[: self.number]

    @property
    def now_s(self) -> float:
        """Simulated seconds since the first call."""
        if self._kernel:
            return self._kernel.now_s
        return self._kept.clock[self._billed] if self._leg else 0.0

    @property
    def changed_from(self) -> int:
        """The index of the first item that differs from the request before; growth alone is no change."""
        return self._kernel.request.changed_from if self._kernel else self._kept.changed_from

    @property
    def tokens(self) -> int:
        """Tokens of the request asked last."""
        return self._kernel.request.total if self._kernel else self._kept.tokens

    def begin(self, leg: Leg, items: Sequence[Item]) -> None:
        """Begin a call, whose request holds these items before a policy edits it."""
        self._leg, self._billed, self._items, self._dropped = leg, False, (), ()
        if self._kernel:
            self._kernel.request.join(items[len(self._kernel.request.items) :])
            self._kernel.begin(leg)

    def edit(self, items: Sequence[Item], edits: Sequence[Edit], by_policy: bool = True) -> None:
        """Apply edits to the request of these items. Edits of the vendor alone are in the ledger's requests already."""
        if self._kernel or by_policy:
            request = self._own().request
            request.join(items[len(request.items) :])
            self._unlike = (request.changed_from, request.cause, request.reshaped_from)
            request.edit(edits)

    def undo(self, edits: Sequence[Edit]) -> None:
        """Undo edits of this request before the next one."""
        if edits:
            self._own().request.undo(edits)

    def reject(self, edits: Sequence[Edit]) -> None:
        """Undo the last edits as if they had never been made."""
        request = self._own().request
        request.undo(edits)
        request.changed_from, request.cause, request.reshaped_from = self._unlike

    def ask(self, items: Sequence[Item], edited: bool) -> int:
        """Return the tokens of a request. If it is edited, items that joined since the last edit are added first."""
        self._items = items
        if not edited and self._kernel is None:
            return self._kept.tokens
        request = self._own().request
        request.join(items[len(request.items) :])
        return request.total

    def drop_thinking(self, items: Sequence[Item]) -> Sequence[Item]:
        """Remove the thinking that the provider drops from a request, and return it."""
        if self._ledger.provider.thinking != "drop":
            return ()
        if self._kernel is None:
            self._dropped = self._kept.dropped
            return self._dropped
        request = self._kernel.request
        request.join(items[len(request.items) :])
        return self._kernel.drop_thinking()

    def judge(self) -> Verdict:
        """Return the verdict on the request asked last."""
        return self._kernel.judge(self._now.begins_turn) if self._kernel else self._kept.verdict

    def bill(self, leg: Leg) -> Bill:
        """Return the bill of the request asked last with a call's response."""
        self._billed = True
        return self._kernel.bill(leg) if self._kernel else self._kept.bill

    def summarize(
        self, items: Iterable[Item], max_tokens: int, wanted: Sequence[str], mode: SummaryMode
    ) -> SummaryCall:
        """Request a summary, during a call or after it."""
        return self._own().summarize(items, max_tokens, wanted, mode)

    @property
    def _now(self) -> Leg:
        assert self._leg is not None  # a call has begun
        return self._leg

    @property
    def _kept(self) -> Kept:
        """The unedited version of the call under way, or of the last one."""
        return self._ledger.kept[self._now.number - 1]

    def _own(self) -> Kernel:
        """Return this replay's own kernel; the first use, during a call or after it, creates it."""
        if self._kernel is None:
            self._kernel = self._ledger.kernel_at(self._now.number + self._billed)
            if not self._bound:
                self._kernel.thinking.mind_heads_only()
            if not self._billed:
                request = self._kernel.request
                self._ledger.finish(request, self._now)
                self._kernel.begin(self._now)
                request.edit(drops_of(request, self._dropped))
                request.join(self._items[len(request.items) :])
        return self._kernel
