"""One transcript under one policy in one row: what its calls add up to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from ctxsim.economics import break_even_refetch, payback_calls, refetch_usd
from ctxsim.policies import Spec, open_policy
from ctxsim.provider import Provider
from ctxsim.provider.rate_limit import smallest_quota
from ctxsim.references import References, Survival, prepare
from ctxsim.references.survival import NOTHING
from ctxsim.replay import replay
from ctxsim.rows import CallRow, Event, SummaryRow
from ctxsim.tally import Sent, events
from ctxsim.tokenizers.counter import Counter
from ctxsim.transcript import Transcript

REFERENCE_COLUMNS = tuple(name for name in CallRow.__struct_fields__ if name.startswith("refs_"))


class Measured:
    """All rows of one replay. `references` are the transcript's, prepared once for all policies."""

    def __init__(
        self,
        transcript: Transcript,
        spec: Spec,
        provider: Provider,
        counter: Counter,
        references: References | None = None,
    ) -> None:
        references = references or prepare(transcript)
        survival = Survival(references)
        self.calls: list[CallRow] = []
        self.events: list[Event] = []
        self.provider = provider
        removed: dict[int, float] = {}
        replayed = replay(transcript, spec, provider, counter, references)
        for sent in replayed:
            counts = survival.call(sent.call, sent.view)
            found = {name: getattr(counts, name) for name in REFERENCE_COLUMNS} if counts is not NOTHING else {}
            self.calls.append(msgspec.structs.replace(sent.row, **found) if found else sent.row)
            self.events.extend(events(sent, counter))
            if provider.prices is not None:
                removed.update(_refetches(sent, transcript, provider, counter, removed))
        self.needs = replayed.needs
        self.threshold = replayed.threshold
        self.estimator = spec.estimator
        self._full = (transcript, provider, counter, references)
        self.refetch_all_usd = sum(removed.values())

    def displacement(self, keep_all: Measured | None) -> tuple[int, int] | None:
        """Return how many calls and tokens later than by the tokenizer the threshold is first passed by the estimator.

        On the uncompacted history; None where there is no threshold, or one side never passes it.
        """
        limit = self.threshold
        if limit is None:
            return None
        if keep_all is None or keep_all.estimator != self.estimator:
            transcript, provider, counter, references = self._full
            keep_all = Measured(transcript, open_policy("keep-all", self.estimator), provider, counter, references)
        rows = keep_all.calls
        fired = next((row for row in rows if row.tokens_estimated > limit), None)
        due = next((row for row in rows if row.tokens_sent > limit), None)
        return (fired.call - due.call, fired.tokens_sent - due.tokens_sent) if fired and due else None

    def summary(self, keep_all: Measured | None) -> SummaryRow:
        """Return the summary row; dollars are compared with keep-all's where that was measured too."""
        return summarize_calls(self.calls, self, keep_all)


def _refetches(
    sent: Sent, transcript: Transcript, provider: Provider, counter: Counter, known: dict[int, float]
) -> Iterator[tuple[int, float]]:
    """Each result that this call's edits removed or cut for the first time, with what fetching it again would cost."""
    for _, edit in sent.edits:
        before = edit.before
        if before is None or before.kind != "tool_result" or before.place in known or before.answers is None:
            continue
        asked = counter.item(transcript.items[before.answers])
        whole = counter.item(transcript.items[before.place])
        yield before.place, refetch_usd(provider, whole, asked, sent.row.tokens_sent)


def _total(values: Iterable[float | None]) -> float | None:
    """Sum, or None as soon as one is unknown."""
    found = list(values)
    return None if any(value is None for value in found) else round(sum(value or 0.0 for value in found), 10)


def summarize_calls(rows: Sequence[CallRow], measured: Measured, keep_all: Measured | None) -> SummaryRow:
    """Return the summary of one replay's call rows, in call order; at least one.

    `estimate_*` compare `tokens_estimated` with `tokens_sent`: bias is the signed mean of the relative error (negative:
    the policy believes the request is smaller than it is), MAPE and p95 are of its absolute value.
    A compaction makes no progress if it removed no tokens.
    """
    sent = [row.tokens_sent for row in rows]
    failed = next((row for row in rows if row.status != "ok"), None)
    statuses = [row.status for row in rows]
    errors = [(row.tokens_estimated - row.tokens_sent) / row.tokens_sent for row in rows if row.tokens_sent]
    absolute = sorted(map(abs, errors))
    moved = measured.displacement(keep_all)
    decides = measured.threshold is not None
    cost = _total(row.cost_usd for row in rows)
    base = _total(row.cost_usd for row in keep_all.calls) if keep_all else None
    return SummaryRow(
        transcript=rows[0].transcript,
        policy=rows[0].policy,
        provider=0,
        calls=len(rows),
        tokens_peak=max(sent),
        tokens_sum=sum(sent),
        tokens_full_sum=sum(row.tokens_full for row in rows),
        tokens_output_sum=sum(row.tokens_output for row in rows),
        tokens_growth_per_call=round((sent[-1] - sent[0]) / (len(sent) - 1), 3) if len(sent) > 1 else None,
        cost_usd=cost,
        cost_read_usd=_total(row.cost_read_usd for row in rows),
        cost_write_usd=_total(row.cost_write_usd for row in rows),
        cost_uncached_usd=_total(row.cost_uncached_usd for row in rows),
        cost_output_usd=_total(row.cost_output_usd for row in rows),
        cost_summary_usd=_total(row.cost_summary_usd for row in rows),
        cost_vs_keep_all=round(cost / base, 6) if cost is not None and base else None,
        cache_hit_ratio=_ratio(rows) if measured.provider.cache != "none" else None,
        cache_breaks=sum(row.tokens_rewritten > 0 for row in rows),
        tokens_rewritten=sum(row.tokens_rewritten for row in rows),
        payback_calls=payback_calls(rows, measured.provider),
        break_even_refetch=break_even_refetch(base - cost, measured.refetch_all_usd)
        if cost is not None and base is not None
        else None,
        smallest_quota=smallest_quota(measured.needs),
        calls_until_first_failure=failed.call - 1 if failed else None,
        first_failure=failed.status if failed else None,
        overflows=statuses.count("overflow"),
        rate_limited=statuses.count("rate_limited"),
        invalid_pairs=statuses.count("invalid_pairs"),
        stopped=statuses.count("stopped"),
        http_429=sum(row.http_429 for row in rows),
        wait_s=round(sum(row.wait_s for row in rows), 6),
        compactions=sum(row.compactions for row in rows),
        no_progress_compactions=sum(row.compactions > 0 and row.tokens_removed <= 0 for row in rows),
        items_edited=sum(row.items_edited for row in rows),
        items_dropped=sum(row.items_dropped for row in rows),
        tokens_removed=sum(row.tokens_removed for row in rows),
        summary_calls=sum(row.summary_calls for row in rows),
        tokens_summary=sum(row.tokens_summary_in + row.tokens_summary_out for row in rows),
        calls_with_aged_needs=sum(row.refs_needed_strict > 0 for row in rows),
        survival=_survival(rows, "strict"),
        survival_values=_survival(rows, "values"),
        survival_loose=_survival(rows, "loose"),
        survival_fresh=_survival(rows, "fresh"),
        survival_carried=_survival(rows, "carried"),
        false_safe_calls=sum(row.trigger == "false-safe" for row in rows) if decides else None,
        false_alarm_calls=sum(row.trigger == "false-alarm" for row in rows) if decides else None,
        trigger_displacement_calls=moved[0] if moved else None,
        trigger_displacement_tokens=moved[1] if moved else None,
        estimate_bias=round(sum(errors) / len(errors), 6) if errors else None,
        estimate_mape=round(sum(absolute) / len(absolute), 6) if absolute else None,
        # Nearest-rank 95th percentile.
        estimate_p95=round(absolute[-(-95 * len(absolute) // 100) - 1], 6) if absolute else None,
    )


def _survival(rows: Sequence[CallRow], kind: str) -> float | None:
    """Share of needs that the view still held, mean over the calls that have any; None if no call has."""
    shares = [
        getattr(row, f"refs_kept_{kind}") / needed for row in rows if (needed := getattr(row, f"refs_needed_{kind}"))
    ]
    return round(sum(shares) / len(shares), 6) if shares else None


def _ratio(rows: Sequence[CallRow]) -> float | None:
    total = sum(row.tokens_sent for row in rows)
    return round(sum(row.tokens_cache_read for row in rows) / total, 6) if total else None
