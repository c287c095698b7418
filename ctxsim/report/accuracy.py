"""Modelled against recorded, and estimates against counts, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ctxsim.answers.validation.accuracy import Accuracy, Consequence
from ctxsim.answers.validation.validation import Score
from ctxsim.report.sheet import Cell, Column, Sheet, sheet

SCORES = (
    Column("format", "format", left=True), Column("model", "model", left=True), Column("calls", "calls"),
    Column("median", "median"), Column("p95", "p95"), Column("within_5", "<5%", rank=4), Column("unseen", "unseen"),
    Column("unseen_p95", "p95", rank=5), Column("cache_calls", "cache", rank=6), Column("agreement", "agree", rank=1),
    Column("trivial", "trivial", rank=7), Column("reads", "reads", rank=3), Column("usd", "USD", rank=2),
)  # fmt: skip

OF_SCORES = (
    "median, p95: |modelled - recorded| / recorded, fitted; unseen: predicted without that recording's usage. agree: "
    "share of cache reads within 5 % of the request, by the vendor's rules; trivial: by the guess that all of the last "
    "request is read; reads: predicted / recorded. USD: modelled / recorded."
)


def score_sheet(scores: Sequence[Score]) -> Sheet:
    """Return how well calls are modelled, a line for each format and model."""
    return sheet("scores", "", SCORES, list(map(_scored, scores)), notes=(OF_SCORES,))


def _scored(found: Score) -> tuple[Any, ...]:
    def percent(value: float | None, digits: int = 1) -> Cell:
        return Cell(value, "-" if value is None else f"{value:.{digits}%}")

    def ratio(value: float | None) -> Cell:
        return Cell(value, "-" if value is None else f"{value:.2f}")

    return (
        found.format, found.model or "?", found.calls,
        percent(found.median_error), percent(found.p95_error), percent(found.within_5, 0),
        percent(found.held_out_median), percent(found.held_out_p95),
        found.cache_calls or None, percent(found.agreement, 0), percent(found.trivial_agreement, 0),
        ratio(found.reads_ratio), ratio(found.cost_ratio),
    )  # fmt: skip


def error_sheet(rows: Sequence[Accuracy], by_kind: bool) -> Sheet:
    """Return the errors of estimates; of texts all together, unless by kind."""
    found = []
    for row in rows:
        if row.scope == "text" and row.kind != "all" and not by_kind:
            continue
        what = {"text": f"texts: {row.kind}", "request": "requests", "usage": "recorded usage"}[row.scope]
        errors = [Cell(value, f"{value:.1%}") for value in (row.mape, row.p50, row.p95, row.p99)]
        bias, worst = Cell(row.bias, f"{row.bias:+.1%}"), Cell(row.worst_under, f"{row.worst_under:+.0%}")
        found.append((row.estimator, row.tokenizer, what, row.n, bias, *errors, worst))
    columns = [
        Column("estimator", "estimator", left=True), Column("against", "against", left=True, rank=4),
        Column("of", "of", left=True), Column("n", "n"), Column("bias", "bias"), Column("mape", "MAPE"),
        Column("p50", "p50", rank=3), Column("p95", "p95"), Column("p99", "p99", rank=1),
        Column("worst", "worst", rank=2),
    ]  # fmt: skip
    note = "Errors: (estimate - tokens) / tokens; p50, p95, p99: absolute; worst: deepest under-estimate"
    usage = (
        "recorded usage: of whole requests where the log holds the head, else of what they grew by; not told of "
        "estimators that go by reported usage"
    )
    return sheet("errors", "", columns, found, notes=(note, usage))


def consequence_sheet(rows: Sequence[Consequence], threshold: int | None) -> Sheet:
    """Return what wrong estimates do to a policy with a threshold."""
    limit = f"{threshold:,} tokens" if threshold else "70 % of each segment's largest request"
    found = []
    for row in rows:
        late, early = (
            Cell(value, "-" if value is None else f"{value:,.0f}")
            for value in (row.median_tokens_late, row.median_tokens_early)
        )
        moved = row.median_displacement_calls
        shares = [row.false_safe_calls / row.calls, row.false_alarm_calls / row.calls]
        found.append(
            (
                row.estimator, row.late, row.early, row.only_truth, row.extra_overflows,
                Cell(moved, "-" if moved is None else f"{moved:+.0f}"), late, early,
                *(Cell(share, f"{share:.1%}") for share in shares),
            )
        )  # fmt: skip
    columns = [
        Column("estimator", "estimator", left=True), Column("late", "late"), Column("early", "early"),
        Column("never", "never"), Column("overflows", "overflows"), Column("calls", "calls", rank=1),
        Column("tokens_late", "tokens\nlate", rank=3), Column("tokens_early", "tokens\nearly", rank=4),
        Column("false_safe", "false-\nsafe"), Column("false_alarm", "false\nalarm", rank=2),
    ]  # fmt: skip
    note = (
        "late: fires after the tokenizer would; early: before it (context lost too soon); never: the estimate does "
        "not reach the threshold at all; overflows: transcripts with a request over the window, 9/7 of the threshold, "
        "before it fires; calls, tokens: medians; shares are of all calls."
    )
    title = f"A policy that acts over {limit}: first trigger by estimate against by {rows[0].tokenizer}"
    return sheet("consequences", title, columns, found, notes=(note,))
