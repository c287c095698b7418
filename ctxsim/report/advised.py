"""The text of `ctxsim advise` on an agent, one screen of 80 columns: the answer, how sure it is, what was tried."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from ctxsim.answers.advice.advice import MAY_LOSE, SETTLED
from ctxsim.answers.advice.figures import Figures
from ctxsim.answers.advice.predicted import Came
from ctxsim.answers.advice.rule import HARDLY
from ctxsim.answers.advice.search_result import AgentAdvice, Framed, Seen, Tried
from ctxsim.answers.advice.setting_names import title_of, told
from ctxsim.answers.advice.verdict import kept_percent, percent, plain_size, priced, ranges_of, saves, size, usd, weak
from ctxsim.errors import agreed, many
from ctxsim.report.sheet import Column, Sheet, sheet
from ctxsim.report.style import day

WIDTH = 80

TRIED_NAMED = 4
"""The number of other settings tried that are named: the best of each setting, then those that save the most."""

BILL = "ctxsim bill --by part"

COLUMNS = (
    Column("settings", "settings", left=True, of=lambda one: told(one.settings, False)),
    Column("amount", "of as-set", "the bill, or what else is compared, as a share of that with today's settings",
           form="{:.1%}"),
    Column("kept", "kept", "share of what later calls used from old results that requests still held", form="{:.1%}"),
    Column("sessions", "sessions", "number behind the figures"),
)  # fmt: skip


def screen(one: AgentAdvice) -> list[str]:
    """Return the lines of one agent's advice, none longer than 80 characters except those to paste."""
    what = _to_set(one) if one.settings else _wrapped(_nothing(one))
    figures, doubts = ([line for said in lines for line in _wrapped(said)] for lines in (_figures(one), _doubts(one)))
    return _spaced([_wrapped(_head(one)), what, figures, doubts, _wrapped(_also(one))])


def _figures(one: AgentAdvice) -> list[str]:
    """What the advice saves and loses, whether it is honoured, how recordings contradict settings; '' if unknown."""
    advised = [_month(one), _saves(one), _loses(one), *(_honoured(seen) for seen in one.seen)] if one.settings else []
    return [*advised, *one.contradicted]


def constructor_screen(one: Framed) -> list[str]:
    """Return the lines of advice for users who build with a framework."""
    take = one.take
    found = many(take.transcripts, "transcript(s)")
    head = f"{one.framework}: {_of(found, one.sampled)} {size(one.now, one.amount)} without compaction."
    if not one.code:
        no = f"Change nothing: none of {_settings(one.tried)} tried saves more than {_least(one.goal)}"
        return _spaced([_wrapped(head), _wrapped(no)])
    figures = f"{size(take, one.amount)} instead of {plain_size(one.now, one.amount)}{saves(one.share)}."
    return _spaced([
        _wrapped(head), ["Construct:", "", *(f"    {line}" for line in one.code)],
        [*_wrapped(figures), *_wrapped(_keeps(take) + f" {one.tried} settings tried.")],
    ])  # fmt: skip


def tried_sheet(agents: Iterable[AgentAdvice]) -> Sheet:
    """Return a row for each setting that was tried, with the advised one as its agent's first."""
    rows = []
    for one in agents:
        share = one.share.value if one.share else None
        kept = one.take.kept.value if one.take.kept else None
        mine = [Tried(one.settings, share, kept, one.sessions)] if one.settings else []
        rows += [(one.agent, *(column.cell(each) for column in COLUMNS)) for each in (*mine, *one.tried)]
    return sheet("tried", "Settings tried", (Column("agent", "agent", left=True), *COLUMNS), rows)


def _wrapped(text: str) -> list[str]:
    # Lines aren't broken between a number and its unit, or a key and its value.
    for held in (" %", " = ", " USD", BILL):
        text = text.replace(held, held.replace(" ", "\u00a0"))
    lines = textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\u00a0", " ") for line in lines]


def _spaced(paragraphs: Sequence[Sequence[str]]) -> list[str]:
    lines: list[str] = []
    for each in paragraphs:
        lines += ["", *each] if lines and each else each
    return lines


def _head(one: AgentAdvice) -> str:
    more = f" and {len(one.models) - 1} more" if len(one.models) > 1 else ""
    models = f", {one.models[0]}{more}" if one.models else ""
    where = " (--settings reads yours)" if one.defaults else ""
    found = _of(many(one.sessions, "session(s)"), one.sampled)
    return f"{one.title}{models}: {found} {size(one.now, one.amount)} {_as_set(one)}{where}."


def _of(found: str, sampled: bool) -> str:
    """What was replayed, and whose amount follows: a sample's is an estimate of its folder's."""
    return f"a sample of {found}; the whole folder: about" if sampled else f"{found},"


def _as_set(one: AgentAdvice) -> str:
    return "with the agent's default settings" if one.defaults else "as you are set now"


def answer(agents: Iterable[AgentAdvice]) -> Iterator[str]:
    """Yield a page's lines: for each agent what to set, with lines to paste indented, then the rest of its screen."""
    for one in agents:
        yield from [line for line in _to_set(one) if line] if one.settings else [_nothing(one)]
        yield from (_head(one), *(line for line in _figures(one) if line), *_doubts(one), _also(one))


STEPS = (
    "Add to the same command:", "",
    "    --apply      to write it; a backup is kept, and --undo restores it",
    "    --verify     to run the installed agent with it, offline: is it honoured?",
    "    --out FILE   for the same as a page, with pictures",
)  # fmt: skip


def _to_set(one: AgentAdvice) -> list[str]:
    dedented = {file: textwrap.dedent("\n".join(lines)).splitlines() for file, lines in one.lines.items()}
    may_stay = ["Changing nothing may be as good. Of what was tried, this is the best so far."]
    return _spaced([may_stay if any(not rival.settings for rival in one.open) else [],
                    *([f"Set in {file}:", "", *(f"    {line.rstrip()}" for line in lines)]
                      for file, lines in dedented.items())])  # fmt: skip


def _saves(one: AgentAdvice) -> str:
    added = one.take.usd_again if one.amount == "usd" else None
    would = "add" if (added or 0) > 0 else "save"
    again = f" Fetching all lost results again would {would} {usd(abs(added))} USD." if added else ""
    sizes = f"{size(one.take, one.amount)} instead of {plain_size(one.now, one.amount)}"
    whose = "The whole folder: about" if one.sampled else "These sessions:"
    return f"{whose} {sizes}, {_as_set(one)}{saves(one.share)}.{again}"


def _month(one: AgentAdvice) -> str:
    if one.prediction is None or one.prediction.days is None:
        return ""
    (now_low, now_high), (low, high) = one.prediction.days
    since = one.prediction.since
    of = f", forecast from the {one.prediction.seen:,} sessions since {day(since)}" if since is not None else ""
    instead = f"{usd(low)} to {usd(high)} USD instead of {usd(now_low)} to {usd(now_high)}"
    kind = "ranges from other projects" if one.prediction.by_priors else "90 % ranges"
    said = [f"Next 30 days{of}: {instead} ({kind})."]
    if (saves := one.prediction.saves) is not None:
        first, last = (percent(-end) for end in saves.ranges["90"][::-1])
        said.append(f"On the same draws of sessions: {percent(-saves.middle)} % ({first} to {last}).")
        if since is not None:
            said.append("The share below is of all sessions, so it may differ.")
    return " ".join(said)


def came_answer(found: Sequence[Came]) -> str:
    """Return a sentence on how often outcomes were within predictions, for the advised and for the earlier settings."""
    advised, as_set = sum(one.advised for one in found), sum(one.as_set for one in found)
    of = many(len(found), "prediction(s)")
    return f"{advised} of {of} held for the advised settings, {as_set} for the earlier ones; nine in ten should."


def came_lines(found: Sequence[Came]) -> list[str]:
    """Return how often predictions held, and the outcome of each."""
    lines = [came_answer(found)] * bool(found)
    for one in found:
        said, ahead = one.prediction, one.sessions
        lines += [
            "",
            f"{title_of(said.agent)}, advised on {day(said.made)}: {usd(one.usd)} USD in the first {ahead} sessions.",
            f"    Predicted with the advised settings: {_held(said.advised[ahead], one.advised)}.",
            f"    Predicted with the earlier settings: {_held(said.as_set[ahead], one.as_set)}.",
        ]  # fmt: skip
    return lines


def _held(span: tuple[float, float], held: bool) -> str:
    return f"{usd(span[0])} to {usd(span[1])} ({'held' if held else 'missed'})"


def _loses(one: AgentAdvice) -> str:
    return _keeps(one.take) + (f" {_now(one)}: {kept_percent(one.now.kept.value)} %." if one.now.kept else "")


def _now(one: AgentAdvice) -> str:
    return "With the defaults" if one.defaults else "As set now"


def _keeps(figures: Figures) -> str:
    refused = f" {figures.refused:,} of {figures.calls:,} calls are refused." if figures.refused else ""
    if figures.kept is None:
        return f"No later call used an old result, so what it loses is unknown.{refused}"
    low, high = figures.kept.low, figures.kept.high
    span = f" ({percent(low)} to {percent(high)})" if low is not None and high is not None else ""
    return f"This keeps {kept_percent(figures.kept.value)} %{span} of what later calls used.{refused}"


def _honoured(seen: Seen) -> str:
    if seen.verdict == "not yet seen":
        version = f" with {seen.version}, the newest version in these sessions" if seen.version else ""
        return f"{seen.key}: not yet tested{version}; --verify tests the installed agent."
    return f"{seen.key}: seen {seen.verdict} on {seen.seen_on}{f' ({seen.note})' if seen.note else ''}."


def _nothing(one: AgentAdvice) -> str:
    if not one.tried:
        return f"Change nothing: ctxsim can replay no setting of {one.title}, so it tried none."
    surely = "surely " if one.ahead or one.sampled else ""
    part = [each.sessions for each in one.tried if each.sessions < one.sessions]
    over = many(one.sessions, "session(s)")
    if len(part) == len(one.tried):
        over = f"{max(part):,} of {over}"
    elif part:
        over += f" ({len(part)} on {max(part):,} of them)"
    tried = f"None of {_settings(len(one.tried))} tried over {over}"
    kept = one.now.kept.value if one.now.kept else 1.0
    lost = kept < 1 - MAY_LOSE[one.goal]
    less = f"{_now(one)}, requests keep {kept_percent(kept)} % of what later calls used. " * lost
    return f"Change nothing. {tried} {surely}saves more than {_least(one.goal)} {less}See what you pay for: {BILL}"


def _least(goal: str) -> str:
    return f"{percent(HARDLY)} % without losing more than {percent(MAY_LOSE[goal])} % of what later calls used."


def _doubts(one: AgentAdvice) -> list[str]:
    found = []
    if some := priced(one.take, one.goal, one.amount):
        found.append(f"From {many(one.take.transcripts, 'transcript(s)')}{some}.")
    if one.sessions == 1:
        found.append("From one session; the answer may not hold for others.")
    elif one.wins is not None and one.ahead is not None and (one.tried or one.settings):
        rivals = "; or ".join(told(each.settings, False) for each in one.open if each.settings)
        often = f"{percent(one.wins)} % of resamples of these sessions"
        unsettled = f"Not settled: chosen in only {often}{f'; {rivals} may be as good' if rivals else ''}."
        stays = f"This stays the answer in {often}."
        found.append(f"{unsettled if one.wins < SETTLED else stays} {ranges_of(one.ahead)}")
    return [line for line in (*found, weak(one.off_recorded), *one.caveats) if line]


def _also(one: AgentAdvice) -> str:
    if one.tried and all(each.idle for each in one.tried):
        most = max(each.sessions for each in one.tried)
        these = "these sessions" if most == one.sessions else f"the {many(most, 'session(s)')} that they were tried on"
        return f"None of the {'other ' * bool(one.settings)}settings tried changes {these}."
    best = _spread(one.tried)
    if not best:
        return ""
    named = ", ".join(f"{told(each.settings, False)} ({_effect(each, one.sessions)})" for each in best)
    rest, idle = len(one.tried) - len(best), sum(each.idle for each in one.tried)
    of = f" tried, {idle} of which" * (idle < rest)
    more = f" {_settings(rest, ' more')}{of} changed nothing." if idle else f" {_settings(rest, ' more')} tried."
    return f"Also tried: {named}.{more if rest else ''}"


def _spread(tried: Sequence[Tried]) -> list[Tried]:
    """The best values of each setting, then those that save the most, without those that change nothing."""
    named = [one for one in tried if not one.idle]
    first: dict[tuple[str, ...], Tried] = {}
    for one in named:
        first.setdefault(tuple(each.key for each in one.settings), one)
    order = [*first.values(), *(one for one in named if one not in first.values())]
    return order[:TRIED_NAMED]


def _effect(one: Tried, sessions: int) -> str:
    amount = "?" if one.amount is None else f"{100 * (one.amount - 1):+.0f} %".replace("-0 %", "+0 %")
    kept = "" if one.kept is None else f", keeps {kept_percent(one.kept)} %"
    return amount + kept + (f", on {many(one.sessions, 'session(s)')}" if one.sessions < sessions else "")


def _settings(count: int, more: str = "") -> str:
    return agreed(f"{count}{more} setting(s)")
