"""Recorded compactions as text: one line each, means with intervals by session, and policies beside them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from ctxsim.answers.advice.intervals import Interval, bootstrap_mean
from ctxsim.answers.compactions import FEWEST, PRIOR, excess, share
from ctxsim.errors import many
from ctxsim.report.sheet import Cell, Column, Sheet, cell
from ctxsim.report.style import compact
from ctxsim.results.compactions import BesideRow, CompactionKindRow, CompactionRow

Row = CompactionRow | BesideRow

SOON = 10
"""Calls that must follow a compaction to be compared with its controls."""

NAME = 26
"""Characters of a session's name."""

COLUMNS = (
    Column("session", "session", left=True),
    Column("agent", "agent", left=True, rank=6),
    Column("by", "by", "who started it", left=True, rank=5),
    Column("call", "call"),
    Column("filled", "filled", "share of the window", rank=4),
    Column("before", "before", "recorded input before the compaction"),
    Column("after", "after", "recorded input after the compaction"),
    Column("summary", "summary", "tokens of the summary", rank=3),
    Column("strict", "strict", "identifiers that later calls used and only the earlier history held: kept by the "
           "summary / all. An agent rarely uses what it has forgotten; what it fetched again is counted below"),
    Column("loose", "loose", "the same for quotations", rank=7),
    Column("carried", "carried", "the same for identifiers that the agent had repeated", rank=8),
    Column("reread", "reread", "repeated tool calls in the next ten calls (mean after calls without a compaction)"),
    Column("usd", "USD", "modelled cost of the summary and of the broken cache"),
    Column("payback", "pays at", "calls until that cost is saved", rank=2),
    Column("calls", "calls", "calls that followed", rank=1),
)  # fmt: skip
"""Of the table of compactions."""


def compaction_sheet(rows: Sequence[CompactionRow]) -> Sheet:
    """Return a row for each compaction; of a long name the end says most."""
    cells = [(Cell(name, name if len(name) <= NAME else f"…{name[1 - NAME :]}"), *rest)
             for name, *rest in map(compaction_cells, rows)]  # fmt: skip
    return Sheet("compactions", "", COLUMNS, tuple(cells))


def compaction_cells(row: CompactionRow) -> tuple[str, ...]:
    """Return what the table says of one compaction, in the order of `COLUMNS`."""
    control = "-" if row.control_reread_calls is None else f"{row.control_reread_calls:.1f}"
    usd = None if row.cost_summary_usd is None else row.cost_summary_usd + (row.cost_cache_usd or 0.0)
    return (
        f"{row.transcript} {row.compaction}", row.agent, row.started_by or "?", str(row.call),
        "-" if row.share is None else f"{row.share:.0%}",
        _tokens(row.tokens_before), _tokens(row.tokens_after), _tokens(row.tokens_summary),
        _of(row.kept_strict, row.needed_strict), _of(row.kept_loose, row.needed_loose),
        _of(row.kept_carried, row.needed_carried), f"{row.reread_calls} ({control})",
        "-" if usd is None else f"{usd:.2f}", "-" if row.payback_calls is None else f"{row.payback_calls:.1f}",
        str(row.calls_after),
    )  # fmt: skip


SHARES: tuple[tuple[str, str, str], ...] = (
    ("identifiers that later calls used", "kept_strict", "needed_strict"),
    ("quotations that later calls used", "kept_loose", "needed_loose"),
    ("identifiers that later calls used, with those that the agent had repeated", "kept_carried", "needed_carried"),
    ("identifiers that the agent fetched again before it used them", "used_again_kept", "used_again"),
    ("all identifiers of the last request before it", "identifiers_kept", "identifiers_before"),
)


def agent_lines(rows: Sequence[CompactionRow]) -> Iterator[str]:
    """Yield, for each agent, means over compactions with 95 % intervals, resampled by session."""
    for agent, group in groupby(sorted(rows, key=lambda row: row.agent), key=lambda row: row.agent):
        members = list(group)
        sessions = len({row.root for row in members})
        yield f"{agent}: {many(len(members), 'compaction(s)')} in {many(sessions, 'session(s)')}"
        for name, kept, needed in SHARES:
            found = shares(members, kept, needed)
            if found:
                pooled = sum(getattr(row, kept) for row, _ in found), sum(getattr(row, needed) for row, _ in found)
                held, wanted = pooled
                yield f"  kept of {name}: {_interval(found)}, mean of {len(found)}; {held:,} of {wanted:,} in all"
        # Ten calls against ten calls.
        compared = [row for row in members if row.control_reread_calls is not None and row.calls_after >= SOON]
        if compared:
            yield (
                f"  repeated tool calls within ten calls: {_mean(compared, lambda r: r.reread_calls)}; without a "
                f"compaction {_mean(compared, lambda r: r.control_reread_calls or 0.0)}; difference "
                f"{_mean(compared, lambda r: r.reread_calls - (r.control_reread_calls or 0.0))}"
            )
            yield (
                f"  old identifiers used within ten calls: {_mean(compared, lambda r: r.needed_strict_soon)}; without "
                f"a compaction {_mean(compared, lambda r: r.control_needed_strict or 0.0)}"
            )


def again_lines(rows: Sequence[CompactionRow]) -> Iterator[str]:
    """Yield how often what was lost and used later had come again, by both definitions, beside what was kept."""
    known = [row for row in rows if row.lost_used is not None]
    if len(known) < FEWEST:
        yield (
            f"In other recordings, {PRIOR[0]:.0%} to {PRIOR[1]:.0%} of what was lost and used later had come again by "
            f"then. Your own {many(len(known), 'compaction(s)')} can't tell: it takes {FEWEST}."
        )
        return
    counts = {kind: [[getattr(row, f"{kind}_{name}") or 0 for row in known] for name in NAMES] for kind in KINDS}
    roots = [row.root for row in known]
    used = ", ".join(f"{sum(counts[kind][0]):,} {kind}" for kind in KINDS)
    yield f"Identifiers used after {many(len(known), 'compaction(s)')}: {used}."
    yield "Share of these that had come again before they were used (90 % intervals, by session):"
    yield f"{'':<31} {'lost':>14} {'kept: control':>14} {'excess':>17}"
    for at, name in enumerate(("same call or file fetched again", "any later result shows it"), 1):
        lost, kept = (share(counts[kind][at], counts[kind][0], roots) for kind in KINDS)
        more = excess(counts["lost"][at], counts["lost"][0], counts["kept"][at], counts["kept"][0], roots)
        yield f"{name:<31} {_rate(lost):>14} {_rate(kept):>14} {_rate(more, sign='+'):>17}"


KINDS, NAMES = ("lost", "kept"), ("used", "fetched", "shown")


def _rate(found: tuple[float, float, float] | None, sign: str = "") -> str:
    return "-" if found is None else "{:{s}.0%} ({:{s}.0%}..{:{s}.0%})".format(*found, s=sign)


def kind_lines(rows: Iterable[CompactionKindRow]) -> Iterator[str]:
    """Yield what share of the identifiers of each kind was kept, all compactions together."""
    known = sorted((row for row in rows if row.kept is not None), key=lambda row: row.kind)
    parts = []
    for kind, group in groupby(known, key=lambda row: row.kind):
        before, kept = map(sum, zip(*((row.before, row.kept or 0) for row in group), strict=True))
        if before:
            parts.append(f"{kind} {kept / before:.1%} of {before:,}")
    if parts:
        yield f"identifiers kept by kind: {', '.join(parts)}"


BESIDE = (
    Column("policy", "policy", left=True),
    Column("at", "at", "compaction: the agent went on from its summary; control: from the whole history", left=True),
    Column("tokens_left", "tokens left", rank=2),
    Column("over", "over", "share of cases in which the policy left more tokens than the agent", rank=1),
    Column("strict", "identifiers"),
    Column("carried", "own repeats too", rank=3),
    Column("all", "of all", "share of every identifier in the request", rank=4),
)  # fmt: skip


def beside_sheet(rows: Sequence[BesideRow]) -> Sheet:
    """Return what each policy would have kept with as many tokens left, at compactions and at their controls."""
    names = dict.fromkeys(row.name for row in rows)
    groups = [[row for row in rows if row.at == at and row.name == name] for at in ("compaction", "control")
              for name in names]  # fmt: skip
    cells = []
    for members in filter(None, groups):
        left = sorted(row.tokens_left for row in members)[len(members) // 2]
        over = sum(row.tokens_left > row.tokens_allowed for row in members) / len(members)
        kept = [_interval(shares(members, f"kept_{kind}", f"needed_{kind}")) for kind in ("strict", "carried")]
        everything = _interval(shares(members, "identifiers_kept", "identifiers_before")).partition(" ")[0]
        cells.append((members[0].name, members[0].at, left, cell(over, "{:.0%}"), *kept, everything))
    title = "What policies that leave as many tokens as the agent keep for the next ten calls (mean, 95 % interval)"
    note = "clairvoyant: a summary that knows what will be used; recorded: the agent's own."
    return Sheet("beside", title, BESIDE, tuple(cells), notes=(note,))


def shares(rows: Iterable[Row], kept: str, needed: str) -> list[tuple[Row, float]]:
    """Return kept / needed of each row that knows the first and has any of the second."""
    both = ((row, getattr(row, kept), getattr(row, needed)) for row in rows)
    return [(row, held / wanted) for row, held, wanted in both if held is not None and wanted]


def _interval(found: Sequence[tuple[Row, float]]) -> str:
    """The mean and its interval; of one session the mean alone."""
    if not found:
        return "-"
    values = [share for _, share in found]
    interval = bootstrap_mean(values, [row.root for row, _ in found])
    return _told(interval, percent=True) if interval else f"{sum(values) / len(values):.1%}"


def _mean(rows: Sequence[CompactionRow], value: Callable[[CompactionRow], float]) -> str:
    values = [float(value(row)) for row in rows]
    interval = bootstrap_mean(values, [row.root for row in rows])
    return _told(interval, percent=False) if interval else f"{sum(values) / len(values):.2f}"


def _told(interval: Interval, percent: bool) -> str:
    mean, low, high = (f"{value:.1%}" if percent else f"{value:.2f}" for value in interval)
    return f"{mean} ({low}..{high})"


def _tokens(value: int | None) -> str:
    return "-" if value is None else compact(value)


def _of(kept: int | None, needed: int) -> str:
    return f"{'?' if kept is None else kept}/{needed}" if needed else "-"
