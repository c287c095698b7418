"""Finds the version since which an agent acts differently, by bisection over its published versions."""

import subprocess
from collections.abc import Callable, Iterator, Sequence

import msgspec

from ctxsim.errors import CtxsimError
from ctxsim.live.agent import Agent
from ctxsim.live.install import package_of, program
from ctxsim.live.probe.check import SettingCheck
from ctxsim.policies.agents.versions import numbers_of

ASK_S = 120


def published(agent: Agent, first: str, last: str) -> list[str]:
    """Return the published versions from `first` to `last`, ascending, without prereleases.

    Raises CtxsimError if the agent is no npm package, or if the registry fails or has fewer than two of the versions.
    """
    if agent.installer != "npm":
        raise CtxsimError(f"{agent.name}: versions between two are known of npm packages only; use --version")
    asked = [program(agent, "npm"), "view", package_of(agent), "versions", "--json"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, timeout=ASK_S)
        said = msgspec.json.decode(done.stdout, type=list[str])
    except (subprocess.TimeoutExpired, msgspec.DecodeError) as error:
        raise CtxsimError(f"{agent.name}: npm doesn't say which versions there are: {error}") from None
    low, high = numbers_of(first), numbers_of(last)
    found = sorted((one for one in said if "-" not in one and low <= numbers_of(one) <= high), key=numbers_of)
    if len(found) < 2:
        raise CtxsimError(f"{agent.name}: npm has fewer than two versions from {first} to {last}")
    return found


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
