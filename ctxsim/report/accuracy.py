"""Tables that compare modelled with recorded figures, and estimates with counts."""

from collections.abc import Sequence

from ctxsim.answers.validation.accuracy import Accuracy, Consequence
from ctxsim.answers.validation.unseen import Unseen
from ctxsim.answers.validation.validation import Score
from ctxsim.report.sheet import Column, Sheet, sheet_of

UNSEEN = (
    Column("way", "predicted", left=True), Column("n", "n"), Column("median", "median", form="{:.1%}"),
    Column("p95", "p95", form="{:.1%}"), Column("bias", "bias", form="{:+.1%}"),
)  # fmt: skip

OF_UNSEEN = (
    "Sizes predicted without fitting them to the usage they are compared with. later calls: the later half of each "
    "segment, from its earlier half; past a compaction: the segment after it, from the one before and other sessions; "
    "another project: a session, from other projects' sessions. median, p95: |predicted - recorded| / recorded."
)

SCORES = (
    Column("format", "format", left=True),
    Column("model", "model", left=True, of=lambda one: one.model or "?"),
    Column("calls", "calls"),
    Column("median", "median", "median of |modelled - recorded| / recorded, fitted to the same recording",
           form="{:.1%}", of="median_error"),
    Column("p95", "p95", "95 % of calls are off by less", form="{:.1%}", of="p95_error"),
    Column("within_5", "<5%", "share of calls that are off by less than 5 %", rank=4, form="{:.0%}"),
    Column("unseen", "unseen", "median error of later calls, which the fit hasn't seen", form="{:.1%}",
           of="held_out_median"),
    Column("unseen_p95", "unseen p95", "95 % of later calls are off by less", rank=5, form="{:.1%}",
           of="held_out_p95"),
    Column("cache_calls", "cache", "calls whose cache read is recorded", rank=6,
           of=lambda one: one.cache_calls or None),
    Column("agreement", "agree", "share of calls with a recorded cache read that is within 5 % of the request of what "
           "the vendor's rules say", rank=1, form="{:.0%}"),
    Column("trivial", "trivial", "agree, if each call is assumed to read the whole previous request", rank=7,
           form="{:.0%}", of="trivial_agreement"),
    Column("reads", "reads", "modelled / recorded cache reads", rank=3, form="{:.2f}", of="reads_ratio"),
    Column("usd", "USD", "modelled / recorded, without first calls", rank=2, form="{:.2f}", of="cost_ratio"),
)  # fmt: skip

SCOPES = {"text": "texts: all", "request": "requests", "usage": "recorded usage"}

ERRORS = (
    Column("estimator", "estimator", left=True), Column("against", "against", left=True, rank=4, of="tokenizer"),
    Column("of", "of", left=True, of=lambda row: SCOPES[row.scope]), Column("n", "n"),
    Column("bias", "bias", form="{:+.1%}"), Column("mape", "MAPE", form="{:.1%}"),
    Column("p50", "p50", rank=3, form="{:.1%}"), Column("p95", "p95", form="{:.1%}"),
    Column("p99", "p99", rank=1, form="{:.1%}"), Column("worst", "worst", rank=2, form="{:+.0%}", of="worst_under"),
)  # fmt: skip

OF_ERRORS = (
    "Errors: (estimate - tokens) / tokens; p50, p95, p99: absolute; worst: largest underestimate",
    "recorded usage: whole requests where the log holds system prompt and tools, else their growth; left out for "
    "estimators that use reported usage",
)

CONSEQUENCES = (
    Column("estimator", "estimator", left=True), Column("late", "late"), Column("early", "early"),
    Column("never", "never", of="only_truth"), Column("overflows", "overflows", of="extra_overflows"),
    Column("calls", "calls", rank=1, form="{:+.0f}", of="median_displacement_calls"),
    Column("tokens_late", "tokens\nlate", rank=3, form="{:,.0f}", of="median_tokens_late"),
    Column("tokens_early", "tokens\nearly", rank=4, form="{:,.0f}", of="median_tokens_early"),
    Column("false_safe", "false-\nsafe", form="{:.1%}", of=lambda row: row.false_safe_calls / row.calls),
    Column("false_alarm", "false\nalarm", rank=2, form="{:.1%}", of=lambda row: row.false_alarm_calls / row.calls),
)  # fmt: skip

OF_CONSEQUENCES = (
    "late: acts after the tokenizer would; early: acts before it and loses context too soon; never: the estimate "
    "never reaches the threshold; overflows: transcripts with a request over the window (9/7 of the threshold) "
    "before the policy acts; calls, tokens: medians; false-safe and false alarm: shares of all calls."
)


def unseen_sheet(found: Sequence[Unseen]) -> Sheet:
    """Return the errors of sizes that were predicted without the usage that they are compared with."""
    return sheet_of("unseen", "", UNSEEN, found, notes=(OF_UNSEEN,) if found else ())


def score_sheet(scores: Sequence[Score]) -> Sheet:
    """Return how well calls are modelled, a line for each format and model."""
    return sheet_of("scores", "", SCORES, scores)


def error_sheet(rows: Sequence[Accuracy]) -> Sheet:
    """Return the errors of estimates, with one row for all kinds of text."""
    shown = [row for row in rows if row.scope != "text" or row.kind == "all"]
    return sheet_of("errors", "", ERRORS, shown, notes=OF_ERRORS)


def consequence_sheet(rows: Sequence[Consequence], threshold: int | None) -> Sheet:
    """Return how wrong estimates affect a policy with a threshold."""
    limit = f"{threshold:,} tokens" if threshold else "70 % of each segment's largest request"
    title = f"When a policy that acts over {limit} first acts: by estimates, compared with {rows[0].tokenizer}"
    return sheet_of("consequences", title, CONSEQUENCES, rows, notes=(OF_CONSEQUENCES,))
