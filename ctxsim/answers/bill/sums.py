"""Sums of the bill by day, week, project, session, model, agent or part. Each token and each dollar is counted once."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from math import inf, isnan, nan
from pathlib import PurePath
from typing import Literal, get_args

import msgspec
import numpy as np

from ctxsim.answers.bill import facts
from ctxsim.answers.bill.dollars import NOTHING, Paid, PriceList, paid
from ctxsim.answers.bill.facts import CAUSES, Rates, Response, Session
from ctxsim.answers.forecast.ranges import DAY
from ctxsim.answers.forecast.sessions import Sessions, enough
from ctxsim.policies import agent_of, continues
from ctxsim.readers.paths import WORKTREE, session_id

By = Literal["day", "week", "project", "session", "model", "agent"]
BYS: tuple[str, ...] = (*get_args(By), "part")

UNDATED = "no date"


class Line(msgspec.Struct, frozen=True, gc=False):
    """One billed response: its session, its cost, and the rates at its time (None if unknown)."""

    session: Session
    response: Response
    paid: Paid
    rates: Rates | None


class Sum(msgspec.Struct):
    """Totals of some lines: tokens and dollars by class. `parts` has [tokens read, written, plain, dollars] by part.

    `unpriced` counts responses with neither a recorded cost nor a list price, `unsaid` those whose log doesn't state
    cache reads. `alone` counts sessions with recorded dollars but no tokens. `standard` counts responses at standard
    rates by how the log says that they were served, where no price of that is known.
    """

    sessions: set[str] = msgspec.field(default_factory=set)
    responses: int = 0
    read: int = 0
    write: int = 0
    plain: int = 0
    output: int = 0
    usd_recorded: float = 0.0
    usd_listed: float = 0.0
    usd_read: float = 0.0
    usd_new: float = 0.0
    unpriced: int = 0
    parts: dict[str, list[float]] = msgspec.field(default_factory=dict)
    unsaid: int = 0
    alone: int = 0
    standard: dict[str, int] = msgspec.field(default_factory=dict)

    @property
    def usd(self) -> float:
        """Recorded dollars, plus list-price dollars of responses without a recorded cost."""
        return self.usd_recorded + self.usd_listed

    @property
    def input(self) -> int:
        """Tokens of all requests."""
        return self.read + self.write + self.plain

    @property
    def cached(self) -> bool:
        """Whether the log of at least one response states cache reads."""
        return self.unsaid < self.responses

    def told(self, kind: str) -> int | None:
        """Return the tokens of a class: read, write, plain or output; None if no log states them."""
        known = self.cached if kind in ("read", "write") else self.responses
        return getattr(self, kind) if known else None

    def add(self, line: Line) -> None:
        """Add a line."""
        one, cost = line.response, line.paid
        self.sessions.add(line.session.root)
        self.responses += not one.alone
        self.alone += one.alone
        self.unsaid += one.unsaid
        self.read += one.read
        self.write += one.write
        self.plain += one.plain
        self.output += one.output
        if cost.how == "recorded":
            self.usd_recorded += cost.usd
        elif cost.how == "listed":
            self.usd_listed += cost.usd
            if line.rates and (served := line.rates.unpriced):
                self.standard[served] = self.standard.get(served, 0) + 1
        else:
            self.unpriced += 1
        self.usd_read += cost.read
        self.usd_new += cost.write + cost.plain
        each = (_unit(cost.read, one.read), _unit(cost.write, one.write), _unit(cost.plain, one.plain))
        names = line.session.parts
        for at in range(0, len(one.parts), 4):
            part, *tokens = one.parts[at : at + 4]
            self._part(names[part], tokens, sum(unit * count for unit, count in zip(each, tokens, strict=True)))
        self._part(facts.UNKNOWN if one.alone else facts.OUTPUT, (0, 0, one.output), cost.output)
        if cost.searches:
            self._part(facts.SEARCHES, (0, 0, 0), cost.searches)

    def _part(self, name: str, tokens: Sequence[int], usd: float) -> None:
        known = self.parts.setdefault(name, [0, 0, 0, 0.0])
        for n, count in enumerate(tokens):
            known[n] += count
        known[3] += usd


def _unit(usd: float, tokens: int) -> float:
    return usd / tokens if tokens else 0.0


class Bill(msgspec.Struct, frozen=True):
    """The billed lines of some sessions. A response in several files is billed once; `repeated` counts its copies.

    `unrecorded` counts responses without usage, which can't be billed. `older` are sessions before the billed days,
    `earlier` lines before them. A sub-agent's conversation is one of `sessions`, with its root session as the parent.
    """

    sessions: list[Session]
    lines: list[Line]
    repeated: int
    unrecorded: int
    older: list[Session] = []
    earlier: list[Line] = []

    def total(self) -> Sum:
        """Return the sum of all lines."""
        return next(iter(self.by(lambda line: "").values()), Sum())

    def by(self, key: Callable[[Line], str]) -> dict[str, Sum]:
        """Return the sum of each key, in the order in which keys first appear."""
        sums: dict[str, Sum] = {}
        for line in self.lines:
            sums.setdefault(key(line), Sum()).add(line)
        return sums

    def span_s(self) -> tuple[float, float] | None:
        """Return the earliest and the latest time of the lines, in seconds since 1970; None if no line has a time."""
        times = [line.response.time_s for line in self.lines if line.response.time_s is not None]
        return (min(times), max(times)) if times else None


def billed(sessions: Iterable[Session], prices: PriceList, days: int | None) -> Bill:
    """Return the bill of the last `days` up to the newest response, None for all. Responses without a time are kept."""
    found = list(sessions)
    # A parent's file may have been moved or compressed since its sub-agent began, or lie elsewhere.
    known = {session_id(one.name): one.name for one in reversed(found)} | {one.name: one.name for one in found}
    above = [known.get(one.parent) or known.get(session_id(one.parent), one.parent) for one in found]
    parents = {one.name: parent for one, parent in zip(found, above, strict=True)}
    # Each sub-agent's parent becomes its root session.
    found = [msgspec.structs.replace(one, parent=_root(parent, parents)) if parent else one
             for one, parent in zip(found, above, strict=True)]  # fmt: skip
    times = [one.time_s for session in found for one in (*session.responses, *session.beside) if one.time_s is not None]
    since = max(times) - days * DAY if times and days is not None else -inf

    def early(time_s: float | None) -> bool:
        return time_s is not None and time_s < since

    seen: set[tuple[object, ...]] = set()
    lines: list[Line] = []
    earlier: list[Line] = []
    kept, older, repeated, unrecorded = [], [], 0, 0
    for session, costs in paid(found, prices):
        silent = sum(not early(time_s) for time_s in session.unrecorded)
        before, again, own = len(lines), repeated, set[tuple[object, ...]]()
        for response, cost in costs:
            if response.time_s is not None:
                mark = msgspec.structs.astuple(response)[:9]
                if mark in seen:
                    repeated += not early(response.time_s)
                    continue
                own.add(mark)
            line = Line(session, response, cost, prices.of(response.model, response.time_s, response.served))
            (earlier if early(response.time_s) else lines).append(line)
        seen |= own
        if len(lines) > before or (silent and repeated == again):
            kept.append(session)
            unrecorded += silent
        elif silent < len(session.unrecorded) or any(early(response.time_s) for response, _ in costs):
            older.append(session)
    return Bill(kept, lines, repeated, unrecorded, older, earlier)


def _root(name: str, parents: Mapping[str, str]) -> str:
    passed = {name}
    while (above := parents.get(name)) and above not in passed:
        passed.add(above)
        name = above
    return name


def key_of(by: By) -> Callable[[Line], str]:
    """Return the function from a line to its key."""
    return {
        "day": lambda line: _day(line, False), "week": lambda line: _day(line, True), "project": project_of,
        "session": lambda line: line.session.root, "model": _model,
        "agent": lambda line: line.session.format,
    }[by]  # fmt: skip


def _model(line: Line) -> str:
    one = line.response
    return f"{one.model or 'unknown'}{f' ({one.served})' if one.served else ''}"


def _day(line: Line, week: bool) -> str:
    if line.response.time_s is None:
        return UNDATED
    day = datetime.fromtimestamp(line.response.time_s).date()
    return str(day - timedelta(days=day.weekday()) if week else day)


def project_of(line: Line) -> str:
    """Return the project that the agent worked in; if it isn't recorded, the folder of the log."""
    return WORKTREE.sub("", line.session.project) or str(PurePath(line.session.name).parent)


class Misses(msgspec.Struct):
    """Cache misses of one cause: their number, their tokens, and the dollars paid beyond the price of a cache read."""

    times: int = 0
    tokens: int = 0
    usd: float = 0.0


def misses(bill: Bill) -> dict[str, Misses]:
    """Return the misses by cause, one of CAUSES."""
    found: dict[str, Misses] = {}
    for line in bill.lines:
        one = line.response
        if one.missed:
            of = found.setdefault(CAUSES[one.cause], Misses())
            of.times += 1
            of.tokens += one.missed
            if line.rates:
                read, write, long, plain, _ = line.rates.at(one.input)
                of.usd += one.missed * ((long if one.long else write if one.write else plain) - read)
    return found


LeftOut = tuple[int, float | None]
"""How much logs leave out, and its dollars; None if the price of any of it is unknown."""


def unfinished(bill: Bill) -> LeftOut:
    """Return the output tokens and dollars that logs leave out of unfinished responses, estimated from their texts."""
    tokens, usd = 0, 0.0
    for line in bill.lines:
        one = line.response
        more = one.written - one.output if one.begun else 0
        if more > 0:
            tokens += more
            if line.paid.how != "recorded":
                usd += more * line.rates.at(one.input)[4] if line.rates else nan
    return tokens, None if isnan(usd) else usd


def summaries(bill: Bill) -> LeftOut:
    """Return the number of recorded compactions whose own requests logs leave out, and an estimate of these requests'
    dollars. The request before is sent once more: whole, from the cache if that request used it and it hasn't expired;
    or without its head and uncached, if the agent has another head for it. The tokens of the summary are output.
    """
    times, usd = 0, 0.0
    last: dict[str, Line] = {}
    first = ((one.session, one.response.parts[0]) for one in bill.lines if one.response.parts)
    told = Counter(session.root for session, part in first if session.parts[part] == facts.ASKING)
    for line in bill.lines:
        one, name = line.response, line.session.name
        made = [(last[name], one.compacted, one.cold)] if one.compacted and name in last else []
        if line.session.responses and one is line.session.responses[-1]:
            made += [(line, *told) for told in line.session.ending]
        for before, tokens, cold in made:
            told[line.session.root] -= 1
            if told[line.session.root] < 0:
                times += 1
                sent = before.response
                read, _, _, plain, output = before.rates.at(sent.input) if before.rates else (nan,) * 5
                # Codex logs the usage of requests of its own. What it leaves out are the server's.
                agent = agent_of(line.session.format)
                continued = continues("codex:remote=True" if agent == "codex" else agent)
                rate = read if continued and not cold and (sent.read or sent.write) else plain
                usd += (sent.input - (0 if continued else sent.head)) * rate + tokens * output
        last[name] = line
    return times, None if isnan(usd) else usd


def by_root(lines: Iterable[Line]) -> dict[str, list[Line]]:
    """Return the lines that have tokens by root session."""
    found: dict[str, list[Line]] = {}
    for line in lines:
        if not line.response.alone:
            found.setdefault(line.session.root, []).append(line)
    return found


def sessions_of(bill: Bill) -> Sessions:
    """Return the root sessions of a bill, oldest first, with the dollars, input tokens and responses of each.

    Sessions before the billed days are included, and those without usage, of which only the times and the number of
    responses are known. Dollars are left out if fewer than half of the sessions with usage have prices.
    """
    known = [*bill.earlier, *bill.lines]
    spoken = {line.session.root for line in known}
    silent = [
        Line(one, Response(time_s, "", 0, 0, 0, 0, 0, False, None), NOTHING, None)
        for one in (*bill.older, *bill.sessions) if one.root not in spoken
        for time_s in one.unrecorded if time_s is not None
    ]  # fmt: skip
    lines = by_root((*known, *silent))
    began = {
        root: min((one.response.time_s for one in own if one.response.time_s is not None), default=None)
        for root, own in lines.items()
    }
    timed = [root for root, first in began.items() if first is not None]
    order = sorted(timed if enough(len(timed), len(began)) else began, key=lambda root: began[root] or 0.0)
    each = [lines[root] for root in order]
    priced = sum(all(line.paid.how for line in own) for own in each)
    dollars = enough(priced, len(spoken.intersection(order)))
    amounts = {"usd": [sum(line.paid.usd for line in own) for own in each]} if dollars else {}
    amounts["tokens"] = [float(sum(line.response.input for line in own)) for own in each]
    amounts["calls"] = [float(len(own)) for own in each]
    projects, models = tuple(project_of(own[0]) for own in each), tuple(own[0].response.model for own in each)
    arrays = {name: np.array(values) for name, values in amounts.items()}
    return Sessions(
        tuple(order), tuple(map(began.__getitem__, order)), projects, models, arrays, priced, len(began) - len(order)
    )
