"""Recorded compactions as text: one line each, means with intervals by session, and policies beside them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from ctxsim.answers.advice.intervals import bootstrap_mean
from ctxsim.answers.compactions.later import SOON
from ctxsim.answers.compactions.rates import FEWEST, PRIOR, excess, share
from ctxsim.errors import many
from ctxsim.report.sheet import Cell, Column, Sheet, sheet, sheet_of, text_of
from ctxsim.report.style import compact
from ctxsim.results.compactions import BesideRow, CompactionKindRow, CompactionRow

Row = CompactionRow | BesideRow

NAME = 26
"""Characters of a session's name."""


def _of(kind: str) -> Callable[[CompactionRow], str]:
    """The number of needs of a kind that were kept, and of all needs of that kind."""

    def text(row: CompactionRow) -> str:
        kept, needed = getattr(row, f"kept_{kind}"), getattr(row, f"needed_{kind}")
        return f"{'?' if kept is None else kept}/{needed}" if needed else "-"

    return text


def _usd(row: CompactionRow) -> float | None:
    return None if row.cost_summary_usd is None else row.cost_summary_usd + (row.cost_cache_usd or 0.0)


def _reread(row: CompactionRow) -> str:
    control = "-" if row.control_reread_calls is None else f"{row.control_reread_calls:.1f}"
    return f"{row.reread_calls} ({control})"


COLUMNS = (
    Column("session", "session", left=True, of=lambda row: f"{row.transcript} {row.compaction}"),
    Column("agent", "agent", left=True, rank=6),
    Column("by", "by", "who started it", left=True, rank=5, of=lambda row: row.started_by or "?"),
    Column("call", "call", form="{}"),
    Column("filled", "filled", "share of the window", rank=4, form="{:.0%}", of="share"),
    Column("before", "before", "recorded input before the compaction", form=compact, of="tokens_before"),
    Column("after", "after", "recorded input after the compaction", form=compact, of="tokens_after"),
    Column("summary", "summary", "tokens of the summary", rank=3, form=compact, of="tokens_summary"),
    Column("strict", "strict", "identifiers that later calls used and only the earlier history held: kept by the "
           "summary / all. An agent rarely uses what it has forgotten; what it fetched again is counted below",
           of=_of("strict")),
    Column("loose", "loose", "the same for quotations", rank=7, of=_of("loose")),
    Column("carried", "carried", "the same for identifiers that the agent had repeated", rank=8, of=_of("carried")),
    Column("reread", "reread", "repeated tool calls in the next ten calls (mean after calls without a compaction)",
           of=_reread),
    Column("usd", "USD", "modelled cost of the summary and of the broken cache", form="{:.2f}", of=_usd),
    Column("payback", "pays at", "calls until that cost is saved", rank=2, form="{:.1f}", of="payback_calls"),
    Column("calls", "calls", "calls that followed", rank=1, form="{}", of="calls_after"),
)  # fmt: skip
"""The columns of the table of compactions."""


def compaction_sheet(rows: Sequence[CompactionRow]) -> Sheet:
    """Return a row for each compaction. A long name is cut to its end, which says most."""
    cells = [(Cell(name, name if len(name) <= NAME else f"…{name[1 - NAME :]}"), *rest)
             for name, *rest in map(compaction_cells, rows)]  # fmt: skip
    return sheet("compactions", "", COLUMNS, cells)


def compaction_cells(row: CompactionRow) -> tuple[str, ...]:
    """Return the texts of one compaction in the table, in the order of `COLUMNS`."""
    return tuple(text_of(column.cell(row)) for column in COLUMNS)


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
            if found := shares(members, kept, needed):
                held, wanted = (sum(getattr(row, name) for row, _ in found) for name in (kept, needed))
                yield f"  kept of {name}: {_interval(found)}, mean of {len(found)}; {held:,} of {wanted:,} in all"
        # Both sides must have ten calls.
        compared = [row for row in members if row.control_reread_calls is not None and row.calls_after >= SOON]
        if compared:
            calls = _mean_of(compared, lambda r: r.reread_calls)
            without = _mean_of(compared, lambda r: r.control_reread_calls or 0.0)
            more = _mean_of(compared, lambda r: r.reread_calls - (r.control_reread_calls or 0.0))
            mean = f"mean of {len(compared)}"
            beside = f"{without}; difference {more}"
            yield f"  repeated tool calls within ten calls: {calls}, {mean}; without a compaction {beside}"
            used = _mean_of(compared, lambda r: r.needed_strict_soon)
            without = _mean_of(compared, lambda r: r.control_needed_strict or 0.0)
            yield f"  old identifiers used within ten calls: {used}, {mean}; without a compaction {without}"


def _mean_of(rows: Sequence[CompactionRow], value: Callable[[CompactionRow], float]) -> str:
    return _mean([float(value(row)) for row in rows], rows, ".2f")


def again_lines(rows: Sequence[CompactionRow]) -> Iterator[str]:
    """Yield how often identifiers lost and used later had come again, by two definitions, beside those kept."""
    known = [row for row in rows if row.lost_used is not None]
    if len(known) < FEWEST:
        yield (
            f"In other recordings, of identifiers that compactions lost and later calls used, {PRIOR[0]:.0%} had first "
            f"been fetched again by the same call, {PRIOR[1]:.0%} shown again by some result. Measuring yours needs "
            f"{FEWEST} compactions with readable history and summary; you have {len(known)}."
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
        yield f"{name:<31} {_span(lost, '.0%'):>14} {_span(kept, '.0%'):>14} {_span(more, '+.0%'):>17}"


KINDS, NAMES = ("lost", "kept"), ("used", "fetched", "shown")


def _span(found: tuple[float, float, float] | None, form: str) -> str:
    """A figure with its interval."""
    return "-" if found is None else "{:{form}} ({:{form}}..{:{form}})".format(*found, form=form)


def kind_lines(rows: Iterable[CompactionKindRow]) -> Iterator[str]:
    """Yield the share of the identifiers of each kind that was kept, over all compactions."""
    known = sorted((row for row in rows if row.kept is not None), key=lambda row: row.kind)
    parts = []
    for kind, group in groupby(known, key=lambda row: row.kind):
        before, kept = map(sum, zip(*((row.before, row.kept or 0) for row in group), strict=True))
        if before:
            parts.append(f"{kind} {kept / before:.1%} of {before:,}")
    if parts:
        yield f"identifiers kept by kind: {', '.join(parts)}"


def _share(kept: str, needed: str) -> Callable[[Sequence[BesideRow]], str]:
    return lambda members: _interval(shares(members, kept, needed))


BESIDE = (
    Column("policy", "policy", left=True, of=lambda members: members[0].name),
    Column("at", "at", "compaction: the agent went on from its summary; control: from the whole history", left=True,
           of=lambda members: members[0].at),
    Column("tokens_left", "tokens left", "median of the cases", rank=2,
           of=lambda members: sorted(row.tokens_left for row in members)[len(members) // 2]),
    Column("over", "over", "share of cases in which the policy left more tokens than the agent", rank=1, form="{:.0%}",
           of=lambda members: sum(row.tokens_left > row.tokens_allowed for row in members) / len(members)),
    Column("strict", "identifiers", of=_share("kept_strict", "needed_strict")),
    Column("carried", "own repeats too", rank=3, of=_share("kept_carried", "needed_carried")),
    Column("all", "of all", "share of every identifier in the request", rank=4,
           of=lambda members: _interval(shares(members, "identifiers_kept", "identifiers_before")).partition(" ")[0]),
)  # fmt: skip


def beside_sheet(rows: Sequence[BesideRow]) -> Sheet:
    """Return what each policy would have kept with as many tokens left, at compactions and at their controls."""
    names = dict.fromkeys(row.name for row in rows)
    groups = [[row for row in rows if row.at == at and row.name == name] for at in ("compaction", "control")
              for name in names]  # fmt: skip
    title = "What policies that leave as many tokens as the agent keep for the next ten calls (mean, 95 % interval)"
    note = "clairvoyant: a summary that knows what will be used; recorded: the agent's own."
    return sheet_of("beside", title, BESIDE, filter(None, groups), notes=(note,))


def shares(rows: Iterable[Row], kept: str, needed: str) -> list[tuple[Row, float]]:
    """Return kept / needed of each row in which `kept` is known and `needed` isn't 0."""
    both = ((row, getattr(row, kept), getattr(row, needed)) for row in rows)
    return [(row, held / wanted) for row, held, wanted in both if held is not None and wanted]


def _interval(found: Sequence[tuple[Row, float]]) -> str:
    return _mean([share for _, share in found], [row for row, _ in found], ".1%") if found else "-"


def _mean(values: Sequence[float], rows: Sequence[Row], form: str) -> str:
    """The mean with its interval; for fewer than six sessions, the mean alone."""
    interval = bootstrap_mean(values, [row.root for row in rows])
    return _span(interval, form) if interval else f"{sum(values) / len(values):{form}}"
