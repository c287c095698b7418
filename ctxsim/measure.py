"""One transcript under one policy in one row: what its calls add up to."""

from __future__ import annotations

from collections import Counter as Counted
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from math import floor
from typing import Any

import msgspec

from ctxsim.bounds import LEVELS, Family, Frontier, Scheduled, frontiers
from ctxsim.economics import break_even_refetch, payback_calls
from ctxsim.losses import Losses
from ctxsim.policies import Spec, open_policy
from ctxsim.provider import Provider
from ctxsim.provider.rate_limit import smallest_quota
from ctxsim.references import References, prepare
from ctxsim.references.survival import NOTHING
from ctxsim.replay import replay
from ctxsim.rows import CallRow, Event, FrontierRow, SummaryRow
from ctxsim.tally import Sent, events
from ctxsim.tokenizers.counter import Counter
from ctxsim.transcript import Transcript

KEEP_ALL = open_policy("keep-all")

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
        like: Measured | None = None,
    ) -> None:
        references = references or prepare(transcript)
        self.losses = Losses(transcript, references, spec.label, provider, counter)
        self.calls: list[CallRow] = []
        self.events: list[Event] = []
        self.provider = provider
        self.sent: list[Sent] = []
        """The requests, if this is what other policies are compared with: keep-all's."""
        replayed = replay(transcript, spec, provider, counter, references, like.sent if like else None)
        for sent in replayed:
            if sent.same and like is not None:
                self.losses.nothing(sent)
                self.calls.append(sent.row)
                continue
            counts = self.losses.after(sent)
            found = {name: getattr(counts, name) for name in REFERENCE_COLUMNS} if counts is not NOTHING else {}
            self.calls.append(msgspec.structs.replace(sent.row, **found) if found else sent.row)
            self.events.extend(events(sent, counter))
            if spec == KEEP_ALL:
                self.sent.append(msgspec.structs.replace(sent, row=self.calls[-1]))
        self.needs: list[tuple[float, int]] = replayed.needs if like is None or replayed.touched else like.needs
        self._like = like
        self._shares_needs = like is not None and not replayed.touched
        self.threshold = replayed.threshold
        self.estimator = spec.estimator
        self._spec = spec
        self._full = (transcript, provider, counter, references)

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

    @cached_property
    def smallest_quota(self) -> int:
        """Tokens per minute with which no request would have waited."""
        return self._like.smallest_quota if self._like and self._shares_needs else smallest_quota(self.needs)

    def interval(self) -> tuple[float | None, float | None]:
        """Return the survival if summaries kept nothing, and if they knew what later calls use.

        Nobody knows what a model would have written; without summaries both are None.
        """
        if not any(row.summary_calls for row in self.calls):
            return None, None
        transcript, provider, counter, references = self._full
        low, high = (
            _survival(Measured(transcript, self._spec, other, counter, references, self._like).calls, "strict")
            for other in (
                msgspec.structs.replace(provider, summaries="empty"),
                msgspec.structs.replace(provider, summaries="clairvoyant"),
            )
        )
        return low, high

    def frontiers(self) -> dict[Family, Frontier]:
        """Return the frontiers that all policies on this transcript are measured by; this is keep-all's replay."""
        transcript, provider, counter, references = self._full
        output = _total(row.cost_output_usd for row in self.calls)
        return frontiers(transcript, references, provider, counter, [row.tokens_full for row in self.calls], output)

    def summary(self, keep_all: Measured | None, bounds: Mapping[Family, Frontier] | None = None) -> SummaryRow:
        """Return the summary row; dollars are compared with keep-all's where that was measured too."""
        return summarize_calls(self, keep_all, bounds or self.frontiers())


def frontier_rows(keep_all: Measured, bounds: Mapping[Family, Frontier]) -> list[FrontierRow]:
    """Return both frontiers of a transcript, level by level; only their beginning where nothing aged is needed."""
    transcript, provider, counter, _ = keep_all._full
    scheduled = Scheduled(transcript, provider, counter)
    levels = LEVELS if any(row.refs_needed_strict for row in keep_all.calls) else LEVELS[:1]
    return [
        FrontierRow(
            transcript=transcript.name,
            family=family,
            survival=level,
            tokens=_amount(frontier.tokens(level), 1),
            cost_usd=_amount(frontier.cost_usd(level), 10),
            scheduled_usd=_amount(scheduled.usd(frontier, level), 10) if family == "results" else None,
        )
        for family, frontier in bounds.items()
        for level in levels
    ]


def _amount(value: float | None, digits: int) -> Any:
    """A bound, rounded down so that it stays one."""
    # Not because of what floating point lost: 1.9999999 is 2.
    return None if value is None else floor(value * 10**digits + 1e-4) / 10**digits


def _total(values: Iterable[float | None]) -> float | None:
    """Sum, or None as soon as one is unknown."""
    found = list(values)
    return None if any(value is None for value in found) else round(sum(value or 0.0 for value in found), 10)


def summarize_calls(measured: Measured, keep_all: Measured | None, bounds: Mapping[Family, Frontier]) -> SummaryRow:
    """Return the summary of one replay's call rows, of which there is at least one.

    `estimate_*` compare `tokens_estimated` with `tokens_sent`: bias is the signed mean of the relative error (negative:
    the policy believes the request is smaller than it is), MAPE and p95 are of its absolute value.
    A compaction makes no progress if it removed no tokens.
    """
    rows, losses = measured.calls, measured.losses
    forms = Counted(row.form for row in losses.lost)
    missed = [losses.edited[place] for place in sorted(losses.missed)]
    survival = _survival(rows, "strict")
    # Without any aged need nothing has to be kept.
    level = survival or 0.0
    low, high = measured.interval()
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
        root=rows[0].transcript,
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
        break_even_refetch=break_even_refetch(base - cost, sum(one.cost_usd or 0.0 for one in losses.edited.values()))
        if cost is not None and base is not None
        else None,
        smallest_quota=measured.smallest_quota,
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
        survival=survival,
        survival_values=_survival(rows, "values"),
        survival_loose=_survival(rows, "loose"),
        survival_fresh=_survival(rows, "fresh"),
        survival_carried=_survival(rows, "carried"),
        survival_low=low,
        survival_high=high,
        chance_rate=None,
        lost_truncated=forms["truncated"],
        lost_dropped=forms["dropped"],
        lost_summarised=forms["summarised"],
        results_edited=len(losses.edited),
        results_missed=len(missed),
        refetch_tokens=sum(one.tokens for one in missed),
        refetch_usd=_total(one.cost_usd for one in missed) if measured.provider.prices else None,
        reissued_calls=sum(map(len, losses.again.values())),
        reissued_after_edit=losses.again_after_edit,
        tokens_frontier=_amount(bounds["any"].tokens(level), 1),
        tokens_frontier_results=_amount(bounds["results"].tokens(level), 1),
        cost_frontier_usd=_amount(bounds["any"].cost_usd(level), 10),
        cost_frontier_results_usd=_amount(bounds["results"].cost_usd(level), 10),
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
