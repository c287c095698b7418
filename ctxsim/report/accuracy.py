"""Modelled against recorded figures, and estimates against counts: tables and pictures."""

from collections.abc import Sequence
from math import inf
from pathlib import Path

import numpy as np

from ctxsim.answers.validation.accuracy import Accuracy, Consequence, Observed, Point
from ctxsim.answers.validation.unseen import Unseen
from ctxsim.answers.validation.validation import Score
from ctxsim.report.figure import ERROR_MARKS, boxes, error_boxes, finished, heat_map, new_figure
from ctxsim.report.sheet import Column, Sheet, sheet_of
from ctxsim.report.style import COLORS, at_axis, plain_axes

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
    Column("agreement", "agree", "share of calls whose recorded cache read is what the vendor's rules say, within 5 % "
           "of the request", rank=1, form="{:.0%}"),
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


def plot_accuracy(labels: Sequence[str], seen: Observed, tokenizer: str, out: Path) -> list[Path]:
    """Write the pictures of observed estimates, and return their paths. Each point has an estimate for each label."""
    return [
        _spread(labels, seen.requests, tokenizer, out / "error-distribution.png"),
        _heat_map(labels, seen.texts, tokenizer, out / "error-by-kind.png"),
    ]


def _spread(labels: Sequence[str], requests: Sequence[Point], tokenizer: str, path: Path) -> Path:
    figure, axes = new_figure(9, 0.34 * len(labels) + 2.4)
    some = [point for point in requests if point.tokens]
    errors = [[100 * (one.estimates[n] / one.tokens - 1) for one in some] for n in range(len(labels))]
    error_boxes(axes, errors[::-1], labels[::-1], f"error of whole requests against {tokenizer}, %")
    off = [float(np.mean(np.abs(one))) if one else inf for one in errors]
    finding = f"{labels[off.index(min(off))]} is nearest: off by {min(off):.1f} % on average"
    return finished(figure, path, finding, ERROR_MARKS)


def _heat_map(labels: Sequence[str], texts: Sequence[Point], tokenizer: str, path: Path) -> Path:
    kinds = sorted({text.kind for text in texts})
    table = np.full((len(labels), max(1, len(kinds))), np.nan)
    for column, kind in enumerate(kinds):
        chosen = [text for text in texts if text.kind == kind]
        total = sum(text.tokens for text in chosen)
        for row in range(len(labels)):
            table[row, column] = 100 * (sum(text.estimates[row] for text in chosen) / total - 1)
    figure, axes = new_figure(1.0 * max(4, len(kinds)) + 3, 0.36 * len(labels) + 2.3)
    heat_map(axes, table.tolist(), "RdBu", (-60, 60), form="+z.0f")
    axes.set_xticks(range(len(kinds)), kinds, rotation=30, ha="right")
    axes.set_yticks(range(len(labels)), labels)
    about = f"error in % of all tokens of a kind, against {tokenizer}; red: too low; blue: too high"
    return finished(figure, path, "An estimator's error depends on what it counts", about)


FEWEST = 20
"""Tokens of a text, at least, for its own ratio of characters to tokens."""


def plot_calibration(points: Sequence[tuple[int, int, str]], ratio: float, path: Path) -> Path:
    """Draw (chars, tokens, group) points: a scatter with the fitted and the chars/4 lines, and ratios per group."""
    figure, (left, right) = new_figure(12.5, 5.5, columns=2)
    chars, tokens = np.array([(c, t) for c, t, _ in points if c > 0 and t > 0], dtype=float).T
    left.plot(chars, tokens, "o", color=COLORS[0], markersize=3, alpha=0.3, markeredgewidth=0)
    ends = np.array([chars.min(), chars.max()])
    fitted = f"characters / {ratio:.2f}, fitted"
    for divisor, color, name in ((ratio, COLORS[1], fitted), (4.0, "#555555", "characters / 4")):
        left.plot(ends, ends / divisor, color=color, linewidth=1.5, label=name)
    left.legend(frameon=False, loc="upper left")
    plain_axes(left, xscale="log", yscale="log", xlabel="characters", ylabel="tokens")
    for axis in (left.xaxis, left.yaxis):
        axis.set_major_formatter(at_axis)
    groups: dict[str, list[float]] = {}
    for c, t, group in points:
        if t >= FEWEST:
            groups.setdefault(group, []).append(c / t)
    largest = sorted(groups.items(), key=lambda pair: -len(pair[1]))[:12][::-1]
    boxes(right, [its for _, its in largest], [f"{name} ({len(its)})" for name, its in largest])
    right.axvline(4, color="#555555", linewidth=1, linestyle=":")
    plain_axes(right, xlabel="characters per token (box: middle half, whiskers: 5 to 95 %)")
    right_of = f"right: the ratio depends on the content; largest groups, texts of {FEWEST} tokens and more"
    about = f"left: a line estimates the points above it too low; {right_of}; dotted: 4"
    return finished(figure, path, f"{ratio:.2f} characters a token fit these {len(chars):,} points", about)
