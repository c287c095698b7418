"""What one call adds up to: its edits, summaries and verdict, as a row and as an audit trail."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ctxsim.provider import Bill, SummaryCall, Verdict
from ctxsim.rows import CallRow, Event
from ctxsim.tokenizers.counter import Counter
from ctxsim.transcript import Call
from ctxsim.view import Edit, View


class Sent(msgspec.Struct, frozen=True):
    """The request of one call as it went out, for those who want to look at it."""

    call: int
    view: View
    row: CallRow
    changed_from: int
    """The position from which on the request differs from the one before; growth alone is no difference."""
    edits: tuple[tuple[str, Edit], ...]
    said: tuple[str, ...]
    clock: tuple[float, float] = (0.0, 0.0)
    """Simulated seconds before the policy acted and after the response."""
    same: bool = False
    """Whether this is what the uncompacted replay sent, so that its row needs no second look."""


class Outcome(msgspec.Struct, frozen=True):
    """What replay knows of a call beside its tally. `full`, `sent`, `estimated` and `output` are tokens."""

    transcript: str
    policy: str
    number: int
    call: Call
    verdict: Verdict
    attempts: int
    bill: Bill
    full: int
    sent: int
    estimated: int
    output: int
    cause: str
    trigger: str


class Tally:
    """Grows while a call is prepared, sent and answered."""

    def __init__(self) -> None:
        self.edits: list[tuple[str, Edit]] = []
        self.said: list[str] = []
        self.compactions = 0
        self.believed: tuple[int, float] | None = None
        self.summaries: list[SummaryCall] = []

    def trigger(self, sent: int, counter: Counter) -> str:
        """Whether the estimate that the policy decided by lies on the wrong side of its threshold."""
        if self.believed is None:
            return ""
        estimate, limit = self.believed
        truth = sent - sum(change(edit, counter) for moment, edit in self.edits if moment != "on_tool_result")
        if estimate <= limit < truth:
            return "false-safe"
        return "false-alarm" if truth <= limit < estimate else ""

    def row(self, outcome: Outcome, counter: Counter) -> CallRow:
        """Return the call's row."""
        split, cost, verdict = outcome.bill.split, outcome.bill.cost, outcome.verdict
        usage, comparable = outcome.call.usage, outcome.call.comparable
        edits = [edit for _, edit in self.edits]
        summaries = self.summaries
        summary_usd = sum(one.cost.total for one in summaries if one.cost) if cost else None
        return CallRow(
            transcript=outcome.transcript,
            policy=outcome.policy,
            call=outcome.number,
            status=verdict.status,
            reason=verdict.reason,
            attempts=outcome.attempts,
            tokens_full=outcome.full,
            tokens_sent=outcome.sent,
            tokens_estimated=outcome.estimated,
            tokens_recorded=usage.input_tokens if usage and comparable else None,
            trigger=outcome.trigger,
            tokens_cache_read=split.read,
            tokens_cache_write=split.write,
            tokens_uncached=split.uncached,
            tokens_rewritten=outcome.bill.tokens_rewritten,
            cache_break=outcome.bill.cause or outcome.cause if outcome.bill.tokens_rewritten else "",
            tokens_output=outcome.output,
            cost_usd=_usd(cost.total + (summary_usd or 0)) if cost else None,
            cost_read_usd=_usd(cost.read) if cost else None,
            cost_write_usd=_usd(cost.write) if cost else None,
            cost_uncached_usd=_usd(cost.uncached) if cost else None,
            cost_output_usd=_usd(cost.output) if cost else None,
            cost_summary_usd=_usd(summary_usd) if summary_usd is not None else None,
            http_429=verdict.http_429 + sum(one.verdict.http_429 for one in summaries),
            wait_s=round(verdict.wait_s + sum(one.verdict.wait_s for one in summaries), 6),
            compactions=self.compactions,
            items_edited=sum(edit.action == "edited" for edit in edits),
            items_dropped=sum(edit.action == "dropped" for edit in edits),
            tokens_removed=-sum(change(edit, counter) for edit in edits),
            summary_calls=len(summaries),
            tokens_summary_in=sum(one.tokens_in for one in summaries),
            tokens_summary_out=sum(one.tokens_out for one in summaries),
        )


SHOWN_CHARS = 2_000


def shown(text: str) -> str:
    """The beginning of a text, for people to look at, and how much is left out; half a surrogate pair replaced."""
    cut = text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}… ({len(text) - SHOWN_CHARS:,} more characters)"
    return cut.encode("utf-8", "replace").decode()


def change(edit: Edit, counter: Counter) -> int:
    """True tokens that an edit added (negative: removed), without framing."""
    after = counter.item(edit.after) if edit.after else 0
    return after - (counter.item(edit.before) if edit.before else 0)


def _usd(value: float) -> float:
    """Dollars to a hundred-millionth of a cent, so that sums in another order print the same."""
    return round(value, 10)


def events(sent: Sent, counter: Counter) -> Iterator[Event]:
    """Return the audit trail of one call: every edit with its tokens before and after."""
    for moment, edit in sent.edits:
        item = edit.after or edit.before
        assert item is not None  # an edit has at least one side
        yield Event(
            transcript=sent.row.transcript,
            policy=sent.row.policy,
            call=sent.call,
            moment=moment,
            item=item.place,
            action=edit.action,
            tokens_before=counter.item(edit.before) if edit.before else 0,
            tokens_after=counter.item(edit.after) if edit.after else 0,
            reason=edit.reason,
            sources=" ".join(map(str, edit.after.sources)) if edit.after and edit.before is None else "",
            text=shown(edit.after.text) if edit.after else "",
        )
