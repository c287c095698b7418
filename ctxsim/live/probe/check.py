"""`check setting`: an installed agent is run with a setting, and what it does is held against its policy's formula."""

import math
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import msgspec

from ctxsim.errors import CtxsimError
from ctxsim.live.agent import Agent
from ctxsim.live.configs.edit import Value
from ctxsim.live.probe.drive import probe, setting_of
from ctxsim.live.probe.expected import Situation, cut_to, expected, taken
from ctxsim.live.probe.growing import text_of
from ctxsim.live.probe.plan import BEFORE, FINE, PAST, Probed
from ctxsim.live.probe.verdict import Asked, Awaited, Firing, Found, Seen, holds, verdict
from ctxsim.policies.agents.settings import Setting
from ctxsim.policies.agents.settings_file import settings_of

BEYOND = 1.05
"""Requests grow to so many times the window before an agent counts as one that doesn't compact."""

OWN = 0.005
"""How far the count of an agent that counts by itself is from ours, as a share: brackets are wider by it."""

SIZES = (20_000, 50_000, 100_000, 160_000)
"""Characters of the result by which cuts are looked for: the first of these that a setting should cut otherwise."""

COARSE = 40
"""Steps in which the place is looked for where an agent compacts that does so where nobody expects it."""

CUTS = ("chars", "lines", "bytes", "tokens of 4 bytes")
"""Units of settings that cut results."""


class SettingCheck(msgspec.Struct, frozen=True):
    """What an installed agent did with a setting. Tokens are those that the endpoint reported.

    `lower` and `upper` are tokens at which it didn't compact yet and at which it did; `expected` is the threshold of
    its policy. In a check of a cut they are characters. `first` are the tokens of the first request, where a limit
    hangs on it, and `after` those of the first one after the compaction. `inside`: the formula of the policy gives what
    was seen. `beside` was set too; `needs` are keys that must be and weren't.
    """

    agent: str
    version: str
    model: str
    key: str
    value: Value
    beside: dict[str, Value]
    verdict: Found
    firing: Firing
    lower: int | None
    upper: int | None
    expected: float | None
    expected_firing: Firing
    inside: bool
    unit: str
    window: int
    first: int
    after: int | None
    calls: int
    seconds: float
    offline: bool
    needs: tuple[str, ...] = ()
    cap: str = ""
    formula: str = ""


class _Trial(NamedTuple):
    """A setting with its value, the others beside it, and the agent that is run with them."""

    here: Situation
    programs: str
    one: Setting
    value: Value
    beside: dict[str, Value]

    @property
    def given(self) -> dict[str, Value]:
        return {self.one.key: self.value, **self.beside}

    def run(self, waypoints: tuple[int, ...], **more: Any) -> Probed:
        agent, model, window, _ = self.here
        estimator = "tokenizer" if agent.probe.counts == "own" else ""
        return probe(agent, self.programs, self.given, model, window, waypoints, estimator=estimator, **more)


def check_setting(
    agent: Agent, programs: str, given: Mapping[str, Value], model: str = "", window: int = 0
) -> SettingCheck:
    """Return what an agent does with the first of some settings, with the others beside it.

    Without a `model` it is the one that drive.toml names, and without a `window` the model's. Raises CtxsimError for a
    setting that is unknown, and where the agent can't be run.
    """
    (key, value), *others = given.items()
    model = model or agent.probe.model
    here = Situation(agent, model, window or _window(agent, model))
    trial = _Trial(here, programs, setting_of(settings_of(agent.name), key), value, dict(others))
    for size in SIZES:
        with_it, without = _left(trial, trial.given, size), _left(trial, trial.beside, size)
        if with_it != without or (trial.one.unit in CUTS and size == SIZES[-1]):
            done = trial.run((), single=size)
            chars = max((sent.largest for sent in done.sent), default=0)
            return _judged(trial, Seen("proactive", None, chars), with_it, without, [done])
    return _threshold(trial)


def _left(trial: _Trial, given: Mapping[str, Value], size: int) -> Awaited:
    """What the policy leaves of a large result."""
    tool = trial.here.agent.probe.cuts_by or next(iter(trial.here.agent.tools), "bash")
    return Awaited("proactive", None, cut_to(trial.here, given, text_of(size // 4, 1), tool))


def _window(agent: Agent, model: str) -> int:
    """The window of a model, as the agent believes."""
    if agent.probe.window:
        return agent.probe.window
    for pattern, window in agent.probe.windows.items():
        if fnmatchcase(model.lower(), pattern.replace("[", "[[]")):
            return window
    raise CtxsimError(f"{agent.name}: no window is known for {model}; give --window TOKENS")


def _threshold(trial: _Trial) -> SettingCheck:
    """Look for the tokens at which the agent compacts."""
    given, here = trial.given, trial.here
    # A limit that stands beside the first request is known once that was sent.
    late = expected(here._replace(first=1), given) != expected(here._replace(first=2), given)
    if late:
        trial = trial._replace(here=here._replace(first=trial.run((0,)).most))
    with_it, without = expected(trial.here, given), expected(trial.here, trial.beside)
    raw = expected(trial.here, given, bounds=False)
    ways = {math.ceil(one.threshold) for one in (with_it, without, raw) if one.threshold is not None}
    runs: list[Probed] = []

    def run(end: int, **more: int) -> Probed:
        end = end if "refuses" in more else max(end, *(way + PAST + 1 for way in ways), 0)
        runs.append(trial.run((*sorted(way for way in ways if way < end - PAST), end), late=late, **more))
        return runs[-1]

    try:
        seen = _seen(trial, run)
    except CtxsimError:
        if taken(trial.one, trial.value).how != "refused":
            raise
        seen = Seen("not run")
    return _judged(trial, seen, with_it, without, runs)


def _seen(trial: _Trial, run: Callable[..., Probed]) -> Seen:
    """What an agent does: a run in which nothing is refused, and where it doesn't compact then one with refusals."""
    probing = trial.here.agent.probe
    window = int(trial.given.get(probing.window_key, trial.here.window))
    done = run(math.ceil(window * BEYOND))
    bracket = done.bracket(probing.decides, probing.turns)
    if bracket is None:
        return Seen("only after a refusal" if run(window, refuses=window).fired is not None else "never")
    if done.leapt and probing.counts == "usage":
        # Nobody expected it there: first in coarse steps, then in fine ones where it was.
        width = max(FINE, bracket[1] // COARSE)
        coarse = trial.run((0,), fine=width, past=bracket[1] + width).bracket(probing.decides, probing.turns)
        if coarse is not None:
            fine = trial.run((coarse[0] + BEFORE,), past=2 * width)
            bracket = fine.bracket(probing.decides, probing.turns) or coarse
    if probing.counts == "own":
        bracket = math.floor(bracket[0] * (1 - OWN)), math.ceil(bracket[1] * (1 + OWN))
    return Seen("proactive", bracket)


def _judged(trial: _Trial, seen: Seen, with_it: Awaited, without: Awaited, runs: list[Probed]) -> SettingCheck:
    here, one, value, cut = trial.here, trial.one, trial.value, seen.chars is not None
    lower, upper = (seen.chars, seen.chars) if cut else seen.bracket or (None, None)
    missing = tuple(key for key in one.needs if key not in trial.given)
    rule = one.rule(here.agent.version, here.model)
    moves = with_it != without
    if not (cut or one.type == "bool" or isinstance(value, bool | str)):
        moves = _moves(trial, value)
    default = value in one.words or (rule is not None and rule.value == value)
    found = verdict(seen, Asked(with_it, without, moves, taken(one, value).how, default, bool(one.cap), missing))
    return SettingCheck(
        agent=here.agent.name, version=here.agent.version, model=here.model, key=one.key, value=value,
        beside=trial.beside, verdict=found, firing=seen.firing, lower=lower, upper=upper,
        expected=with_it.chars if cut else with_it.threshold, expected_firing=with_it.firing,
        inside=holds(seen, with_it), unit="characters" if cut else "tokens", window=here.window, first=here.first,
        after=runs[0].after if runs else None, calls=sum(len(one.sent) for one in runs),
        seconds=sum(one.seconds for one in runs), offline=all(one.enclosed for one in runs), needs=missing,
        cap=one.cap, formula=here.agent.probe.formula,
    )  # fmt: skip


def _moves(trial: _Trial, value: float) -> bool:
    """Whether another value nearby compacts elsewhere."""
    now = expected(trial.here, trial.given)
    nearby = (value * 0.98, value * 1.02) if isinstance(value, float) else (value * 98 // 100, value * 102 // 100 + 1)
    allowed = (other for other in nearby if not trial.one.problem(other))
    return any(expected(trial.here, {**trial.given, trial.one.key: other}) != now for other in allowed)
