"""`check setting`: runs an installed agent with a setting, and compares what it does with its policy's formula.

Of several versions, bisection finds the one since which an agent acts differently.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import msgspec

from ctxsim.errors import CtxsimError
from ctxsim.live.agent import Agent
from ctxsim.live.configs.edit import Value
from ctxsim.live.probe.drive import probe
from ctxsim.live.probe.expected import Situation, cut_to, departure, expected
from ctxsim.live.probe.growing import text_of
from ctxsim.live.probe.plan import BEFORE, FINE, PAST, Probed
from ctxsim.live.probe.verdict import Awaited, Firing, Found, Seen, holds, verdict
from ctxsim.policies.agents.given import known_setting
from ctxsim.policies.agents.settings import Setting
from ctxsim.results.frames import Frame, frame_of

BEYOND = 1.05
"""The multiple of the window that requests grow to before an agent counts as one that doesn't compact."""

OWN = 0.005
"""The share by which an agent's own count of tokens may differ from ours. Its brackets are widened by it."""

SIZES = (20_000, 50_000, 100_000, 160_000)
"""Sizes, in characters, of a result to be cut. The first one that the setting should cut differently is used."""

COARSE = 40
"""The number of coarse steps in the search for the threshold of an agent that compacts far from the expected one."""

CUTS = ("chars", "lines", "bytes", "tokens of 4 bytes")
"""Units of settings that cut results."""


class SettingCheck(msgspec.Struct, frozen=True):
    """What an installed agent did with a setting. Tokens are those that the endpoint reported.

    `lower` and `upper` are the tokens at which it didn't compact yet and at which it did; `expected` is its policy's
    threshold. In a check of a cut they are characters. `first` is the size of the first request, if a limit depends on
    it. `inside`: what was seen agrees with the policy's formula. `beside` are the other settings; `needs` are keys that
    must be set too and weren't.
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
    calls: int
    seconds: float
    offline: bool
    needs: tuple[str, ...] = ()
    cap: str = ""
    formula: str = ""

    def frame(self) -> Frame:
        """Return one row."""
        return frame_of([self], SettingCheck)


class _Trial(NamedTuple):
    """A setting and its value, the other settings, and the agent that is run with them."""

    here: Situation
    programs: str
    one: Setting
    value: Value
    beside: dict[str, Value]

    @property
    def given(self) -> dict[str, Value]:
        return {self.one.key: self.value, **self.beside}

    def run(self, waypoints: tuple[int, ...], **more: Any) -> Probed:
        return probe(self.here, self.programs, self.given, waypoints, **more)


def check_setting(
    agent: Agent, programs: str, given: Mapping[str, Value], model: str = "", window: int = 0
) -> SettingCheck:
    """Return what an agent does with the first of the `given` settings while the others are set too.

    By default `model` is the one that drive.toml names, and `window` is the model's. Raises CtxsimError for an unknown
    setting, for a model that the agent isn't run with, and if the agent can't be run.
    """
    (key, value), *others = given.items()
    if model not in ("", agent.probe.model) and not agent.takes_model:
        raise CtxsimError(f"{agent.name} is run with the model '{agent.probe.model}' only; leave out --model {model}")
    model = model or agent.probe.model
    here = Situation(agent, model, window or _window(agent, model))
    trial = _Trial(here, programs, known_setting(agent.name, key), value, dict(others))
    for size in SIZES:
        with_it, without = _left(trial, trial.given, size), _left(trial, trial.beside, size)
        if with_it != without or (trial.one.unit in CUTS and size == SIZES[-1]):
            done = trial.run((), single=size)
            chars = max((sent.largest for sent in done.sent), default=0)
            return _judged(trial, Seen("proactive", None, chars), with_it, without, [done])
    return _threshold(trial)


def _left(trial: _Trial, given: Mapping[str, Value], size: int) -> Awaited:
    """Return what the policy leaves of a result of `size` characters."""
    tool = trial.here.agent.probe.cuts_by or next(iter(trial.here.agent.tools), "bash")
    return Awaited("proactive", None, cut_to(trial.here, given, text_of(size // 4, 1), tool))


def _window(agent: Agent, model: str) -> int:
    """Return the window that the agent assumes for a model. Raises CtxsimError if none is known."""
    if agent.probe.window:
        return agent.probe.window
    for pattern, window in agent.probe.windows.items():
        if fnmatchcase(model.lower(), pattern.replace("[", "[[]")):
            return window
    raise CtxsimError(f"{agent.name}: no window is known for {model}; give --window TOKENS")


def _threshold(trial: _Trial) -> SettingCheck:
    given, here = trial.given, trial.here
    # A limit that depends on the first request is known only after that was sent.
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
        if departure(trial.one, trial.value) != "refused":
            raise
        seen = Seen("not run")
    return _judged(trial, seen, with_it, without, runs)


def _seen(trial: _Trial, run: Callable[..., Probed]) -> Seen:
    """Return what an agent does in a run without refusals or, if it doesn't compact there, in one with refusals."""
    probing = trial.here.agent.probe
    window = int(trial.given.get(probing.window_key, trial.here.window))
    done = run(math.ceil(window * BEYOND))
    bracket = done.bracket(probing.decides, probing.turns)
    if bracket is None:
        return Seen("only after a refusal" if run(window, refuses=window).fired is not None else "never")
    if done.leapt and probing.counts == "usage":
        # It compacted far from all waypoints. Search in coarse steps, then in fine ones around the place found.
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
    found = verdict(seen, with_it, without, moves or default, departure(one, value), bool(one.cap), missing)
    return SettingCheck(
        agent=here.agent.name, version=here.agent.version, model=here.model, key=one.key, value=value,
        beside=trial.beside, verdict=found, firing=seen.firing, lower=lower, upper=upper,
        expected=with_it.chars if cut else with_it.threshold, expected_firing=with_it.firing,
        inside=holds(seen, with_it), unit="characters" if cut else "tokens", window=here.window, first=here.first,
        calls=sum(len(one.sent) for one in runs), seconds=sum(one.seconds for one in runs),
        offline=all(one.enclosed for one in runs), needs=missing, cap=one.cap, formula=here.agent.probe.formula,
    )  # fmt: skip


def _moves(trial: _Trial, value: float) -> bool:
    """Return whether a value 2 % lower or higher is expected to compact elsewhere."""
    now = expected(trial.here, trial.given)
    nearby = (value * 0.98, value * 1.02) if isinstance(value, float) else (value * 98 // 100, value * 102 // 100 + 1)
    allowed = (other for other in nearby if not trial.one.problem(other))
    return any(expected(trial.here, {**trial.given, trial.one.key: other}) != now for other in allowed)


def bisected(versions: Sequence[str], check: Callable[[str], SettingCheck]) -> Iterator[SettingCheck]:
    """Yield, by version, the checks of the first and the last one and of those run to find where they differ.

    If the first and the last act alike, none between them is run. Of several changes one is found.
    """
    low, high = 0, len(versions) - 1
    found = {low: check(versions[low]), high: check(versions[high])}
    while high - low > 1 and not alike(found[low], found[high]):
        middle = (low + high) // 2
        found[middle] = check(versions[middle])
        low, high = (middle, high) if alike(found[low], found[middle]) else (low, middle)
    for place in sorted(found):
        yield found[place]


def alike(one: SettingCheck, other: SettingCheck) -> bool:
    """Return whether two versions did the same: they fire in the same way, and their brackets overlap."""
    if one.firing != other.firing or one.unit != other.unit:
        return False
    if one.lower is None or one.upper is None or other.lower is None or other.upper is None:
        return one.lower == other.lower
    if one.unit == "characters":
        return abs(one.lower - other.lower) <= 600
    return one.lower < other.upper and other.lower < one.upper
