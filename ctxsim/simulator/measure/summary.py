"""One transcript under one policy in one row: what its calls add up to."""

from collections import Counter as Frequencies
from collections.abc import Iterable
from math import floor
from typing import Any, NamedTuple

from ctxsim.results.columns import FrontierRow, SummaryRow
from ctxsim.simulator.bounds.programme import LEVELS
from ctxsim.simulator.measure.columns import (
    Columns,
    cost_interval,
    displacement,
    first_over,
    nearest_rank,
    payback_calls,
    total,
)
from ctxsim.simulator.measure.losses import Losses
from ctxsim.simulator.measure.measured import Basis, Measured, counts_if
from ctxsim.simulator.provider.rules import smallest_quota


class WhatIf(NamedTuple):
    """What is computed beside a replay. `brackets`: what worse and better summaries keep, and the least tokens and
    dollars at the same survival. `refetched`: all lost results fetched again. `draws`: replays that fetch at a `rate`.
    """

    brackets: bool = True
    refetched: bool = True
    rate: float = 0.0
    draws: int = 0


WHAT_IF = WhatIf()


def summary_row(basis: Basis, measured: Measured, what_if: WhatIf = WHAT_IF) -> SummaryRow:
    """Return the summary row of a transcript that isn't part of a run."""
    name = basis.transcript.name
    return SummaryRow(transcript=name, root=name, provider=0, chance_rate=None, **summarize(basis, measured, what_if))


def summarize(basis: Basis, measured: Measured, what_if: WhatIf = WHAT_IF) -> dict[str, Any]:
    """Return every column of the summary that one replay gives, by name; `what_if` says which further ones are made.

    Replays again: twice where the policy asked for summaries (what if they kept nothing, or all), once where it lost
    what can be fetched again (what if all of it is), and once per estimator for the displacement of its threshold.
    The replay must have at least one call.
    """
    of = measured.calls
    survival = mean_survival(of, "strict")
    return {
        "policy": measured.spec.label,
        "calls": len(of["call"]),
        **_tokens(of),
        **_dollars(of, basis),
        **_limits(of, measured),
        "no_progress_compactions": sum(
            made > 0 >= removed for made, removed in zip(of["compactions"], of["tokens_removed"], strict=True)
        ),
        "calls_with_aged_needs": sum(map(bool, of["refs_needed_strict"])),
        "survival": survival,
        **{f"survival_{kind}": mean_survival(of, kind) for kind in ("values", "loose", "fresh", "carried", "user")},
        **(_brackets(of, basis, measured, survival) if what_if.brackets else UNBRACKETED),
        **_lost(measured.losses, basis),
        **(_if_fetched_again(of, basis, measured) if what_if.refetched else NOT_FETCHED),
        **_trigger(of, basis, measured),
        **_estimates(of),
        **basis.against_recorded,
    }


SUMS = (
    "tokens_missed", "tokens_rewritten", "tokens_thinking_dropped", "tokens_removed",
    "compactions", "items_edited", "items_dropped", "summary_calls", "http_429",
)  # fmt: skip
DOLLARS = ("cost_usd", "cost_read_usd", "cost_write_usd", "cost_uncached_usd", "cost_output_usd", "cost_summary_usd")
STATUSES = ("rate_limited", "invalid_pairs", "invalid_thinking", "stopped")
"""Columns of calls that are added up, and statuses that are counted, under their own names."""


def _tokens(of: Columns) -> dict[str, Any]:
    sent = of["tokens_sent"]
    return {
        "tokens_peak": max(sent),
        "tokens_sum": sum(sent),
        "tokens_full_sum": sum(of["tokens_full"]),
        "tokens_output_sum": sum(of["tokens_output"]),
        "tokens_summary": sum(of["tokens_summary_in"]) + sum(of["tokens_summary_out"]),
        "tokens_growth_per_call": round((sent[-1] - sent[0]) / (len(sent) - 1), 3) if len(sent) > 1 else None,
        **{name: sum(of[name]) for name in SUMS},
    }


def _dollars(of: Columns, basis: Basis) -> dict[str, Any]:
    paid = {name: total(of[name]) for name in DOLLARS}
    cost, base = paid["cost_usd"], total(basis.keep_all.calls["cost_usd"])
    sent, read = sum(of["tokens_sent"]), sum(of["tokens_cache_read"])
    low, high = cost_interval(of, basis.transcript, basis.provider) or (None, None)
    return {
        **paid,
        "cost_vs_keep_all": round(cost / base, 6) if cost is not None and base else None,
        "cache_hit_ratio": round(read / sent, 6) if sent and basis.provider.cache != "none" else None,
        "cache_breaks": sum(map(bool, of["tokens_rewritten"])),
        "payback_calls": payback_calls(of, basis.transcript, basis.provider),
        "cost_low_usd": low,
        "cost_high_usd": high,
    }


def _limits(of: Columns, measured: Measured) -> dict[str, Any]:
    statuses = of["status"]
    failed = next((number for number, status in enumerate(statuses) if status != "ok"), None)
    return {
        "smallest_quota": smallest_quota(measured.demands),
        "calls_until_first_failure": failed,
        "first_failure": None if failed is None else statuses[failed],
        "overflows": statuses.count("overflow"),
        **{status: statuses.count(status) for status in STATUSES},
        "wait_s": round(sum(of["wait_s"], 0.0), 6),
    }


UNBRACKETED: dict[str, float | None] = dict.fromkeys(
    (
        "survival_low", "survival_high",
        "tokens_frontier", "tokens_frontier_results", "cost_frontier_usd", "cost_frontier_results_usd",
    )
)  # fmt: skip


def _brackets(of: Columns, basis: Basis, measured: Measured, survival: float | None) -> dict[str, float | None]:
    """The least and most survival if summaries kept nothing, if they kept what later calls use, and as replayed,
    because the text of a real model is unknown; None without summaries. And the least input and cost at the survival of
    the replay.
    """
    # Without any aged need nothing has to be kept.
    kept, least = survival or 0.0, basis.frontiers
    low = high = None
    if any(of["summary_calls"]) and survival is not None:
        modes = [counts_if(basis, measured.spec, mode) for mode in ("empty", "clairvoyant")]
        shares = (_mean_share((one.refs_kept_strict, one.refs_needed_strict) for one in counts) for counts in modes)
        # Summaries of another length make later ones come at other calls.
        ends = [kept, *(share or 0.0 for share in shares)]
        low, high = min(ends), max(ends)
    return {
        "survival_low": low,
        "survival_high": high,
        "tokens_frontier": _amount(least["any"].tokens(kept), 1),
        "tokens_frontier_results": _amount(least["results"].tokens(kept), 1),
        "cost_frontier_usd": _amount(least["any"].cost_usd(kept), 10),
        "cost_frontier_results_usd": _amount(least["results"].cost_usd(kept), 10),
    }


NOT_FETCHED: dict[str, float | None] = dict.fromkeys(
    ("calls_refetched", "calls_refetched_changed", "tokens_refetch", "cost_refetch_usd")
)


def _if_fetched_again(of: Columns, basis: Basis, measured: Measured) -> dict[str, float | None]:
    """The calls inserted, and the tokens and dollars added, if all lost results that can be are fetched again; unknown
    for bounds, which edit by recorded places.
    """
    if not any(basis.fetching.source(need.sources) is not None for need in measured.losses.lost_strict):
        return dict.fromkeys(NOT_FETCHED, 0)
    if any(cls.bound for cls, _, _ in measured.spec.links):
        return NOT_FETCHED
    from ctxsim.simulator.measure.refetch import refetched

    again, cost = refetched(basis, measured.spec), total(of["cost_usd"])
    known = again.cost_usd is not None and cost is not None
    return {
        "calls_refetched": again.calls,
        "calls_refetched_changed": again.changed,
        "tokens_refetch": again.tokens_sent - sum(of["tokens_sent"]),
        "cost_refetch_usd": round((again.cost_usd or 0) - (cost or 0), 10) if known else None,
    }


def _lost(losses: Losses, basis: Basis) -> dict[str, Any]:
    forms = Frequencies(row.form for row in losses.lost)
    for_good = [need for need in losses.lost_strict if basis.fetching.source(need.sources) is None]
    return {
        "lost_truncated": forms["truncated"],
        "lost_dropped": forms["dropped"],
        "lost_summarised": forms["summarised"],
        "results_edited": len(losses.edited),
        "results_missed": len(losses.missed),
        "refs_lost_for_good": len(for_good),
        "reissued_calls": sum(map(len, losses.again.values())),
        "reissued_after_edit": losses.again_after_edit,
    }


def frontier_rows(basis: Basis) -> list[FrontierRow]:
    """Return both frontiers of a transcript, level by level; only the first level if it has no aged strict needs."""
    scheduled_usd = None
    if basis.provider.prices is not None:
        from ctxsim.simulator.bounds.lossless import scheduled

        scheduled_usd = scheduled(basis.ledger, basis.frontiers["results"])
    levels = LEVELS if any(basis.keep_all.calls["refs_needed_strict"]) else LEVELS[:1]
    return [
        FrontierRow(
            transcript=basis.transcript.name,
            family=family,
            survival=level,
            tokens=_amount(frontier.tokens(level), 1),
            cost_usd=_amount(frontier.cost_usd(level), 10),
            scheduled_usd=_amount(scheduled_usd(level), 10) if scheduled_usd and family == "results" else None,
        )
        for family, frontier in basis.frontiers.items()
        for level in levels
    ]


def _amount(value: float | None, digits: int) -> Any:
    """Return a bound, rounded down so that it stays one."""
    # The 1e-4 undoes an error of floating point: 1.9999999 is 2.
    return None if value is None else floor(value * 10**digits + 1e-4) / 10**digits


def _trigger(of: Columns, basis: Basis, measured: Measured) -> dict[str, int | None]:
    """How the estimator moves the policy's threshold: calls on its wrong side, and how many calls and tokens later than
    by the tokenizer it is first passed, on the uncompacted history. None without a threshold.
    """
    limit, moved = measured.threshold, None
    if limit is not None:
        believed = basis.believed(measured.spec.estimator).calls
        sent = believed["tokens_sent"]
        moved = displacement(first_over(believed["tokens_estimated"], limit), first_over(sent, limit), sent)
    calls, tokens = moved or (None, None)
    return {
        "false_safe_calls": None if limit is None else of["trigger"].count("false-safe"),
        "false_alarm_calls": None if limit is None else of["trigger"].count("false-alarm"),
        "trigger_displacement_calls": calls,
        "trigger_displacement_tokens": tokens,
    }


def _estimates(of: Columns) -> dict[str, float | None]:
    """`tokens_estimated` against `tokens_sent`: bias is the signed mean of the relative error (negative: the policy
    believes the request is smaller than it is), MAPE and p95 are of its absolute value.
    """
    pairs = zip(of["tokens_estimated"], of["tokens_sent"], strict=True)
    errors = [(estimated - sent) / sent for estimated, sent in pairs if sent]
    absolute = sorted(map(abs, errors))
    return {
        "estimate_bias": round(sum(errors) / len(errors), 6) if errors else None,
        "estimate_mape": round(sum(absolute) / len(absolute), 6) if absolute else None,
        "estimate_p95": round(nearest_rank(absolute, 95), 6) if absolute else None,
    }


def mean_survival(of: Columns, kind: str) -> float | None:
    """Return the share of needs that the view still held, mean over the calls that have any; None if no call has."""
    return _mean_share(zip(of[f"refs_kept_{kind}"], of[f"refs_needed_{kind}"], strict=True))


def _mean_share(pairs: Iterable[tuple[int, int]]) -> float | None:
    """The mean of kept / needed over the pairs with any need; None without any."""
    shares = [kept / needed for kept, needed in pairs if needed]
    return round(sum(shares) / len(shares), 6) if shares else None
