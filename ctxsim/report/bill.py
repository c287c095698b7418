"""The bill as lines and tables, for people and programs. The first screen fits 80 columns."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePath

import msgspec

from ctxsim.answers.advice.setting_names import name_of
from ctxsim.answers.bill import facts
from ctxsim.answers.bill.smaller import AHEAD, Saving, Smaller
from ctxsim.answers.bill.sums import UNDATED, Bill, LeftOut, Misses, Sum
from ctxsim.answers.forecast.forecast import Forecast
from ctxsim.errors import many
from ctxsim.report.sheet import Cell, Column, Sheet, cell, sheet
from ctxsim.report.style import day, middle_cut

SHOWN = 10
"""Rows for people; the others are added up in one row. Programs get all rows."""

LONGEST = 24
"""Characters of a name in a table."""

IN_DAYS = f" in {AHEAD}"

HEAD, RESULTS, ANSWERS = "head", "results", "assistant"
GROUPS = {facts.ASSISTANT: ANSWERS, facts.THINKING: ANSWERS, facts.ASKED: ANSWERS, facts.OUTPUT: ANSWERS}

CAUSE = {
    "pause": "pause(s) longer than the cache lasts",
    "model": "change(s) of model",
    "other": "request(s) that missed the cache without a logged cause",
}


def usd(value: float) -> str:
    """Return dollars for people: cents below a thousand."""
    return f"{value:,.2f}" if value < 1_000 else f"{value:,.0f}"


def tokens(value: float) -> str:
    """Return tokens for people."""
    return f"{value / 1e6:,.1f} M" if value >= 1e6 else f"{value / 1e3:,.0f}K" if value >= 1e3 else f"{value:,.0f}"


def _share(part: float, whole: float) -> Cell:
    return cell(part / whole if whole else None, "{:.0%}")


def group(part: str) -> str:
    """Return which of the table's columns a part belongs to; '' for none."""
    if part.startswith("head"):
        return HEAD
    return RESULTS if part.startswith(facts.RESULTS) else GROUPS.get(part, "")


def paid_for(kind: str, one: Sum) -> float:
    """Return the dollars that the parts of a group cost; '' for those of none."""
    return sum(held[3] for part, held in one.parts.items() if group(part) == kind)


def _of(kind: str) -> Callable[[Sum], Cell]:
    return lambda one: _share(paid_for(kind, one), one.usd if one.responses else 0)


COLUMNS = (
    Column("usd", "USD", of=lambda one: Cell(one.usd if one.usd or one.unpriced < one.responses else None,
                                             usd(one.usd) if one.usd else "-")),
    Column("head", "head", "share of USD for system prompt and tools", rank=1, of=_of(HEAD)),
    Column("results", "results", "for tool results", rank=2, of=_of(RESULTS)),
    Column("assistant", "assistant", "for the model's texts and calls", rank=3, of=_of(ANSWERS)),
    Column("read_again", "read", "from the cache", rank=5,
           of=lambda one: _share(one.usd_read, one.usd if one.cached else 0)),
    Column("new", "new", "the other input", rank=4, of=lambda one: _share(one.usd_new, one.usd if one.cached else 0)),
)  # fmt: skip

PROGRAM = (
    Column("sessions", "sessions", of=lambda one: len(one.sessions)), Column("responses", "responses"),
    Column("tokens_read", "tokens_read", of=lambda one: one.told("read")),
    Column("tokens_written", "tokens_written", of=lambda one: one.told("write")),
    Column("tokens_uncached", "tokens_uncached", of=lambda one: one.told("plain")),
    Column("tokens_output", "tokens_output", of=lambda one: one.told("output")),
    Column("usd_recorded", "usd_recorded"), Column("usd_listed", "usd_listed"), Column("unpriced", "unpriced"),
)  # fmt: skip
"""Further columns for programs."""


def opening(bill: Bill, total: Sum, begun: LeftOut, compactions: LeftOut) -> Iterator[str]:
    """Yield the first lines: the agents, the number of sessions, the dates, the cost, and what the cost is based on."""
    found = sorted(bill.sessions, key=lambda one: -len(one.responses))
    agents = ", ".join(dict.fromkeys(name_of(one.format) for one in found))
    when = " to ".join(dict.fromkeys(day(one, None) for one in bill.span_s() or ()))
    cost = f"{usd(total.usd)} USD" if total.usd else f"{tokens(total.input)} tokens"
    sessions = _roots(bill)
    yield f"{agents}: {many(len(sessions), 'session(s)')}{when and f', {when}'}, {cost}."
    if total.usd_recorded and total.usd_listed:
        yield f"{usd(total.usd_recorded)} USD as logs state, {usd(total.usd_listed)} USD from tokens at list prices."
    elif total.usd:
        computed = "Dollars are computed from recorded tokens at that day's list prices."
        yield "Dollars are as the logs state them." if total.usd_recorded else computed
    if total.unpriced:
        yield f"Dollars are missing for {total.unpriced:,} of {total.responses:,} responses: their price is unknown."
    if total.standard:
        ways, times = " or ".join(sorted(total.standard)), many(sum(total.standard.values()), "response(s)")
        yield f"ctxsim knows no price for {ways}: {times} served this way are billed at standard prices."
    if total.alone:
        yield f"Tokens are missing for {many(total.alone, 'session(s)')}: the logs state dollars alone."
    if total.unsaid:
        responses = many(total.unsaid, "response(s)")
        yield f"All input of {responses} is counted as uncached: the logs don't say what was read from the cache."
    if begun[0] >= 1_000:
        yield f"Not included: {_about(begun)}{tokens(begun[0])} output tokens that the logs don't count."
    if compactions[0]:
        those = f"{_about(compactions)}the requests of {many(compactions[0], 'compaction(s)')}"
        yield f"Not included: {those}, which the logs leave out."
    if bill.unrecorded:
        silent = len(sessions - total.sessions)
        those = f", among them all of {many(silent, 'session(s)')}" if silent else ""
        yield f"Not included: {many(bill.unrecorded, 'response(s)')} without recorded usage{those}."


def _about(left_out: LeftOut) -> str:
    return f"about {usd(left_out[1])} USD for " if left_out[1] else ""


def _roots(bill: Bill) -> set[str]:
    return {one.root for one in bill.sessions}


def older(bill: Bill) -> Iterator[str]:
    """Yield how many older sessions are left out, and which agents have older sessions only."""
    count, there = len({one.root for one in bill.older} - _roots(bill)), {one.format for one in bill.sessions}
    gone = " and ".join(dict.fromkeys(name_of(one.format) for one in bill.older if one.format not in there))
    alone = f", all sessions of {gone} among them" if gone else ""
    if count:
        yield f"Left out: {many(count, 'older session(s)')}{alone}; --days 0 takes all."


def pauses(found: dict[str, Misses], total: Sum) -> Iterator[str]:
    """Yield a line for each cause of cache misses that cost at least 1 % of the bill."""
    for cause, one in found.items():
        if one.usd >= 0.01 * total.usd > 0:
            yield (f"{many(one.times, CAUSE[cause])} made the agent pay again for {tokens(one.tokens)} tokens: "
                   f"{usd(one.usd)} USD.")  # fmt: skip


def names_of(by: str, names: Sequence[str]) -> dict[str, str]:
    """Return names for people. A path is shortened to its shortest end of two or more parts that no other path has; if
    this end is too long, to its last part.
    """
    if by == "agent":
        return {name: name_of(name) for name in names}
    if by not in ("project", "session"):
        return {name: name for name in names}
    parts = {name: PurePath(name.replace("\\", "/")).parts or (name,) for name in names}
    ends = Counter(own[-n:] for own in set(parts.values()) for n in range(1, len(own) + 1))
    found = {}
    for name, own in parts.items():
        size = next((n for n in range(2, len(own)) if ends[own[-n:]] == 1), len(own))
        shown = "/".join(own[-size:]).replace("//", "/")
        found[name] = middle_cut(own[-1] if len(shown) > LONGEST and ends[own[-1:]] == 1 else shown, LONGEST)
    return found


def rows_of(by: str, found: Mapping[str, Sum], most: int = SHOWN) -> list[tuple[str, Sum]]:
    """Return the rows for people, named: the first `most`, and the sum of the others; of days and weeks the newest,
    after the sum of those before.
    """
    names = names_of(by, list(found))
    rows = [(names[name], one) for name, one in found.items()]
    if len(rows) <= most + 1:
        return rows
    newest = by in ("day", "week") and rows[-1][0] != UNDATED
    if newest:
        return [(f"{len(rows) - most:,} earlier", _added([one for _, one in rows[:-most]])), *rows[-most:]]
    return [*rows[:most], (f"{len(rows) - most:,} more", _added([one for _, one in rows[most:]]))]


def bill_sheet(by: str, found: dict[str, Sum], whole: bool) -> Sheet:
    """Return the table of a grouping. `whole`: for programs, with all rows, figures and full names."""
    columns = (*COLUMNS, *(PROGRAM if whole else ()))
    rows = found.items() if whole else rows_of(by, found)
    lines = [(name, *(column.cell(one) for column in columns)) for name, one in rows]
    return sheet("bill", "", [Column(by, by, left=True), *columns], lines)


def _added(sums: Sequence[Sum]) -> Sum:
    """The total of several sums, without their sessions."""
    found = Sum()
    for one in sums:
        for name, value in msgspec.structs.asdict(one).items():
            if isinstance(value, (int, float)):
                setattr(found, name, getattr(found, name) + value)
        for part, held in one.parts.items():
            found.parts[part] = [a + b for a, b in zip(found.parts.get(part, (0, 0, 0, 0.0)), held, strict=True)]
    return found


def part_sheet(total: Sum, whole: bool) -> Sheet:
    """Return the parts of all requests, the most expensive first, with their tokens by class."""
    parts = sorted(total.parts.items(), key=lambda pair: (-pair[1][3], -sum(pair[1][:3]), pair[0]))
    shown, rest = (parts, []) if whole else (parts[: 2 * SHOWN], [one for _, one in parts[2 * SHOWN :]])
    if rest:
        shown.append((f"{len(rest)} more", [sum(one[n] for one in rest) for n in range(4)]))
    lines = [(part, Cell(one[3], usd(one[3]) if total.usd else "-"), _share(one[3], total.usd),
              *_classes(part, one, total.cached)) for part, one in shown]  # fmt: skip
    columns = [
        Column("part", "part", left=True), Column("usd", "USD"), Column("share", "of all", "share of USD", rank=1),
        Column("tokens_read", "read again", "tokens from the cache", rank=4),
        Column("tokens_written", "written", "tokens to the cache", rank=3),
        Column("tokens_new", "uncached", "tokens of the other input", rank=2),
        Column("tokens_output", "output", "tokens of responses", rank=5),
    ]  # fmt: skip
    return sheet("parts", "", columns, lines)


def _classes(part: str, one: Sequence[float], cached: bool) -> list[Cell]:
    """A part's tokens by class, of requests or of responses. A class that no log states is None."""
    known = one[:3] if cached else (None, None, one[2] or None)
    counts = [None, None, None, one[2]] if part == facts.OUTPUT else [*known, None]
    return [cell(count, tokens) for count in counts]


def smaller_sheet(found: Smaller, whole: bool) -> Sheet:
    """Return the changes that would have made the bill smaller; if `whole`, with their shares and how to make them."""
    ahead = any(one.ahead for one in found.savings)
    lines: list[tuple[object, ...]] = [(one.name, Cell(one.usd, _range(one)), one.loses) for one in found.savings]
    columns = [Column("change", "change", left=True), Column("usd", f"saves, USD/{AHEAD}" if ahead else "saves, USD"),
               Column("costs", "drawback", "what is lost" if whole else "", True, 1)]  # fmt: skip
    if whole:
        lines = [(*line, one.share, *(one.ahead or (None, None)), one.kept, one.how)
                 for line, one in zip(lines, found.savings, strict=True)]  # fmt: skip
        about = {"low": f"{IN_DAYS.strip()}, 90 %", "high": f"{IN_DAYS.strip()}, 90 %",
                 "kept": "of the uses of older results", "how": "to do it"}  # fmt: skip
        columns += [Column(name, name, about.get(name, "")) for name in ("share", "low", "high", "kept", "how")]
    return sheet("smaller", "", columns, lines)


def _range(one: Saving) -> str:
    ends = one.ahead or (one.usd, one.usd)
    texts = (f"{round(end):,}" if ends[1] >= 10 else f"{round(end, 2) + 0.0:,.2f}" for end in ends)
    return " to ".join(dict.fromkeys(texts))


def closing(found: Smaller) -> Iterator[str]:
    """Yield what the best changes save together, and how to make each change."""
    if not found.savings:
        yield f"None of {found.tried} changes tried would have made the bill 2 % smaller."
    if found.together:
        days = IN_DAYS if found.together.ahead else ""
        yield f"These changes overlap. The best of them together save {_range(found.together)} USD{days}:"
        yield f"  {found.together.name}"
        yield ""
    yield from (f"{one.name}: {one.how}" for one in found.savings if one.how)
    if found.settings:
        yield "ctxsim advise tries more settings, and is more exact: it replays these sessions."


def pace(ahead: Forecast, bill: Bill) -> str:
    """Return the forecast of the next days at this pace, in one line. It names agents whose sessions don't count."""
    main, written, unit = ("usd", usd, "USD") if "usd" in ahead.amounts else ("tokens", tokens, "tokens")
    low, high = ahead.amounts[main].ranges["90"]
    count, kind = f"{ahead.seen:,} sessions", "90 %"
    if ahead.since is not None:
        count = f"the {count} since {day(ahead.since)}"
    if ahead.basis == "far":
        kind += f", widened because {count} are few for {ahead.ahead}"
    elif ahead.since is not None:
        kind += f"; only {count} count"
    if ahead.since is not None:
        called = [(name_of(one.session.format), one.response.time_s or 0.0) for one in (*bill.earlier, *bill.lines)]
        gone = {agent for agent, _ in called} - {agent for agent, time_s in called if time_s >= ahead.since}
        kind += f"; all sessions of {' and '.join(sorted(gone))} are older" if gone else ""
    if ahead.basis == "priors":
        kind = f"too few sessions to go by, {ahead.seen:,} of {ahead.known:,}: the range is that of other projects"
    some = f"; {ahead.known - ahead.priced:,} of {many(ahead.known, 'session(s)')} without a known price count as 0"
    kind += some if main == "usd" and ahead.priced < ahead.known else ""
    kind += f"; {many(ahead.untimed, 'session(s)')} without a start time left out" if ahead.untimed else ""
    return f"At this pace the next {ahead.ahead}: {written(low)} to {written(high)} {unit} ({kind})."
