"""`check setting`: an installed agent is run with a setting, and what it does is held against its policy's formula."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fnmatch import fnmatchcase

import msgspec

from ctxsim.configs.edit import Value
from ctxsim.errors import CtxsimError
from ctxsim.live.agent import Agent
from ctxsim.live.probe.drive import probe, setting_of
from ctxsim.live.probe.expected import Expectation, Situation, cut_to, expected, taken
from ctxsim.live.probe.growing import text_of
from ctxsim.live.probe.plan import PAST, Probed
from ctxsim.live.probe.verdict import Asked, Awaited, Firing, Found, Seen, holds, verdict
from ctxsim.policies.agents.settings import Setting, settings_of

BEYOND = 1.05
"""Requests grow to so many times the window before an agent counts as one that doesn't compact."""

OWN = 0.005
"""How far the count of an agent that counts by itself is from ours, as a share: brackets are wider by it."""

SIZES = (20_000, 50_000, 100_000, 160_000)
"""Characters of the result by which cuts are looked for: the first of these that a setting should cut otherwise."""


class SettingCheck(msgspec.Struct, frozen=True):
    """What an installed agent did with a setting. Tokens are those that the endpoint reported, or the agent's own count.

    `lower` and `upper` are tokens at which it didn't compact yet and at which it did; `expected` is the policy's
    threshold. In a check of a cut they are characters. `after` are the tokens of the first request after the
    compaction. `inside`: the formula of the policy gives what was seen.
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


def check_setting(
    agent: Agent, programs: str, given: Mapping[str, Value], model: str = "", window: int = 0
) -> SettingCheck:
    """Return what an agent does with the first of some settings, with the others beside it.

    Without a `model` it is the one that drive.toml names, and without a `window` the model's. Raises CtxsimError for a
    setting that is unknown, or that no policy says anything of, and where the agent can't be run.
    """
    key, value = next(iter(given.items()))
    one = setting_of(settings_of(agent.name), key)
    model = model or agent.probe.model
    here = Situation(agent, model, window or _window(agent, model))
    beside = {name: other for name, other in given.items() if name != key}
    tool = next(iter(agent.tools), "bash")
    for size in SIZES:
        sample = text_of(size // 4, 1)
        left = cut_to(here, given, sample, tool), cut_to(here, beside, sample, tool)
        if left[0] != left[1] or (one.unit in CUTS and size == SIZES[-1]):
            return _cut(here, programs, one, value, given, beside, size, left)
    return _threshold(here, programs, one, value, given, beside)


CUTS = ("chars", "lines", "bytes", "tokens of 4 bytes")
"""Units of settings that cut results."""


def _window(agent: Agent, model: str) -> int:
    """The window of a model, as the agent believes."""
    if agent.probe.window:
        return agent.probe.window
    for pattern, window in agent.probe.windows.items():
        if fnmatchcase(model.lower(), pattern.replace("[", "[[]")):
            return window
    raise CtxsimError(f"{agent.name}: no window is known for {model}; give --window TOKENS")


def _threshold(
    here: Situation, programs: str, one: Setting, value: Value, given: Mapping[str, Value], beside: Mapping[str, Value]
) -> SettingCheck:
    probing = here.agent.probe
    # A limit that stands beside the first request is known once that was sent.
    late = expected(here._replace(first=1), given) != expected(here._replace(first=2), given)
    if late:
        here = here._replace(first=probe(here.agent, programs, given, here.model, here.window, (0,)).most)
    with_it, without, raw = expected(here, given), expected(here, beside), expected(here, given, bounds=False)
    window = int(value) if one.key == probing.window_key and isinstance(value, int) else here.window
    ways = {math.ceil(one.threshold) for one in (with_it, without, raw) if one.threshold is not None}
    last = math.ceil(window * BEYOND)
    runs: list[Probed] = []

    def run(refuses: int = 0) -> Probed:
        waypoints = (*sorted(way for way in ways if way < last - PAST), last)
        estimator = "tokenizer" if probing.counts == "own" else ""
        done = probe(here.agent, programs, given, here.model, here.window, waypoints, refuses, estimator=estimator, late=late)
        runs.append(done)
        return done

    try:
        seen = _seen(here, run)
    except CtxsimError:
        if taken(one, value).how != "refused":
            raise
        seen = Seen("not run")
    return _checked(here, one, value, given, beside, seen, _awaited(with_it), _awaited(without), runs)


def _seen(here: Situation, run) -> Seen:  # type: ignore[no-untyped-def]
    """What an agent does: a run in which nothing is refused, and where it doesn't compact then one with refusals."""
    probing = here.agent.probe
    bracket = run().bracket(probing.decides, probing.turns)
    if bracket is not None:
        if probing.counts == "own":
            bracket = math.floor(bracket[0] * (1 - OWN)), math.ceil(bracket[1] * (1 + OWN))
        return Seen("proactive", bracket)
    return Seen("only after a refusal" if run(here.window).fired is not None else "never")


def _awaited(one: Expectation) -> Awaited:
    return Awaited(one.firing, one.threshold)


def _cut(
    here: Situation, programs: str, one: Setting, value: Value, given: Mapping[str, Value],
    beside: Mapping[str, Value], size: int, left: tuple[int | None, int | None],
) -> SettingCheck:  # fmt: skip
    done = probe(here.agent, programs, given, here.model, here.window, (), single=size)
    seen = Seen("proactive", None, max((sent.largest for sent in done.sent), default=0))
    with_it, without = (Awaited("proactive", None, chars) for chars in left)
    return _checked(here, one, value, given, beside, seen, with_it, without, [done])


def _checked(
    here: Situation, one: Setting, value: Value, given: Mapping[str, Value], beside: Mapping[str, Value],
    seen: Seen, with_it: Awaited, without: Awaited, runs: list[Probed],
) -> SettingCheck:  # fmt: skip
    lower, upper = (seen.chars, seen.chars) if seen.chars is not None else seen.bracket or (None, None)
    wanted = with_it.chars if seen.chars is not None else with_it.threshold
    missing = tuple(key for key in one.needs if key not in given)
    rule = one.rule(here.agent.version, here.model)
    asked = Asked(
        with_it, without,
        with_it != without if seen.chars is not None or isinstance(value, bool | str) else _moves(here, one, value, given),
        taken(one, value).how,
        rule is not None and rule.value == value, missing,
    )  # fmt: skip
    found = verdict(seen, asked)
    inside = holds(seen, with_it)
    return SettingCheck(
        here.agent.name, here.agent.version, here.model, one.key, value, dict(beside), found, seen.firing, lower, upper,
        wanted, with_it.firing, inside, "characters" if seen.chars is not None else "tokens", here.window,
        here.first, runs[0].after if runs else None, sum(len(one.sent) for one in runs), sum(one.seconds for one in runs),
        all(one.enclosed for one in runs), missing, one.cap, here.agent.probe.formula,
    )  # fmt: skip


def _moves(here: Situation, one: Setting, value: float, given: Mapping[str, Value]) -> bool:
    """Whether another value nearby compacts elsewhere."""
    now = expected(here, given)
    nearby = (value * 0.98, value * 1.02) if isinstance(value, float) else (value * 98 // 100, value * 102 // 100 + 1)
    allowed = (other for other in nearby if not one.problem(other))
    return any(expected(here, {**given, one.key: other}) != now for other in allowed)
