"""The result of a search over one agent's settings: current settings and cost, what to set, and what else was tried."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from os import PathLike

import msgspec
import numpy as np

from ctxsim.answers.advice.advice import MAY_LOSE, SETTLED, may_be_taken
from ctxsim.answers.advice.baseline import AsSetAdvice, AsSetRun, advise, as_set_run
from ctxsim.answers.advice.figures import Figures, Share
from ctxsim.answers.advice.honoured import contradictions
from ctxsim.answers.advice.pooled import figures_of
from ctxsim.answers.advice.predicted import Prediction, predict
from ctxsim.answers.advice.rule import HARDLY
from ctxsim.answers.advice.setting_names import added, given_in, title_of, who
from ctxsim.policies.agents.given import Given, hindrances, setting_of
from ctxsim.policies.agents.lines import lines
from ctxsim.policies.agents.versions import dotted, order_of
from ctxsim.results import Run
from ctxsim.results.frames import Frame, frame_of
from ctxsim.results.run_info import Recorder

Settings = tuple[Given, ...]
"""Settings that are tried together."""

ALONE, BASES = 4, 3
"""Over all sessions: settings that are replayed alone, and values of the best setting that are combined with others."""

IDLE = 0.005
"""A smaller change, as a share of the amount, counts as none."""

DOUBT = 0.05
"""How much less a setting may keep over some sessions than it must over all."""


class Tried(msgspec.Struct, frozen=True):
    """Settings that were tried: `amount` as a share of the agent's as set, and the share kept of what later calls used,
    both over `sessions` sessions. `idle`: the settings change neither.
    """

    settings: tuple[Given, ...]
    amount: float | None
    kept: float | None
    sessions: int
    idle: bool = False


class Seen(msgspec.Struct, frozen=True):
    """What the installed agent did with a setting that is advised, according to `settings.toml`."""

    key: str
    verdict: str
    version: str
    seen_on: str
    note: str


class Framed(msgspec.Struct, frozen=True):
    """What a user of a framework should construct; `code` is empty if no change is worth it."""

    framework: str
    goal: str
    amount: str
    policy: str
    code: tuple[str, ...]
    now: Figures
    take: Figures
    share: Share | None
    tried: int
    sampled: bool = False

    def frame(self) -> Frame:
        """Return a row for what is used now and one for what to use: policy, amount, share kept, refused calls."""
        return frame_of(
            {"framework": self.framework, "advised": advised, "policy": one.policy,
             self.amount: one.size(self.amount), "kept": one.kept.value if one.kept else None, "refused": one.refused}
            for advised, one in ((False, self.now), (True, self.take))
        )  # fmt: skip


class AgentAdvice(msgspec.Struct, frozen=True):
    """What one agent's user should set; `settings` is empty if no change is worth it.

    `amount` is the amount compared: usd, tokens or peak. `share` is the answer's share of `now`, with interval. `lines`
    are the lines to paste, by file. `wins` is the share of resamples of the sessions that give this answer, `ahead` the
    number of next sessions that intervals are for; None for one session. `open` are other possible answers if none is
    settled. `contradicted` has a line for each way in which recorded compactions differ from what is set. `defaults`:
    no settings of the user were read, so that `now` is the agent with its defaults.
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
    wins: float | None
    ahead: int | None
    open: tuple[Tried, ...]
    settings: tuple[Given, ...]
    lines: dict[str, list[str]]
    seen: tuple[Seen, ...]
    tried: tuple[Tried, ...]
    contradicted: tuple[str, ...]
    off_recorded: float | None
    caveats: tuple[str, ...]
    prediction: Prediction | None = None
    defaults: bool = False
    sampled: bool = False


def finalists(run: Run, agent: str, goal: str) -> list[Settings]:
    """Return the settings to replay over all sessions, from a run of single settings over some of them: the best ALONE,
    and the best BASES of the best key, each with the best value of every other key. Sound ones by the rule come first,
    then others that don't lose much; of each the one that saves most. What keeps most comes last, if it keeps more than
    the settings do that are set: losses are counted from there.
    """
    own = as_set_run(run, agent)
    if own is None:
        return []
    figures = figures_of(own)
    amount = figures.amount(goal)
    labels = {own_settings[0]: label for label in own.labels if (own_settings := added(label, own.baseline))}
    saved = {one: share for one, label in labels.items() if (share := 1 - figures.seen(label, amount)) > 0}
    if not saved:
        return []
    best = {one.key: one for one in sorted(saved, key=lambda one: saved[one])}
    bearable = max(figures.seen(label, "kept") for label in own.labels) - MAY_LOSE[goal] - DOUBT
    fewest = min(map(figures.refusals, own.labels))
    sound = may_be_taken(figures, goal)
    ranked = [
        one for one in sorted(saved, key=lambda one: (labels[one] not in sound, -saved[one]))
        if figures.seen(labels[one], "kept") >= bearable and figures.refusals(labels[one]) <= fewest
    ]  # fmt: skip
    main = max(best.values(), key=lambda one: saved[one]).key
    others = [one for key, one in best.items() if key != main]
    bases = [one for one in ranked if one.key == main][:BASES]
    keeps = max(labels, key=lambda one: figures.seen(labels[one], "kept"))
    more = figures.seen(labels[keeps], "kept") > figures.seen(own.baseline, "kept")
    reference = [(keeps,)] if more else []
    return [*((one,) for one in ranked[:ALONE]), *((base, other) for base in bases for other in others), *reference]


def _models(own: AsSetRun) -> tuple[str, ...]:
    """The models of an agent's transcripts, the one with the most tokens first."""
    tokens = dict(own.of(own.labels[0]).groupby("model").tokens_sum.sum())
    models = dict.fromkeys(one.model for one in own.recorders if one.model)
    return tuple(sorted(models, key=lambda model: -tokens.get(model, 0)))


def of_agent(
    last: Run, agent: str, goal: str, before: Sequence[Run] = (), set_at: float = 0.0,
    project: str | PathLike[str] | None = None, defaults: bool = False,
) -> AgentAdvice:  # fmt: skip
    """Return what to set, from the last run of a search; `before` are earlier runs, which add to the settings tried.

    `set_at` is when the settings as set were last changed, in seconds, UTC: only transcripts that began later can
    contradict them. `project` is the folder whose files the lines are for, if not the user's.
    """
    found, own = advise(last, goal, agent), as_set_run(last, agent)
    assert own is not None  # the search runs it
    assert isinstance(found, AsSetAdvice)
    take = _with_fewer(own, found)
    settings = added(take.policy, own.baseline)
    share = take.share(found.amount)
    wins = _wins(own, found, take)
    rivals = [_as_tried(own, figures.policy, found.amount) for figures in (found.take, *found.open)]
    each = (one for run in (*before, last) for one in _tried(run, agent, found.amount))
    tried = {frozenset(one.settings): one for one in each if set(one.settings) != set(settings)}
    return AgentAdvice(
        agent=agent, title=who(own.recorders) or title_of(agent), models=_models(own),
        sessions=take.sessions, transcripts=take.transcripts, goal=goal, amount=found.amount,
        now=found.nothing or take, take=take, share=share if settings else None,
        wins=wins, ahead=found.ahead,
        open=tuple(one for one in rivals if one.settings != settings) if wins is None or wins < SETTLED else (),
        settings=settings, lines=lines(settings, project), seen=tuple(_seen(one, own.recorders) for one in settings),
        # Settings that were tried over all sessions come first.
        tried=tuple(sorted(tried.values(), key=lambda one: (-one.sessions, one.amount or 1.0))),
        contradicted=tuple(contradictions(_since(own, set_at))),
        off_recorded=found.off_recorded,
        caveats=(*found.caveats, *hindrances(given_in(own.baseline), chain.from_iterable(tried))),
        prediction=predict(own, take.policy if settings else own.baseline, agent,
                           {one.key: one.value for one in settings}),
        defaults=defaults, sampled=found.sampled,
    )  # fmt: skip


def _since(own: AsSetRun, set_at: float) -> list[Recorder]:
    rows = own.of(own.baseline)
    later = set(rows.transcript[rows.started.fillna(0) >= set_at])
    return [one for one in own.recorders if one.transcript in later]


def _with_fewer(own: AsSetRun, found: AsSetAdvice) -> Figures:
    """The rule's choice, or a sound policy with fewer of its settings if the others hardly save and hardly keep."""
    figures, wanted = figures_of(own), set(added(found.take.policy, own.baseline))

    def reached(label: str) -> tuple[float, float]:
        return figures.value(label, found.amount) or 0.0, figures.value(label, "kept") or 0.0

    amount, kept = reached(found.take.policy)
    fewer = []
    for label in may_be_taken(figures, found.goal):
        settings, (theirs, held) = set(added(label, own.baseline)), reached(label)
        if set() < settings < wanted and theirs <= amount + HARDLY and held >= kept - 0.01:
            fewer.append((len(settings), theirs, label))
    return figures.all[min(fewer)[2]] if fewer else found.take


def _wins(own: AsSetRun, found: AsSetAdvice, take: Figures) -> float | None:
    """The share of resamples in which this is the answer: those in which the rule takes it, and the least possible
    share of those in which it takes more settings that hardly save and hardly keep.
    """
    whole, figures = found.take.policy, figures_of(own)
    wins = found.wins.get(take.policy, 0.0)
    if not found.wins or take.policy == whole:
        return wins if found.wins else None
    amount, kept = (figures.ways(take.policy, of) - figures.ways(whole, of) for of in (found.amount, "kept"))
    near = float(np.mean((np.nan_to_num(amount) <= HARDLY) & (np.nan_to_num(kept) >= -0.01)))
    return wins + max(0.0, found.wins.get(whole, 0.0) + near - 1)


def _tried(run: Run, agent: str, amount: str) -> list[Tried]:
    own = as_set_run(run, agent)
    rows = (_as_tried(own, label, amount) for label in own.labels[1:]) if own else ()
    return [one for one in rows if one.settings and all(given.agent == agent for given in one.settings)]


def _as_tried(own: AsSetRun, label: str, amount: str) -> Tried:
    found = figures_of(own)
    share, held = found.value(label, amount), found.value(label, "kept")
    idle = share is not None and abs(share - 1) < IDLE and held == found.value(own.baseline, "kept")
    return Tried(added(label, own.baseline), share, held, found.sessions, idle)


def _seen(one: Given, recorders: Sequence[Recorder]) -> Seen:
    """What the newest recorded version of the agent did with a setting."""
    dated = (each for each in recorders if dotted(each.version))
    newest = max(dated, key=lambda each: order_of(each.version), default=None)
    setting = setting_of(one.agent, one.key)
    version, model = (newest.version, newest.model) if newest else ("", "")
    if setting is None:
        return Seen(one.key, "not yet seen", version, "", "")
    verdict = setting.verdict(version, model)
    return Seen(one.key, verdict.verdict, version, verdict.seen_on, verdict.note)
