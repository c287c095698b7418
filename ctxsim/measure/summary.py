"""One transcript under one policy in one row: what its calls add up to."""

from __future__ import annotations

from collections import Counter as Frequencies
from collections.abc import Sequence
from typing import Any

from ctxsim.measure.economics import break_even_refetch, cost_interval, payback_calls
from ctxsim.measure.frontier import amount
from ctxsim.measure.losses import Losses
from ctxsim.measure.measured import Basis, Measured, measure
from ctxsim.measure.totals import nearest_rank, total
from ctxsim.measure.trigger import displacement, first_over
from ctxsim.provider.rate_limit import smallest_quota
from ctxsim.results.columns import CallRow, SummaryRow
from ctxsim.transcript import UNLOGGED


def summary_row(
    basis: Basis, measured: Measured, root: str = "", provider: int = 0, chance_rate: float | None = None
) -> SummaryRow:
    """Return the summary row; `root`, `provider` and `chance_rate` say where the transcript stands in its run."""
    name = basis.transcript.name
    place: dict[str, Any] = {"transcript": name, "root": root or name, "provider": provider, "chance_rate": chance_rate}
    return SummaryRow(**place, **summarize(basis, measured))


def summarize(basis: Basis, measured: Measured) -> dict[str, Any]:
    """Return every column of the summary that one replay can say, by name.

    Replays again: twice where the policy asked for summaries (what if they kept nothing, or all), and once per
    estimator for the displacement of its threshold. There is at least one call.
    """
    rows = measured.calls
    survival = mean_survival(rows, "strict")
    return {
        "policy": measured.spec.label,
        "calls": len(rows),
        **_tokens(rows),
        **_dollars(rows, basis, measured),
        **_limits(rows, basis, measured),
        **_edits(rows),
        "calls_with_aged_needs": sum(row.refs_needed_strict > 0 for row in rows),
        "survival": survival,
        **{f"survival_{kind}": mean_survival(rows, kind) for kind in ("values", "loose", "fresh", "carried")},
        **_if_summaries_differed(basis, measured),
        **_lost(measured.losses, priced=basis.provider.prices is not None),
        # Without any aged need nothing has to be kept.
        **_frontier(basis, survival or 0.0),
        **_trigger(basis, measured),
        **_estimates(rows),
        **_recorded(basis),
    }


def _tokens(rows: Sequence[CallRow]) -> dict[str, Any]:
    sent = [row.tokens_sent for row in rows]
    return {
        "tokens_peak": max(sent),
        "tokens_sum": sum(sent),
        "tokens_full_sum": sum(row.tokens_full for row in rows),
        "tokens_output_sum": sum(row.tokens_output for row in rows),
        "tokens_growth_per_call": round((sent[-1] - sent[0]) / (len(sent) - 1), 3) if len(sent) > 1 else None,
    }


def _dollars(rows: Sequence[CallRow], basis: Basis, measured: Measured) -> dict[str, Any]:
    cost, base = total(row.cost_usd for row in rows), total(row.cost_usd for row in basis.keep_all.calls)
    sent = sum(row.tokens_sent for row in rows)
    read = sum(row.tokens_cache_read for row in rows)
    refetch_all = sum((one.cost_usd or 0.0 for one in measured.losses.edited.values()), 0.0)
    compared = cost is not None and base is not None
    low, high = cost_interval(rows, basis.transcript, basis.provider) or (None, None)
    return {
        "cost_usd": cost,
        "cost_read_usd": total(row.cost_read_usd for row in rows),
        "cost_write_usd": total(row.cost_write_usd for row in rows),
        "cost_uncached_usd": total(row.cost_uncached_usd for row in rows),
        "cost_output_usd": total(row.cost_output_usd for row in rows),
        "cost_summary_usd": total(row.cost_summary_usd for row in rows),
        "cost_vs_keep_all": round(cost / base, 6) if cost is not None and base else None,
        "cache_hit_ratio": round(read / sent, 6) if sent and basis.provider.cache != "none" else None,
        "cache_breaks": sum(row.tokens_rewritten > 0 for row in rows),
        "tokens_rewritten": sum(row.tokens_rewritten for row in rows),
        "payback_calls": payback_calls(rows, basis.provider),
        "cost_low_usd": low,
        "cost_high_usd": high,
        "break_even_refetch": break_even_refetch((base or 0) - (cost or 0), refetch_all) if compared else None,
    }


def _limits(rows: Sequence[CallRow], basis: Basis, measured: Measured) -> dict[str, Any]:
    failed = next((row for row in rows if row.status != "ok"), None)
    statuses = Frequencies(row.status for row in rows)
    same = measured.demands is basis.keep_all.demands
    return {
        "smallest_quota": basis.smallest_quota if same else smallest_quota(measured.demands),
        "calls_until_first_failure": failed.call - 1 if failed else None,
        "first_failure": failed.status if failed else None,
        "overflows": statuses["overflow"],
        "rate_limited": statuses["rate_limited"],
        "invalid_pairs": statuses["invalid_pairs"],
        "stopped": statuses["stopped"],
        "http_429": sum(row.http_429 for row in rows),
        "wait_s": round(sum((row.wait_s for row in rows), 0.0), 6),
    }


def _edits(rows: Sequence[CallRow]) -> dict[str, Any]:
    """A compaction makes no progress if it removed no tokens."""
    return {
        "compactions": sum(row.compactions for row in rows),
        "no_progress_compactions": sum(row.compactions > 0 and row.tokens_removed <= 0 for row in rows),
        "items_edited": sum(row.items_edited for row in rows),
        "items_dropped": sum(row.items_dropped for row in rows),
        "tokens_removed": sum(row.tokens_removed for row in rows),
        "summary_calls": sum(row.summary_calls for row in rows),
        "tokens_summary": sum(row.tokens_summary_in + row.tokens_summary_out for row in rows),
    }


def _if_summaries_differed(basis: Basis, measured: Measured) -> dict[str, float | None]:
    """The survival if summaries kept nothing, and if they knew what later calls use; unknown without summaries.

    Nobody knows what a model would have written.
    """
    if not any(row.summary_calls for row in measured.calls):
        return {"survival_low": None, "survival_high": None}
    low, high = (measure(basis, measured.spec, mode).calls for mode in ("empty", "clairvoyant"))
    return {"survival_low": mean_survival(low, "strict"), "survival_high": mean_survival(high, "strict")}


def _lost(losses: Losses, priced: bool) -> dict[str, Any]:
    forms = Frequencies(row.form for row in losses.lost)
    missed = [losses.edited[place] for place in sorted(losses.missed)]
    return {
        "lost_truncated": forms["truncated"],
        "lost_dropped": forms["dropped"],
        "lost_summarised": forms["summarised"],
        "results_edited": len(losses.edited),
        "results_missed": len(missed),
        "refetch_tokens": sum(one.tokens for one in missed),
        "refetch_usd": total(one.cost_usd for one in missed) if priced else None,
        "reissued_calls": sum(map(len, losses.again.values())),
        "reissued_after_edit": losses.again_after_edit,
    }


def _frontier(basis: Basis, survival: float) -> dict[str, Any]:
    found = basis.frontiers
    return {
        "tokens_frontier": amount(found["any"].tokens(survival), 1),
        "tokens_frontier_results": amount(found["results"].tokens(survival), 1),
        "cost_frontier_usd": amount(found["any"].cost_usd(survival), 10),
        "cost_frontier_results_usd": amount(found["results"].cost_usd(survival), 10),
    }


def _trigger(basis: Basis, measured: Measured) -> dict[str, int | None]:
    """How the estimator moves the policy's threshold; nothing without one."""
    decides = measured.threshold is not None
    moved = _displacement(basis, measured)
    return {
        "false_safe_calls": sum(row.trigger == "false-safe" for row in measured.calls) if decides else None,
        "false_alarm_calls": sum(row.trigger == "false-alarm" for row in measured.calls) if decides else None,
        "trigger_displacement_calls": moved[0] if moved else None,
        "trigger_displacement_tokens": moved[1] if moved else None,
    }


def _displacement(basis: Basis, measured: Measured) -> tuple[int, int] | None:
    """Return how many calls and tokens later than by the tokenizer the threshold is first passed by the estimator.

    On the uncompacted history; None where there is no threshold, or one side never passes it.
    """
    limit = measured.threshold
    if limit is None:
        return None
    rows = basis.believed(measured.spec.estimator).calls
    sent = [row.tokens_sent for row in rows]
    fired = first_over((row.tokens_estimated for row in rows), limit)
    return displacement(fired, first_over(sent, limit), sent)


def _estimates(rows: Sequence[CallRow]) -> dict[str, float | None]:
    """`tokens_estimated` against `tokens_sent`: bias is the signed mean of the relative error (negative: the policy
    believes the request is smaller than it is), MAPE and p95 are of its absolute value.
    """
    errors = [(row.tokens_estimated - row.tokens_sent) / row.tokens_sent for row in rows if row.tokens_sent]
    absolute = sorted(map(abs, errors))
    return {
        "estimate_bias": round(sum(errors) / len(errors), 6) if errors else None,
        "estimate_mape": round(sum(absolute) / len(absolute), 6) if absolute else None,
        "estimate_p95": round(nearest_rank(absolute, 95), 6) if absolute else None,
    }


def _recorded(basis: Basis) -> dict[str, Any]:
    """How large what was recorded is, and what keep-all sends and pays at the same calls."""
    rows, transcript = basis.keep_all.calls, basis.transcript
    compared = [row for row in rows if row.tokens_recorded]
    paid = [row for row in rows if row.cost_recorded_usd is not None]
    unlogged = sum(media.tokens for item in transcript.items for media in item.media if media.kind == UNLOGGED)
    return {
        "size": basis.provider.size,
        "tokens_hidden": transcript.head.hidden + unlogged,
        "tokens_factor": basis.provider.tokens_factor,
        "calls_recorded": len(compared),
        "tokens_recorded_sum": sum(row.tokens_recorded or 0 for row in compared),
        "tokens_full_recorded": sum(row.tokens_full for row in compared),
        "cost_recorded_usd": total(row.cost_recorded_usd for row in paid) if paid else None,
        "cost_full_recorded_usd": total(row.cost_usd for row in paid) if paid else None,
    }


def mean_survival(rows: Sequence[CallRow], kind: str) -> float | None:
    """Return the share of needs that the view still held, mean over the calls that have any; None if no call has."""
    shares = [
        getattr(row, f"refs_kept_{kind}") / needed for row in rows if (needed := getattr(row, f"refs_needed_{kind}"))
    ]
    return round(sum(shares) / len(shares), 6) if shares else None
