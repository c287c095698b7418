"""The columns that a table of policies can have, each with its meaning, the most useful first."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ctxsim.answers.advice.figures import Figures, Share
from ctxsim.answers.advice.intervals import rank_ranges
from ctxsim.answers.advice.pooled import Pooled
from ctxsim.answers.advice.verdict import kept_percent, percent, usd
from ctxsim.errors import unknown
from ctxsim.report.sheet import Cell, Column, Sheet, sheet_of
from ctxsim.report.style import compact
from ctxsim.results import Run

FAILURES = {
    "overflow": "window", "rate_limited": "rate limit", "invalid_pairs": "invalid pairs",
    "invalid_thinking": "invalid thinking", "stopped": "gave up",
}  # fmt: skip


WORTH = Column(
    "worth", "worth it", "yes: no other setting, nor keep-all, is at least as good in cost, kept and refusals, and "
    "better in one of them", kind="modelled",
)  # fmt: skip
"""A column that only the table of a sweep has."""


class Row(NamedTuple):
    """The data of a row's cells: the policy's pooled figures, its summary rows, its run, and the policies' ranks."""

    figures: Figures
    part: Any
    run: Run
    ranks: dict[str, tuple[int, int]]


def shared(one: Share | None, percent: Callable[[float], str] = percent) -> Cell:
    """Return a share with its interval: `94% (91-96)`."""
    if one is None:
        return Cell({"": None, "low": None, "high": None}, "-")
    text = f"{percent(one.value)}%"
    if one.low is not None and one.high is not None and round(100 * one.low) != round(100 * one.high):
        text += f" ({round(100 * one.low)}-{round(100 * one.high)})"
    return Cell({"": _round(one.value), "low": _round(one.low), "high": _round(one.high)}, text)


def _round(value: float | None) -> float | None:
    return None if value is None or value != value else round(float(value), 8)


def _or_dash(form: Callable[[float], str]) -> Callable[[float], str]:
    return lambda value: form(value) if value else "-"


def _policy(row: Row) -> Cell:
    label = row.figures.policy
    return Cell({"": label, "bound": row.figures.bound}, row.run.shown(label))


def _refetch(row: Row) -> float | None:
    again, paid = row.figures.usd_again, row.figures.usd
    return _round((1 - row.run.rate) * again / paid) if again is not None and paid else None


def _kept(row: Row) -> Cell:
    """The share kept; if summaries make a difference, the range from summaries that keep nothing to the best."""
    figures = row.figures
    found = shared(figures.kept, kept_percent)
    low, high = figures.kept_low, figures.kept_high
    values = found.value | {"if_nothing": _round(low), "if_all": _round(high)}
    if figures.kept is None:
        return Cell(values, "none")
    if low is not None and high is not None and round(100 * low) < round(100 * high):
        return Cell(values, f"{100 * low:.0f}..{100 * high:.0f}%")
    return Cell(values, found.text)


def _refused(row: Row) -> Cell:
    part = row.part
    failed = part[part.first_failure.notna()]
    reasons = ", ".join(FAILURES[reason] for reason in failed.first_failure.value_counts().index)
    value = {"calls": row.figures.refused, "transcripts": len(failed), "why": reasons}
    if not len(failed):
        return Cell(value, "-")
    if len(part) == 1:
        return Cell(value, f"call {int(part.iloc[0].calls_until_first_failure) + 1}: {reasons}")
    return Cell(value, f"{len(failed)}: {reasons}")


def _mean(column: str) -> Callable[[Row], float | None]:
    """The mean over the transcripts in which the value is known."""
    return lambda row: _round(row.part[column].mean())


def _sum(column: str, number: Callable[[Any], float | None] = int) -> Callable[[Row], float | None]:
    """The sum over the transcripts in which the value is known."""
    return lambda row: number(known.sum()) if len(known := row.part[column].dropna()) else None


def _refetched(row: Row) -> float | None:
    """Dollars of the amount that are for results fetched again, at the run's rate."""
    return _round(row.run.rate * again.sum()) if len(again := row.part.cost_refetch_usd.dropna()) else None


def _usd_ratio(row: Row) -> float | None:
    return _round((row.part.cost_vs_keep_all * row.run.spent(row.part, "cost_usd") / row.part.cost_usd).mean())


def _frontier(column: str) -> Callable[[Row], float | None]:
    """The least possible tokens at the same survival, over all transcripts, as a share of keep-all's tokens."""

    def least(row: Row) -> float | None:
        part = row.part[row.part[column].notna()]
        whole = part.tokens_full_sum.sum()
        return _round(part[column].sum() / whole) if whole else None

    return least


def _tokens_ratio(row: Row) -> float | None:
    whole = row.part.tokens_full_sum
    return _round((row.run.spent(row.part, "tokens_sum") / whole.where(whole > 0)).mean())


def _recorded(row: Row) -> int | None:
    known = row.part[row.part.calls_recorded > 0]
    return int(known.tokens_recorded_sum.sum()) if len(known) else None


def _rank(row: Row) -> Cell:
    low, high = row.ranks.get(row.figures.policy, (0, 0))
    text = "-" if not low else str(low) if low == high else f"{low}-{high}"
    return Cell({"low": low or None, "high": high or None}, text)


def _hits(row: Row) -> float | None:
    read, sent = row.part.cache_hit_ratio * row.part.tokens_sum, row.part.tokens_sum[row.part.cache_hit_ratio.notna()]
    return _round(read.sum() / sent.sum()) if sent.sum() else None


def _missed(row: Row) -> Cell:
    missed, edited = int(row.part.results_missed.sum()), int(row.part.results_edited.sum())
    return Cell({"missed": missed, "edited": edited}, f"{missed}/{edited}" if edited else "-")


PERCENT = "{:.0%}"

EVERY: tuple[Column, ...] = (
    Column("policy", "policy", "the policy's label; bounds are marked", kind="fact", of=_policy, left=True),
    Column("usd", "USD", "cost of all transcripts with known prices", kind="modelled", form=usd,
           of=lambda row: _round(row.figures.usd), rank=2),
    Column("usd_share", "of keep-all", "usd as a share of keep-all's", kind="modelled",
           of=lambda row: shared(row.figures.usd_share), rank=1),
    Column("kept", "kept", "share of what later calls used from old results that requests still held", kind="counted",
           of=_kept),
    Column("tokens_share", "tokens", "input as a share of keep-all's", kind="counted", form=PERCENT,
           of=lambda row: _round(row.figures.tokens_share.value), rank=4),
    Column("refused", "refused", "transcripts with a refused call; for a single transcript, its first refused call",
           kind="modelled", of=_refused, left=True),
    Column("peak", "peak", "input of the largest request, in tokens", kind="counted", form=compact,
           of=lambda row: row.figures.peak, rank=3),
    Column("tokens", "sum", "input of all transcripts, in tokens", kind="counted", form=compact,
           of=lambda row: row.figures.tokens, rank=5),
    Column("compactions", "comp.", "compactions per transcript", kind="fact", form="{:.1f}", of=_mean("compactions")),
    Column("rank", "rank", "best and worst possible rank by kept; policies whose ranks overlap may be equal",
           kind="counted", of=_rank),
    Column("kept_loose", "loose", "kept, for quotations", kind="counted", form=PERCENT, of=_mean("survival_loose")),
    Column("kept_fresh", "fresh", "kept, for the newest results", kind="counted", form=PERCENT,
           of=_mean("survival_fresh")),
    Column("missed", "missed", "edited results that held a lost identifier / all edited results",
           kind="counted", of=_missed),
    Column("least_tokens", "least", "the least input that keeps as much, by removing whole results; share of "
           "keep-all's", kind="counted", form=PERCENT, of=_frontier("tokens_frontier_results")),
    Column("least_tokens_any", "by any", "the least input that keeps as much, by any means; share of keep-all's",
           kind="counted", form=PERCENT, of=_frontier("tokens_frontier")),
    Column("hit", "hit", "share of the input that was read from the cache", kind="modelled", form=PERCENT, of=_hits),
    *(
        Column(f"usd_{name}", heading, f"dollars for {what}", kind="modelled", form=_or_dash(usd),
               of=_sum(f"cost_{name}_usd", _round))
        for name, heading, what in (
            ("read", "read", "reading the cache"), ("write", "write", "writing the cache"),
            ("uncached", "uncached", "input without the cache"), ("output", "output", "output"),
            ("summary", "summ. USD", "summary calls"),
        )
    ),
    Column("tokens_summary", "summ.", "input and output of summary calls, in tokens", kind="modelled",
           form=_or_dash(compact), of=_sum("tokens_summary")),
    Column("rewritten", "rewritten", "tokens that were in the cache and were written again", kind="modelled",
           form=_or_dash(compact), of=_sum("tokens_rewritten")),
    Column("payback", "payback", "calls until a compaction pays off: a transcript's median, mean over transcripts",
           kind="modelled", form="{:.1f}", of=_mean("payback_calls")),
    Column("usd_refetch", "refetched", "dollars for results fetched again, at the run's refetch rate", kind="modelled",
           form=_or_dash(usd), of=_refetched),
    Column("refetch", "refetch", "extra dollars if everything lost is fetched again, as a share of usd",
           kind="modelled", form="{:+.0%}", of=_refetch),
    Column("quota", "quota", "lowest rate limit, in tokens per minute, at which no call waits", kind="modelled",
           form=compact, of=lambda row: int(row.part.smallest_quota.max())),
    Column("estimate", "estimate", "mean error of the policy's estimates of request sizes", kind="estimated",
           form="{:+.1%}", of=_mean("estimate_bias")),
    Column("usd_ratio", "USD, mean", "a transcript's usd over keep-all's, mean over transcripts", kind="modelled",
           form=PERCENT, of=_usd_ratio),
    Column("tokens_ratio", "tokens, mean", "a transcript's tokens over keep-all's, mean over transcripts",
           kind="counted", form=PERCENT, of=_tokens_ratio),
    Column("tokens_recorded", "recorded", "sum of the column of this name over all calls", kind="recorded",
           form=compact, of=_recorded),
)  # fmt: skip
"""Every column that a policy's row can have."""

BY_DOLLARS = ("policy", "usd", "usd_share", "kept", "tokens_share", "refused")
BY_TOKENS = ("policy", "tokens", "tokens_share", "kept", "peak", "refused")
"""The default columns of a table with prices, and of one without."""


def chosen_columns(names: str) -> tuple[str, ...]:
    """Return the names in `a,b`. Raises UnknownName for an unknown column, and if there is no name."""
    known = [one.name for one in EVERY]
    found = tuple(name.strip() for name in names.split(",") if name.strip())
    for name in found or (names,):
        if name not in known:
            raise unknown("column", name, known)
    return found


def policy_sheet(
    run: Run, pooled: Pooled, labels: Sequence[str], names: Sequence[str] | None = None, chosen: str | None = None
) -> Sheet:
    """Return a table with a row per policy and the named columns: by default the most important ones, with `*` all."""
    if names is None:
        names = BY_DOLLARS if pooled.by_dollars else BY_TOKENS
    every = {one.name: one for one in EVERY}
    shown = every if "*" in names else dict.fromkeys(["policy", *names])
    columns = [every[name] for name in shown]
    ranks = {}
    if "rank" in shown and run.knows("survival"):
        known = ["transcript", "root", "survival"]
        ranks = rank_ranges({label: run.of(label)[known] for label in run.labels if label not in run.info.bounds})
    rows = [Row(pooled.all[label], run.of(label), run, ranks) for label in labels]
    marks = tuple("chosen" if label == chosen else "dim" if row.figures.bound else "bad" if row.figures.refused else ""
                  for label, row in zip(labels, rows, strict=True))  # fmt: skip
    return sheet_of("policies", run.info.title, columns, rows, marks=marks)
