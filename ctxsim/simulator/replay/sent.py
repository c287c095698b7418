"""The result of one call: the policies' edits before and after it, the request, the verdict and the bill."""

import msgspec

from ctxsim.simulator.ledger import Bill, SummaryCall, Verdict
from ctxsim.transcript import Call
from ctxsim.view import Edit, Made, View


class Tally(msgspec.Struct, eq=False):
    """What happened since the last request: the policies' edits, messages and summaries."""

    edits: list[Made] = []
    said: list[str] = []
    compactions: int = 0
    believed: tuple[int, float] | None = None
    """The estimate by which a policy decided, and its threshold."""
    summaries: list[SummaryCall] = []
    thinking_dropped: int = 0
    """Counted tokens of the thinking that the provider dropped from the request."""


class Sent(msgspec.Struct, frozen=True):
    """One call as it went out. `tokens_sent` are of the last attempt, `tokens_output` of the recorded response."""

    call: int
    recorded: Call
    view: View
    changed_from: int
    """Index of the first item that differs from the request before; growth alone is no difference."""
    verdict: Verdict
    attempts: int
    bill: Bill
    tokens_sent: int
    tokens_estimated: int
    tokens_output: int
    tally: Tally

    @property
    def tokens_recorded(self) -> int | None:
        """The prompt's tokens as its provider recorded them, if it was the same request."""
        usage = self.recorded.usage
        return usage.input_tokens if usage and self.recorded.comparable else None

    @property
    def edits(self) -> tuple[tuple[str, Edit], ...]:
        """Each edit since the last request with its moment."""
        return tuple((made.moment, made.edit) for made in self.tally.edits)

    @property
    def said(self) -> tuple[str, ...]:
        """Messages of policies to the user."""
        return tuple(self.tally.said)

    @property
    def compactions(self) -> int:
        """How many times a policy edited the view since the last request."""
        return self.tally.compactions

    @property
    def summary_calls(self) -> int:
        """Summaries requested since the last request."""
        return len(self.tally.summaries)

    @property
    def status(self) -> str:
        """`ok`, or why the provider refused."""
        return self.verdict.status

    @property
    def http_429(self) -> int:
        """Refusals by the rate limit, those of summaries too."""
        return self.verdict.http_429 + sum([one.verdict.http_429 for one in self.tally.summaries])

    @property
    def wait_s(self) -> float:
        """Seconds waited for the rate limit, for summaries too."""
        return self.verdict.wait_s + sum([one.verdict.wait_s for one in self.tally.summaries])

    @property
    def cost_summary_usd(self) -> float | None:
        """Dollars of the requested summaries; None without prices."""
        if self.bill.cost is None:
            return None
        return sum([one.cost.total for one in self.tally.summaries if one.cost])

    @property
    def cost_usd(self) -> float | None:
        """Dollars of the call and of its summaries; None without prices."""
        cost = self.bill.cost
        return cost.total + (self.cost_summary_usd or 0.0) if cost else None
