"""Which values of settings are worth trying: those that `settings.toml` begins with, and then those around the best."""

from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from math import floor, log10

from ctxsim.policies.agents.given import Given, setting_of, written
from ctxsim.policies.agents.settings import Setting, Value
from ctxsim.policies.agents.settings_file import settings_names, settings_of
from ctxsim.policies.as_set import AsSet


def searched(agent: str) -> list[Setting]:
    """Return the settings of an agent or framework that have values to begin with."""
    return [one for one in settings_of(agent).settings if one.search] if agent in settings_names() else []


def begin(agent: str) -> list[Given]:
    """Return the first values of each setting."""
    return [Given(agent, one.key, value) for one in searched(agent) for value in one.search]


def alone(agent: str) -> list[Given]:
    """Return the first values of each setting, and those halfway between them."""
    first = begin(agent)
    near = (around(one, [other.value for other in first if other.key == one.key]) for one in first)
    return list(dict.fromkeys([*first, *chain.from_iterable(near)]))


def usual(agent: str) -> list[Given]:
    """Return the few values that a bench tries: of the setting that matters most all but the ends."""
    first = next(iter(searched(agent)), None)
    values = () if first is None else first.search[1:-1] if len(first.search) > 3 else first.search
    return [Given(agent, first.key, value) for value in values if first is not None]


def around(best: Given, tried: Iterable[Value]) -> list[Given]:
    """Return the values halfway between the best one and its neighbours among those that were tried."""
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
    """Return the label of the policy whose parameters these settings are; '' where one is no parameter of it."""
    found = [(of, one.value) for one in given if (of := setting_of(one.agent, one.key)) and of.parameter]
    if not found or len(found) < len(given):
        return ""
    parameters = ",".join(f"{of.parameter}={value}" for of, value in found)
    return f"{found[0][0].policy or given[0].agent}:{parameters}"


def _round(value: float) -> float:
    """Two digits that count, three from a hundred thousand on: 125,000 stays."""
    digits = 2 if value >= 100_000 else 1
    return round(value, digits - floor(log10(abs(value)))) if value else value


def label_of(given: Sequence[Given], also: Sequence[Given] = ()) -> str:
    """Return the label of an agent as it is set, `given`, with other settings in place of or beside those."""
    changed = {(one.agent, one.key) for one in also}
    whole = [one for one in given if (one.agent, one.key) not in changed] + list(also)
    return f"{AsSet.name}:given={written(whole)}" if whole else AsSet.name
