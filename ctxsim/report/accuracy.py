"""Modelled against recorded, and estimates against counts, as tables."""

from collections.abc import Sequence

from ctxsim.answers.validation.accuracy import Accuracy, Consequence
from ctxsim.answers.validation.unseen import Unseen
from ctxsim.answers.validation.validation import Score
from ctxsim.report.sheet import Column, Sheet, cell, sheet

SCORES = (
    Column("format", "format", left=True),
    Column("model", "model", left=True),
    Column("calls", "calls"),
    Column("median", "median", "median of |modelled - recorded| / recorded, fitted to the same recording"),
    Column("p95", "p95", "95 % of calls are off by less"),
    Column("within_5", "<5%", "share of calls that are off by less than 5 %", rank=4),
    Column("unseen", "unseen", "median error of later calls, which the fit hasn't seen"),
    Column("unseen_p95", "unseen p95", "95 % of later calls are off by less", rank=5),
    Column("cache_calls", "cache", "calls whose cache read is recorded", rank=6),
    Column(
        "agreement",
        "agree",
        "share of calls with a recorded cache read whose modelled one is within 5 % of the request",
        rank=1,
    ),
    Column("trivial", "trivial", "agree, if each call is assumed to read the whole previous request", rank=7),
    Column("reads", "reads", "modelled / recorded cache reads", rank=3),
    Column("usd", "USD", "modelled / recorded, without first calls", rank=2),
)


OF_UNSEEN = (
    "Sizes predicted without fitting them to the usage they are compared with. later calls: the later half of each "
    "segment, from its earlier half; past a compaction: the segment after it, from the one before and other sessions; "
    "another project: a session, from other projects' sessions. median, p95: |predicted - recorded| / recorded."
)


def unseen_sheet(found: Sequence[Unseen]) -> Sheet:
    """Return how far sizes are off that were predicted without the usage they are held against."""
    columns = (Column("way", "predicted", left=True), *(Column(name, name) for name in ("n", "median", "p95", "bias")))
    rows = [
        (one.way, one.n, cell(one.median, "{:.1%}"), cell(one.p95, "{:.1%}"), cell(one.bias, "{:+.1%}"))
        for one in found
    ]
    return sheet("unseen", "", columns, rows, notes=(OF_UNSEEN,) if rows else ())


def score_sheet(scores: Sequence[Score]) -> Sheet:
    """Return how well calls are modelled, a line for each format and model."""
    rows = [
        (
            one.format, one.model or "?", one.calls, cell(one.median_error, "{:.1%}"), cell(one.p95_error, "{:.1%}"),
            cell(one.within_5, "{:.0%}"), cell(one.held_out_median, "{:.1%}"), cell(one.held_out_p95, "{:.1%}"),
            one.cache_calls or None, cell(one.agreement, "{:.0%}"), cell(one.trivial_agreement, "{:.0%}"),
            cell(one.reads_ratio, "{:.2f}"), cell(one.cost_ratio, "{:.2f}"),
        )
        for one in scores
    ]  # fmt: skip
    return sheet("scores", "", SCORES, rows)


def error_sheet(rows: Sequence[Accuracy]) -> Sheet:
    """Return the errors of estimates; of texts all together."""
    found = []
    for row in rows:
        if row.scope == "text" and row.kind != "all":
            continue
        what = {"text": "texts: all", "request": "requests", "usage": "recorded usage"}[row.scope]
        errors = [cell(value, "{:.1%}") for value in (row.mape, row.p50, row.p95, row.p99)]
        bias, worst = cell(row.bias, "{:+.1%}"), cell(row.worst_under, "{:+.0%}")
        found.append((row.estimator, row.tokenizer, what, row.n, bias, *errors, worst))
    columns = [
        Column("estimator", "estimator", left=True), Column("against", "against", left=True, rank=4),
        Column("of", "of", left=True), Column("n", "n"), Column("bias", "bias"), Column("mape", "MAPE"),
        Column("p50", "p50", rank=3), Column("p95", "p95"), Column("p99", "p99", rank=1),
        Column("worst", "worst", rank=2),
    ]  # fmt: skip
    note = "Errors: (estimate - tokens) / tokens; p50, p95, p99: absolute; worst: largest underestimate"
    usage = (
        "recorded usage: whole requests where the log holds system prompt and tools, else their growth; left out for "
        "estimators that use reported usage"
    )
    return sheet("errors", "", columns, found, notes=(note, usage))


def consequence_sheet(rows: Sequence[Consequence], threshold: int | None) -> Sheet:
    """Return what wrong estimates do to a policy with a threshold."""
    limit = f"{threshold:,} tokens" if threshold else "70 % of each segment's largest request"
    found = [
        (
            row.estimator, row.late, row.early, row.only_truth, row.extra_overflows,
            cell(row.median_displacement_calls, "{:+.0f}"), cell(row.median_tokens_late, "{:,.0f}"),
            cell(row.median_tokens_early, "{:,.0f}"), cell(row.false_safe_calls / row.calls, "{:.1%}"),
            cell(row.false_alarm_calls / row.calls, "{:.1%}"),
        )
        for row in rows
    ]  # fmt: skip
    columns = [
        Column("estimator", "estimator", left=True), Column("late", "late"), Column("early", "early"),
        Column("never", "never"), Column("overflows", "overflows"), Column("calls", "calls", rank=1),
        Column("tokens_late", "tokens\nlate", rank=3), Column("tokens_early", "tokens\nearly", rank=4),
        Column("false_safe", "false-\nsafe"), Column("false_alarm", "false\nalarm", rank=2),
    ]  # fmt: skip
    note = (
        "late: acts after the tokenizer would; early: acts before it and loses context too soon; never: the estimate "
        "never reaches the threshold; overflows: transcripts with a request over the window (9/7 of the threshold) "
        "before the policy acts; calls, tokens: medians; false-safe and false alarm: shares of all calls."
    )
    title = f"When a policy that acts over {limit} first acts: by estimates, compared with {rows[0].tokenizer}"
    return sheet("consequences", title, columns, found, notes=(note,))
