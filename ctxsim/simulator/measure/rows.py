"""Rows of one call: everything that `calls` and `events` say of it, built once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.results.columns import CallRow, Event
from ctxsim.simulator.measure.trigger import misled
from ctxsim.simulator.references import Counts
from ctxsim.simulator.replay.tally import Sent
from ctxsim.view import Edit

SHOWN_CHARS = 2_000


def call_row(
    sent: Sent, transcript: str, policy: str, tokens_full: int | None, counts: Counts, counter: Counter
) -> CallRow:
    """Return the row of one call. `tokens_full` is what keep-all sends; None for keep-all itself."""
    bill, verdict, asked = sent.bill, sent.verdict, sent.tally.summaries
    split, cost = bill.split, bill.cost
    usage = sent.recorded.usage
    edited, dropped, removed = edits_of(sent, counter)
    return CallRow(
        transcript=transcript,
        policy=policy,
        call=sent.call,
        status=verdict.status,
        reason=verdict.reason,
        attempts=sent.attempts,
        tokens_full=sent.tokens_sent if tokens_full is None else tokens_full,
        tokens_sent=sent.tokens_sent,
        tokens_estimated=sent.tokens_estimated,
        tokens_recorded=sent.tokens_recorded,
        trigger=_trigger(sent, counter),
        tokens_cache_read=split.read,
        tokens_cache_write=split.write,
        tokens_uncached=split.uncached,
        tokens_rewritten=bill.tokens_rewritten,
        cache_break=sent.cache_break,
        tokens_output=sent.tokens_output,
        cost_usd=_usd(sent.cost_usd),
        cost_read_usd=_usd(cost.read) if cost else None,
        cost_write_usd=_usd(cost.write) if cost else None,
        cost_uncached_usd=_usd(cost.uncached) if cost else None,
        cost_output_usd=_usd(cost.output) if cost else None,
        cost_summary_usd=_usd(sent.cost_summary_usd),
        cost_recorded_usd=usage.cost_usd if usage else None,
        http_429=sent.http_429,
        wait_s=round(sent.wait_s, 6),
        compactions=sent.compactions,
        items_edited=edited,
        items_dropped=dropped,
        tokens_removed=removed,
        summary_calls=len(asked),
        tokens_summary_in=sum([one.tokens_in for one in asked]),
        tokens_summary_out=sum([one.tokens_out for one in asked]),
        refs_needed_strict=counts.refs_needed_strict,
        refs_kept_strict=counts.refs_kept_strict,
        refs_needed_values=counts.refs_needed_values,
        refs_kept_values=counts.refs_kept_values,
        refs_needed_loose=counts.refs_needed_loose,
        refs_kept_loose=counts.refs_kept_loose,
        refs_needed_fresh=counts.refs_needed_fresh,
        refs_kept_fresh=counts.refs_kept_fresh,
        refs_needed_carried=counts.refs_needed_carried,
        refs_kept_carried=counts.refs_kept_carried,
    )


def row_like(keep_all: CallRow, sent: Sent, policy: str, counter: Counter) -> CallRow:
    """Return the row of a call that no policy has touched: keep-all's, but for what the policy believes."""
    return msgspec.structs.replace(
        keep_all, policy=policy, tokens_estimated=sent.tokens_estimated, trigger=_trigger(sent, counter)
    )


def event_rows(sent: Sent, transcript: str, policy: str, counter: Counter) -> Iterator[Event]:
    """Return the audit trail of one call: every edit with its tokens before and after."""
    for moment, edit, _ in sent.tally.edits:
        item = edit.after or edit.before
        assert item is not None  # an edit has at least one side
        yield Event(
            transcript=transcript,
            policy=policy,
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


class Edits(NamedTuple):
    """Items edited and dropped before a call and since the one before, and the true tokens that this removed."""

    edited: int
    dropped: int
    tokens_removed: int


def edits_of(sent: Sent, counter: Counter) -> Edits:
    """Return what policies did to the view on the way to a request."""
    if not sent.tally.edits:
        return NO_EDITS
    edited = dropped = joined = 0
    for made in sent.tally.edits:
        edit = made.edit
        joined += added(edit, counter)
        if edit.after is None:
            dropped += 1
        elif edit.before is not None:
            edited += 1
    return Edits(edited, dropped, -joined)


NO_EDITS = Edits(0, 0, 0)


def added(edit: Edit, counter: Counter) -> int:
    """True tokens that an edit added (negative: removed), without framing."""
    after = counter.item(edit.after) if edit.after else 0
    return after - (counter.item(edit.before) if edit.before else 0)


def _trigger(sent: Sent, counter: Counter) -> str:
    """Whether the estimate that the policy decided by lies on the wrong side of its threshold."""
    if sent.tally.believed is None:
        return ""
    estimate, limit = sent.tally.believed
    truth = sent.tokens_sent - sum(
        added(edit, counter) for moment, edit, _ in sent.tally.edits if moment != "on_tool_result"
    )
    return misled(estimate, truth, limit)


def shown(text: str) -> str:
    """The beginning of a text, for people to look at, and how much is left out; half a surrogate pair replaced."""
    cut = text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}… ({len(text) - SHOWN_CHARS:,} more characters)"
    return cut.encode("utf-8", "replace").decode()


def _usd(value: float | None) -> float | None:
    """Dollars to a hundred-millionth of a cent, so that sums in another order print the same."""
    return round(value, 10) if value else value
