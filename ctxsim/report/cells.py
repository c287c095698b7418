"""What a table can show of a policy: every column with its meaning, in order of worth."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec

from ctxsim.answers.advice.figures import Figures, Share
from ctxsim.answers.advice.intervals import rank_ranges
from ctxsim.answers.advice.pooled import Pooled
from ctxsim.answers.advice.verdict import kept_percent, percent, usd
from ctxsim.errors import unknown
from ctxsim.report.losses import share
from ctxsim.report.sheet import Cell, Column, Sheet, cell
from ctxsim.report.style import compact
from ctxsim.results import Run
from ctxsim.results.run_info import shown_columns

FAILURES = {
    "overflow": "window", "rate_limited": "rate limit", "invalid_pairs": "invalid pairs",
    "invalid_thinking": "invalid thinking", "stopped": "gave up",
}  # fmt: skip


class Row(NamedTuple):
    """What a cell is made of: a policy's pooled figures, its summary rows, and what the run says of all of them."""

    figures: Figures
    part: Any
    run: Run
    ranks: dict[str, tuple[int, int]]


class Shown(msgspec.Struct, frozen=True):
    """A column, the kind of number and unit that it has, and how its cell is made."""

    column: Column
    kind: str
    of: Callable[[Row], Cell]


def shared(one: Share | None, percent: Callable[[float], str] = percent) -> Cell:
    """Return a share with its interval: `94% (91-96)`."""
    if one is None:
        return Cell({"": None, "low": None, "high": None}, "-")
    text = f"{percent(one.value)}%"
    if one.low is not None and one.high is not None and round(100 * one.low) != round(100 * one.high):
        text += f" ({round(100 * one.low)}-{round(100 * one.high)})"
    return Cell({"": _round(one.value), "low": _round(one.low), "high": _round(one.high)}, text)


def _round(value: float | None) -> float | None:
    return None if value is None else round(float(value), 8)


def _policy(row: Row) -> Cell:
    label = row.figures.policy
    return Cell({"": label, "bound": row.figures.bound}, row.run.shown(label))


def _usd(row: Row) -> Cell:
    value = row.figures.usd
    return Cell(_round(value), "-" if value is None else usd(value))


def _refetch(row: Row) -> Cell:
    again, paid = row.figures.usd_again, row.figures.usd
    share = again / paid if again is not None and paid else None
    return Cell(_round(share), "-" if share is None else f"{share:+.0%}")


def _kept(row: Row) -> Cell:
    """Where summaries made a difference, between keeping nothing and the best."""
    figures = row.figures
    found = shared(figures.kept, kept_percent)
    values = found.value | {"if_nothing": _round(figures.kept_low), "if_all": _round(figures.kept_high)}
    low, high = figures.kept_low, figures.kept_high
    if figures.kept is None:
        return Cell(values, "none")
    if low is not None and high is not None and round(100 * low) < round(100 * high):
        return Cell(values, f"{100 * low:.0f}..{100 * high:.0f}%")
    return Cell(values, found.text)


def _refused(row: Row) -> Cell:
    part = row.part
    failed = part[part.first_failure.notna()]
    calls = row.figures.refused
    if not len(failed):
        return Cell({"calls": calls, "transcripts": 0, "why": ""}, "-")
    reasons = ", ".join(FAILURES[reason] for reason in failed.first_failure.value_counts().index)
    value = {"calls": calls, "transcripts": len(failed), "why": reasons}
    if len(part) == 1:
        return Cell(value, f"call {int(part.iloc[0].calls_until_first_failure) + 1}: {reasons}")
    return Cell(value, f"{len(failed)}: {reasons}")


def _mean(row: Row, column: str, form: str = "{:.1f}") -> Cell:
    """A mean over the transcripts that know it."""
    value = row.part[column].mean()
    return Cell(None, "-") if value != value else Cell(_round(value), form.format(value))


def _total(row: Row, column: str) -> Cell:
    known = row.part[column].dropna()
    value = int(known.sum()) if len(known) else None
    return Cell(value, compact(value) if value else "-")


def _bill(row: Row, column: str) -> Cell:
    """Dollars of one class, of the transcripts with known prices."""
    known = row.part[column].dropna()
    value = float(known.sum()) if len(known) else None
    return Cell(_round(value), usd(value) if value else "-")


def _frontier(row: Row, column: str) -> Cell:
    """The least that anybody could have at the same survival, pooled, as a share of keep-all's tokens."""
    part = row.part[row.part[column].notna()]
    whole = part.tokens_full_sum.sum()
    return cell(_round(part[column].sum() / whole) if whole else None, "{:.0%}")


def _ratios(row: Row, top: str, bottom: str | None = None) -> Cell:
    """The mean of the transcripts' own ratios to keep-all: each transcript counts alike, however long."""
    values = row.part[top] if bottom is None else row.part[top] / row.part[bottom].where(row.part[bottom] > 0)
    return Cell(_round(values.mean()) if values.notna().any() else None, share(values))


def _rank(row: Row) -> Cell:
    low, high = row.ranks.get(row.figures.policy, (0, 0))
    text = "-" if not low else str(low) if low == high else f"{low}-{high}"
    return Cell({"low": low or None, "high": high or None}, text)


def _hits(row: Row) -> Cell:
    read, sent = row.part.cache_hit_ratio * row.part.tokens_sum, row.part.tokens_sum[row.part.cache_hit_ratio.notna()]
    return cell(_round(read.sum() / sent.sum()) if sent.sum() else None, "{:.0%}")


def _quota(row: Row) -> Cell:
    value = int(row.part.smallest_quota.max())
    return Cell(value, compact(value))


def _missed(row: Row) -> Cell:
    missed, edited = int(row.part.results_missed.sum()), int(row.part.results_edited.sum())
    return Cell({"missed": missed, "edited": edited}, f"{missed}/{edited}" if edited else "-")


def _one(
    name: str, heading: str, kind: str, about: str, of: Callable[[Row], Cell], rank: int = 0, left: bool = False
) -> Shown:
    return Shown(Column(name, heading, about, left, rank), kind, of)


EVERY: tuple[Shown, ...] = (
    _one("policy", "policy", "fact", "the policy's label; bounds are marked", _policy, left=True),
    _one("usd", "USD", "modelled", "cost of all transcripts with known prices", _usd, 2),
    _one("usd_share", "of keep-all", "modelled", "usd as a share of keep-all's",
         lambda row: shared(row.figures.usd_share), 1),
    _one("kept", "kept", "counted", "share of what later calls used from old results that requests still held", _kept),
    _one("tokens_share", "tokens", "counted", "input as a share of keep-all's",
         lambda row: Cell(_round(row.figures.tokens_share.value), f"{row.figures.tokens_share.value:.0%}"), 4),
    _one("refused", "refused", "modelled", "transcripts with a refused call; for a single transcript, its "
         "first refused call", _refused, left=True),
    _one("peak", "peak", "counted", "input of the largest request, in tokens",
         lambda row: Cell(row.figures.peak, compact(row.figures.peak)), 3),
    _one("tokens", "sum", "counted", "input of all transcripts, in tokens",
         lambda row: Cell(row.figures.tokens, compact(row.figures.tokens)), 5),
    _one("compactions", "comp.", "fact", "compactions per transcript", lambda row: _mean(row, "compactions")),
    _one("rank", "rank", "counted", "best and worst possible rank by kept; policies whose ranks overlap may be equal",
         _rank),
    _one("kept_loose", "loose", "counted", "kept, for quotations", lambda row: _ratios(row, "survival_loose")),
    _one("kept_fresh", "fresh", "counted", "kept, for the newest results",
         lambda row: _ratios(row, "survival_fresh")),
    _one("missed", "missed", "counted", "share of the edited results that held a lost identifier", _missed),
    _one("least_tokens", "least", "counted", "the least input that keeps as much, by removing whole results; share "
         "of keep-all's", lambda row: _frontier(row, "tokens_frontier_results")),
    _one("least_tokens_any", "by any", "counted", "the least input that keeps as much, by any means; share of "
         "keep-all's", lambda row: _frontier(row, "tokens_frontier")),
    _one("hit", "hit", "modelled", "share of the input that was read from the cache", _hits),
    _one("usd_read", "read", "modelled", "dollars for reading the cache", lambda row: _bill(row, "cost_read_usd")),
    _one("usd_write", "write", "modelled", "dollars for writing the cache", lambda row: _bill(row, "cost_write_usd")),
    _one("usd_uncached", "uncached", "modelled", "dollars for input without the cache",
         lambda row: _bill(row, "cost_uncached_usd")),
    _one("usd_output", "output", "modelled", "dollars for output", lambda row: _bill(row, "cost_output_usd")),
    _one("usd_summary", "summ. USD", "modelled", "dollars for summary calls",
         lambda row: _bill(row, "cost_summary_usd")),
    _one("tokens_summary", "summ.", "modelled", "input and output of summary calls, in tokens",
         lambda row: _total(row, "tokens_summary")),
    _one("rewritten", "rewritten", "modelled", "tokens that were in the cache and were written again",
         lambda row: _total(row, "tokens_rewritten")),
    _one("payback", "payback", "modelled", "calls until a compaction pays off: a transcript's median, "
         "mean over transcripts", lambda row: _mean(row, "payback_calls")),
    _one("refetch", "refetch", "modelled", "extra dollars if everything lost is fetched again, as a share of usd",
         _refetch),
    _one("quota", "quota", "modelled", "lowest rate limit, in tokens per minute, at which no call waits", _quota),
    _one("estimate", "estimate", "estimated", "mean error of the policy's estimates of request sizes",
         lambda row: _mean(row, "estimate_bias", "{:+.1%}")),
    _one("usd_ratio", "USD, mean", "modelled", "a transcript's usd over keep-all's, mean over transcripts",
         lambda row: _ratios(row, "cost_vs_keep_all")),
    _one("tokens_ratio", "tokens, mean", "counted", "a transcript's tokens over keep-all's, mean over transcripts",
         lambda row: _ratios(row, "tokens_sum", "tokens_full_sum")),
)  # fmt: skip
"""Every column but those of calls that are marked to be shown in total."""

BY_DOLLARS = ("policy", "usd", "usd_share", "kept", "tokens_share", "refused")
BY_TOKENS = ("policy", "tokens", "tokens_share", "kept", "peak", "refused")
"""What a table shows unless told otherwise: with prices, and without."""


def every_column() -> tuple[Shown, ...]:
    """Return all columns that a policy's row can have: EVERY, and totals of the columns of calls that say so."""
    totals = tuple(
        _one(name, heading, "total", "sum of the column of this name over all calls", partial(_total_of, name=name))
        for name, heading in shown_columns().items()
    )
    return EVERY + totals


def glossary() -> str:
    """Return all columns as a Markdown list."""
    lines = [f"- `{one.column.name}` ({one.column.heading}; {one.kind}): {one.column.about}" for one in every_column()]
    return "\n".join(lines) + "\n"


def _total_of(row: Row, name: str) -> Cell:
    value = row.run.totals[name].get(row.figures.policy)
    return Cell(None, "-") if value is None or value != value else Cell(int(value), compact(value))


def chosen_columns(names: str) -> tuple[str, ...]:
    """Return the names in `a,b`. Raises UnknownName for one that is no column."""
    known = [one.column.name for one in every_column()]
    found = tuple(name.strip() for name in names.split(",") if name.strip())
    if not found:
        raise unknown("column", names, known)
    for name in found:
        if name not in known:
            raise unknown("column", name, known)
    return found


def policy_sheet(
    run: Run, pooled: Pooled, labels: Sequence[str], names: Sequence[str] | None = None, chosen: str | None = None
) -> Sheet:
    """Return one row per policy: the columns asked for, by default those that matter most; all for `*`."""
    every = every_column()
    if names is None:
        names = BY_DOLLARS if pooled.by_dollars else BY_TOKENS
    wanted = [one for one in every if "*" in names or one.column.name in ("policy", *names)]
    if "*" not in names:
        order = ["policy", *(name for name in names if name != "policy")]
        wanted.sort(key=lambda one: order.index(one.column.name))
    ranks = {}
    if any(one.column.name == "rank" for one in wanted) and run.knows("survival"):
        columns = ["transcript", "root", "survival"]
        ranks = rank_ranges({label: run.of(label)[columns] for label in run.labels if label not in run.info.bounds})
    rows, marks = [], []
    for label in labels:
        figures = pooled.all[label]
        row = Row(figures, run.of(label), run, ranks)
        rows.append(tuple(one.of(row) for one in wanted))
        marks.append("chosen" if label == chosen else "dim" if figures.bound else "bad" if figures.refused else "")
    title = run.info.title
    return Sheet("policies", title, tuple(one.column for one in wanted), tuple(rows), tuple(marks))
