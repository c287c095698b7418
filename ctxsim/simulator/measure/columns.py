"""The columns of a replay's calls, made of what was sent and what the policy kept; and figures over columns: sums with
missing values, percentiles, the call that passes a threshold, the costs and savings of compactions.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from statistics import median
from typing import Any, Literal

from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.results.columns import Event
from ctxsim.simulator.ledger import Ledger
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import expected_loss
from ctxsim.simulator.provider.vendor import load_vendor
from ctxsim.simulator.references.survival import Counts
from ctxsim.simulator.replay.sent import Sent
from ctxsim.transcript import Transcript

SHOWN_CHARS = 2_000

OWN = (
    "status", "reason", "attempts", "tokens_sent",
    "tokens_cache_read", "tokens_cache_write", "tokens_uncached", "tokens_missed", "tokens_thinking_dropped",
    "tokens_rewritten", "cache_break",
    "cost_usd", "cost_read_usd", "cost_write_usd", "cost_uncached_usd", "cost_output_usd", "cost_summary_usd",
    "http_429", "wait_s", "summary_calls", "tokens_summary_in", "tokens_summary_out",
    "compactions", "items_edited", "items_dropped", "tokens_removed",
    "refs_kept_strict", "refs_kept_values", "refs_kept_loose", "refs_kept_fresh", "refs_kept_carried",
    "refs_kept_user",
    "tokens_estimated", "trigger",
)  # fmt: skip
"""The columns of a call that depend on the policy, in the order in which `outcome` returns them."""

_kept_of = attrgetter(*(name for name in OWN if name.startswith("refs_kept")))

Outcome = tuple[Any, ...]

Misled = Literal["", "false-safe", "false-alarm"]


Columns = Mapping[str, Sequence[Any]]
"""The columns of a replay's calls by name. Columns that replays share are one object."""


def of_all_policies(ledger: Ledger, tokens_full: Sequence[int], kept: Sequence[Counts]) -> Columns:
    """Return the columns that are the same under every policy, given what keep-all sends and its reference counts."""
    calls = ledger.transcript.calls
    recorded = [call.usage.input_tokens if call.usage and call.comparable else None for call in calls]
    return {
        "transcript": [ledger.transcript.name] * len(calls),
        "call": range(1, len(calls) + 1),
        "tokens_full": tokens_full,
        "tokens_recorded": recorded,
        "tokens_output": [leg.tokens_output for leg in ledger.legs],
        "cost_recorded_usd": [call.usage.cost_usd if call.usage else None for call in calls],
        **{name: [getattr(one, name) for one in kept] for name in Counts.__struct_fields__ if "needed" in name},
    }


def by_lifetime(provider: Provider, written: Sequence[int]) -> Columns:
    """Return the columns of tokens written by how long they are kept; missing where a vendor has one lifetime."""
    nothing = [None] * len(written)
    if not load_vendor(provider.cache).cache.long_lifetime_s:
        return {"tokens_cache_write_5m": nothing, "tokens_cache_write_1h": nothing}
    zero = [0] * len(written)
    short, long = (zero, written) if provider.long_cache else (written, zero)
    return {"tokens_cache_write_5m": short, "tokens_cache_write_1h": long}


def outcome(sent: Sent, counts: Counts, events: Sequence[Event]) -> Outcome:
    """Return the values of a call's columns in the order of OWN, given its audit trail."""
    bill, verdict, tally = sent.bill, sent.verdict, sent.tally
    split, cost = bill.split, bill.cost
    usd: tuple[float | None, ...] = (None,) * 6
    if cost:
        summaries = sent.cost_summary_usd or 0
        usd = (cost.total + summaries, cost.read, cost.write, cost.uncached, cost.output, summaries)
        # To a hundred-millionth of a cent, so that sums in another order print the same.
        usd = tuple([round(one, 10) if one else one for one in usd])
    asked = tally.summaries
    return (
        verdict.status, verdict.reason, sent.attempts, sent.tokens_sent,
        split.read, split.write, split.uncached, bill.tokens_missed,
        tally.thinking_dropped, bill.tokens_rewritten, bill.cause, *usd,
        sent.http_429, round(sent.wait_s, 6),
        len(asked), sum([one.tokens_in for one in asked]), sum([one.tokens_out for one in asked]),
        tally.compactions, *edits_of(events),
        *_kept_of(counts),
        sent.tokens_estimated, _trigger(sent, events),
    )  # fmt: skip


def event_rows(sent: Sent, transcript: str, policy: str, counter: Counter) -> Iterator[Event]:
    """Yield the audit trail of one call: every edit with its tokens before and after."""
    for made in sent.tally.edits:
        edit = made.edit
        item = edit.after or edit.before
        assert item is not None  # an edit has at least one side
        yield Event(
            transcript=transcript, policy=policy, call=sent.call, moment=made.moment, item=item.place,
            action=edit.action, reason=edit.reason,
            tokens_before=counter.item(edit.before) if edit.before else 0,
            tokens_after=counter.item(edit.after) if edit.after else 0,
            sources=" ".join(map(str, edit.after.sources)) if edit.after and edit.before is None else "",
            text=shown(edit.after.text) if edit.after else "",
        )  # fmt: skip


def edits_of(events: Sequence[Event]) -> tuple[int, int, int]:
    """Return how many items edits changed and dropped, and the true tokens that they removed (negative: added)."""
    actions = [one.action for one in events]
    removed = sum(one.tokens_before - one.tokens_after for one in events)
    return actions.count("edited"), actions.count("dropped"), removed


def _trigger(sent: Sent, events: Sequence[Event]) -> str:
    """Whether the estimate that the policy decided by lies on the wrong side of its threshold."""
    if sent.tally.believed is None:
        return ""
    estimate, limit = sent.tally.believed
    later = (one.tokens_before - one.tokens_after for one in events if one.moment != "on_tool_result")
    return misled(estimate, sent.tokens_sent + sum(later), limit)


def shown(text: str) -> str:
    """Return the beginning of a text for display, and how much is left out; lone surrogates are replaced."""
    cut = text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}… ({len(text) - SHOWN_CHARS:,} more characters)"
    return cut.encode("utf-8", "replace").decode()


def total(values: Iterable[float | None]) -> float | None:
    """Return the sum, rounded to 10 digits; None if any value is None."""
    found = list(values)
    known = [value for value in found if value is not None]
    return round(sum(known, 0.0), 10) if len(known) == len(found) else None


def nearest_rank(ordered: Sequence[float], percent: int) -> float:
    """Return the nearest-rank percentile of ascending values, of which there is at least one."""
    return ordered[-(-percent * len(ordered) // 100) - 1]


def misled(estimate: float, tokens: float, limit: float) -> Misled:
    """Return `false-safe` where the estimate is at or under a limit that the tokens are over, `false-alarm` where it is
    the other way round, '' where both are on one side.
    """
    if estimate <= limit < tokens:
        return "false-safe"
    return "false-alarm" if tokens <= limit < estimate else ""


def first_over(values: Iterable[float], limit: float) -> int | None:
    """Return the index of the first value over a limit; None if none is."""
    return next((place for place, value in enumerate(values) if value > limit), None)


def displacement(fired: int | None, due: int | None, tokens: Sequence[int]) -> tuple[int, int] | None:
    """Return how many calls and tokens later than due a threshold fired; negative: earlier, None: one never did.

    `tokens` are those of each request of the same history.
    """
    return None if fired is None or due is None else (fired - due, tokens[fired] - tokens[due])


def payback_calls(of: Columns, transcript: Transcript, provider: Provider) -> float | None:
    """Return the median, over a replay's compactions, of one-time cost / saving per later call.

    One-time: the summary, and what the next request writes again instead of reading it. Saving: the removed tokens at
    the price of reading them, or of input where nothing is cached. None without prices, without such a compaction, or
    where reading is free.
    """
    if provider.prices is None:
        return None
    found = []
    rewritten_at = (*of["tokens_rewritten"], 0)
    for at, (compactions, removed) in enumerate(zip(of["compactions"], of["tokens_removed"], strict=True)):
        if not compactions or removed <= 0:
            continue
        read, write = provider.of(transcript.calls[at]).read_and_write_usd(of["tokens_sent"][at])
        if not read:
            continue
        rewritten = rewritten_at[at] or rewritten_at[at + 1]
        once = (of["cost_summary_usd"][at] or 0.0) + rewritten * (write - read)
        found.append(once / (removed * read))
    return round(median(found), 3) if found else None


def cost_interval(of: Columns, transcript: Transcript, provider: Provider) -> tuple[float, float] | None:
    """Return the lowest and highest dollars of a replay if the vendor's cache misses as often as on recordings.

    None without prices, or where no rate of misses was measured. Where the recording says what was read, its misses are
    in the bill already, and both are that bill. The ends of all calls are added, as if one cause made all of them miss.
    """
    if provider.prices is None:
        return None
    paid = sum(usd or 0.0 for usd in of["cost_usd"])
    if any(call.usage and call.usage.cache_read_tokens is not None for call in transcript.calls):
        return round(paid, 10), round(paid, 10)
    low = high = paid
    measured = False
    for number, (last, this) in enumerate(pairwise(transcript.calls), 1):
        gap_s = provider.pace_s if this.time_s is None or last.time_s is None else this.time_s - last.time_s
        loss = expected_loss(provider.cache, max(0.0, gap_s))
        if loss is None:
            continue
        measured = True
        read, write = provider.of(this).read_and_write_usd(of["tokens_sent"][number])
        billed = of["tokens_missed"][number]
        readable = of["tokens_cache_read"][number] + billed
        low += (readable * loss.low - billed) * (write - read)
        high += (readable * loss.high - billed) * (write - read)
    # Where writing is cheaper than reading, more misses cost less.
    ends = sorted((round(low, 10), round(high, 10)))
    return (ends[0], ends[1]) if measured or provider.cache == "none" else None
