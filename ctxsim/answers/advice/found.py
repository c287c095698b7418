"""What a search over one agent's settings found: what is set and costs now, what to set, and what else was tried."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ctxsim.answers.advice import advice as rule
from ctxsim.answers.advice.advice import MAY_LOSE
from ctxsim.answers.advice.baseline import AsSetAdvice, AsSetRun, advise, baseline_of
from ctxsim.answers.advice.honoured import contradictions
from ctxsim.answers.advice.in_words import changed, given_in, title_of, who
from ctxsim.answers.advice.pooled import NOTHING, Figures, Share, figures_of
from ctxsim.policies.agents.given import Given, setting_of
from ctxsim.policies.agents.lines import lines
from ctxsim.policies.agents.search import around
from ctxsim.policies.agents.versions import is_version, numbers_of
from ctxsim.results import Run
from ctxsim.results.info import Recorder


class Tried(msgspec.Struct, frozen=True):
    """Settings that were tried: `amount` beside the agent as it is set, and the share kept of what later calls used."""

    settings: tuple[Given, ...]
    amount: float | None
    kept: float | None


class Seen(msgspec.Struct, frozen=True):
    """What the installed agent did with a setting that is advised, by `settings.toml`."""

    key: str
    verdict: str
    version: str
    seen_on: str
    note: str


class Framed(msgspec.Struct, frozen=True):
    """What those who build with a framework should construct; `code` is empty where nothing is worth it."""

    framework: str
    amount: str
    policy: str
    code: tuple[str, ...]
    now: Figures
    take: Figures
    share: Share | None
    tried: int


class AgentAdvice(msgspec.Struct, frozen=True):
    """What one agent's user should set; `settings` is empty where nothing is worth it.

    `amount` says what was compared: usd, tokens or peak. `share` is its share of `now`, with interval. `lines` are what
    to paste, by file. `contradicted`: where recorded compactions don't come as set, a line each.
    """

    agent: str
    title: str
    models: tuple[str, ...]
    sessions: int
    transcripts: int
    goal: str
    amount: str
    now: Figures
    take: Figures
    share: Share | None
    sure: bool | None
    agreement: float | None
    settings: tuple[Given, ...]
    lines: dict[str, list[str]]
    seen: tuple[Seen, ...]
    tried: tuple[Tried, ...]
    contradicted: tuple[str, ...]
    off_recorded: float | None
    caveats: tuple[str, ...]


def best_of_each(run: Run, agent: str, goal: str) -> dict[str, Given]:
    """Return by key the value that the rule takes where only this setting is changed; no key whose best is none."""
    own = _own(run, agent)
    found = figures_of(own)
    amount = rule.AMOUNT[goal] if rule.AMOUNT[goal] != "usd" or found.by_dollars else "tokens"
    by_key: dict[str, dict[str, Given]] = {}
    for label in own.labels[1:]:
        given = _added(label, own.baseline)
        if len(given) == 1 and given[0].agent == agent:
            by_key.setdefault(given[0].key, {})[label] = given[0]
    taken = {key: rule.choose(found, [NOTHING, *its], amount, MAY_LOSE[goal]) for key, its in by_key.items()}
    return {key: by_key[key][label] for key, label in taken.items() if label != NOTHING}


def next_to_try(best: dict[str, Given], tried: Sequence[Given]) -> list[list[Given]]:
    """Return the settings to try after the first values: the best of each alone and together, and what lies around."""
    values = {key: [one.value for one in tried if one.key == key] for key in best}
    alone = [[one] for one in best.values()]
    nearer = {key: around(one, values[key]) for key, one in best.items()}
    alone += [[one] for ones in nearer.values() for one in ones]
    if len(best) < 2:
        return alone
    together = [list(best.values())]
    for key, ones in nearer.items():
        together += [[near if other == key else one for other, one in best.items()] for near in ones]
    return alone + together


def of_agent(last: Run, agent: str, goal: str, before: Sequence[Run] = ()) -> AgentAdvice:
    """Return what to set by the last run of a search; `before` are the runs that led there, for what was tried."""
    found = advise(last, goal, agent)
    assert isinstance(found, AsSetAdvice)
    own = _own(last, agent)
    settings = changed(found)
    share = found.take.share(found.amount)
    tried: dict[tuple[Given, ...], Tried] = {}
    for run in (*before, last):
        for one in _tried(run, agent, found.amount):
            tried[one.settings] = one
    tried.pop(settings, None)
    return AgentAdvice(
        agent=agent,
        title=who(own.recorders) or title_of(agent),
        models=tuple(dict.fromkeys(one.model for one in own.recorders if one.model)),
        sessions=found.take.sessions,
        transcripts=found.take.transcripts,
        goal=goal,
        amount=found.amount,
        now=found.nothing or found.take,
        take=found.take,
        share=share if settings else None,
        sure=found.saving_sure,
        agreement=found.agreement,
        settings=settings,
        lines=lines(settings),
        seen=tuple(_seen(one, own.recorders) for one in settings),
        tried=tuple(sorted(tried.values(), key=lambda one: one.amount or 1.0)),
        contradicted=tuple(contradictions(own.recorders)),
        off_recorded=found.off_recorded,
        caveats=found.caveats,
    )


def _own(run: Run, agent: str) -> AsSetRun:
    baseline = baseline_of(run)
    assert baseline is not None  # the search runs it
    return AsSetRun(run, baseline, agent)


def _added(label: str, baseline: str) -> tuple[Given, ...]:
    base = set(given_in(baseline))
    return tuple(one for one in given_in(label) if one not in base)


def _tried(run: Run, agent: str, amount: str) -> list[Tried]:
    own = _own(run, agent)
    found = figures_of(own)
    rows = [(_added(label, own.baseline), label) for label in own.labels[1:]]
    return [
        Tried(given, found.value(label, amount), found.value(label, "kept"))
        for given, label in rows
        if given and all(one.agent == agent for one in given)
    ]


def _seen(one: Given, recorders: Sequence[Recorder]) -> Seen:
    """What the newest version that recorded did with a setting."""
    newest = max((each for each in recorders if is_version(each.version)), key=lambda each: numbers_of(each.version),
                 default=None)  # fmt: skip
    setting = setting_of(one.agent, one.key)
    version, model = (newest.version, newest.model) if newest else ("", "")
    if setting is None:
        return Seen(one.key, "not yet seen", version, "", "")
    verdict = setting.verdict(version, model)
    return Seen(one.key, verdict.verdict, version, verdict.seen_on, verdict.note)
