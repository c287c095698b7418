"""Candidate values of settings: first those in `settings.toml` (`search`), then those around the best one."""

from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from math import floor, log10

from ctxsim.policies.agents.given import Given, setting_of, written
from ctxsim.policies.agents.settings import Setting, Value
from ctxsim.policies.agents.settings_file import settings_names, settings_of
from ctxsim.policies.as_set import AsSet


def searched(agent: str) -> list[Setting]:
    """Return the settings of an agent or framework that have `search` values."""
    return [one for one in settings_of(agent).settings if one.search] if agent in settings_names() else []


def begin(agent: str) -> list[Given]:
    """Return the `search` values of all settings."""
    return [Given(agent, one.key, value) for one in searched(agent) for value in one.search]


def alone(agent: str) -> list[Given]:
    """Return the `search` values of all settings, and the values halfway between neighbours."""
    first = begin(agent)
    near = (around(one, [other.value for other in first if other.key == one.key]) for one in first)
    return list(dict.fromkeys([*first, *chain.from_iterable(near)]))


def usual(agent: str) -> list[Given]:
    """Return the values that a bench tries: the first setting's, without the ends if there are more than three."""
    first = next(iter(searched(agent)), None)
    values = () if first is None else first.search[1:-1] if len(first.search) > 3 else first.search
    return [Given(agent, first.key, value) for value in values if first is not None]


def around(best: Given, tried: Iterable[Value]) -> list[Given]:
    """Return the values halfway between the best value and its neighbours among the tried ones."""
    setting = setting_of(best.agent, best.key)
    numbers = sorted({value for value in tried if isinstance(value, int | float) and not isinstance(value, bool)})
    if setting is None or best.value not in numbers:
        return []
    found = []
    for low, high in pairwise(numbers):
        if best.value in (low, high):
            middle = _round((low + high) / 2)
            value = int(middle) if setting.type == "int" else middle
            if low < value < high and not setting.problem(value):
                found.append(Given(best.agent, best.key, value))
    return found


def policy_label(*given: Given) -> str:
    """Return the label of the policy with these settings as parameters; '' if a setting has no parameter."""
    found = [(of, one.value) for one in given if (of := setting_of(one.agent, one.key)) and of.parameter]
    if not found or len(found) < len(given):
        return ""
    parameters = ",".join(f"{of.parameter}={value}" for of, value in found)
    return f"{found[0][0].policy or given[0].agent}:{parameters}"


def _round(value: float) -> float:
    """Two significant digits, or three from 100,000 on: 125,000 stays."""
    digits = 2 if value >= 100_000 else 1
    return round(value, digits - floor(log10(abs(value)))) if value else value


def label_of(given: Sequence[Given], also: Sequence[Given] = ()) -> str:
    """Return the `as-set` label with the settings `given`, replaced and extended by those in `also`."""
    changed = {(one.agent, one.key) for one in also}
    whole = [one for one in given if (one.agent, one.key) not in changed] + list(also)
    return f"{AsSet.name}:given={written(whole)}" if whole else AsSet.name
