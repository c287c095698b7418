"""Users' settings by the agents' own keys: their form in a label, and the policy parameters that they set."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple
from urllib.parse import quote, unquote

import msgspec

from ctxsim.errors import CtxsimError, LabelError, nearest
from ctxsim.policies.agents.settings import Setting, Value, shown
from ctxsim.policies.agents.settings_file import settings_names, settings_of

PLAIN = " /:.-_%$"
"""Characters that aren't quoted in a label. Commas, plus signs and semicolons are, because they separate its parts."""

EMPTY = '""'
"""An empty text in a label. Quotes of other texts are quoted themselves."""


class Given(NamedTuple):
    """One setting that has a value: the agent, its key as it stands in the file, and the value."""

    agent: str
    key: str
    value: Value

    def __str__(self) -> str:
        text = shown(self.value)
        if isinstance(self.value, str) and not isinstance(typed(self.agent, self.key, text), str):
            # A string that looks like a number stays in quotes, in a label as in a file.
            text = f'"{text}"'
        value = quote(text, PLAIN.replace("%", ""), errors="replace") or EMPTY
        return f"{self.agent}/{quote(self.key, PLAIN, errors='replace')}={value}"


def written(given: Iterable[Given]) -> str:
    """Return settings in a label's form: `claude-code/autoCompactWindow=200000;pi/compaction.reserveTokens=9000`."""
    return ";".join(map(str, given))


def parsed(text: str) -> tuple[Given, ...]:
    """Return the settings in a label. Raises LabelError for a part that isn't AGENT/KEY=VALUE."""
    found = []
    for part in filter(None, text.split(";")):
        agent, slash, rest = part.partition("/")
        key, equals, value = rest.partition("=")
        if not (agent and slash and key and equals and value):
            raise LabelError(f"'{part}' is not AGENT/KEY=VALUE, as in claude-code/autoCompactWindow=200000")
        text = "" if value == EMPTY else unquote(value)
        found.append(Given(agent, unquote(key), typed(agent, unquote(key), text)))
    return tuple(found)


def setting_of(agent: str, key: str) -> Setting | None:
    """Return the setting of a key or variable; None if unknown. MODEL and ID in a setting's key match any name."""
    known = settings_of(agent).settings if agent in settings_names() else ()
    return next((one for one in known if key in (one.key, one.env) or fnmatchcase(key, _pattern(one.key))), None)


def known_setting(agent: str, key: str) -> Setting:
    """Return the setting of a key or variable. Raises CtxsimError for an unknown one, UnknownName for an agent."""
    names = [one.key for one in settings_of(agent).settings]
    known = f"known are {', '.join(names)}"
    setting = setting_of(agent, key)
    if setting is None:
        raise CtxsimError(f"{agent} has no setting '{key}'; {nearest(key, names) or known}")
    return setting


def _pattern(key: str) -> str:
    return ".".join("?*" if part in ("MODEL", "ID") else part for part in key.split("."))


def typed(agent: str, key: str, text: str) -> Value:
    """Return a text converted to the type of its setting; unchanged if it can't be converted."""
    setting = setting_of(agent, key)
    return setting.typed(text) if setting else text


def effect(one: Given, version: str = "", model: str = "", bounds: bool = True) -> Value | None:
    """Return the value that an agent uses for a setting; None if it ignores the setting and keeps its default.

    Ignored are values of the wrong type, values outside bounds that aren't clamped, and settings that were seen to be
    ignored. With `bounds=False`, bounds don't count.
    """
    setting = setting_of(one.agent, one.key)
    if setting is None or not setting.plain(one.value) or not _of_model(setting, one.key, model):
        return None
    seen = setting.verdict(version, model)
    if seen.verdict == "ignored" and not seen.alone:
        return None
    value = setting.typed(str(one.value)) if setting.env else one.value
    return (setting if bounds else msgspec.structs.replace(setting, bounds=None)).taken(value)


def _of_model(setting: Setting, key: str, model: str) -> bool:
    """Whether a key applies to a model: it names no model, or a part of this one's name."""
    before, of_model, behind = setting.key.partition("MODEL")
    if not of_model or key == setting.key:
        return True
    return bool(model) and key.removeprefix(before).removesuffix(behind).lower() in model.lower()


def parameters_of(
    agent: str, given: Iterable[Given], version: str = "", model: str = "", bounds: bool = True
) -> dict[str, str]:
    """Return the parameters of an agent's policy that the user's settings change, for a version and a model.

    Of several settings of one parameter, that of the greatest precedence holds; if equal, the last. A setting with a
    precedence and a cap can only lower the others' value.
    """
    found: dict[str, Value] = {}
    known = ((setting_of(agent, one.key), one) for one in given if one.agent == agent)
    mine = [(one, of) for of, one in known if of and of.parameter and of.policy in ("", agent)]
    for one, of in sorted(mine, key=lambda pair: pair[1].precedence):
        value = effect(one, version, model, bounds)
        if value is None:
            continue
        if of.precedence and of.cap.isdigit():
            value = min(value, found.get(of.parameter, value), key=float)
        found[of.parameter] = not value if of.opposite else value
    return {parameter: str(value) for parameter, value in found.items()}


def hindrances(given: Iterable[Given], tried: Iterable[Given]) -> list[str]:
    """Return a line for each of the user's settings that keeps the tried settings from having an effect."""
    parameters = {setting.parameter: setting.precedence for one in tried if (setting := setting_of(one.agent, one.key))}
    found = []
    for one in given:
        setting, value = setting_of(one.agent, one.key), effect(one)
        if setting is None or value is None or not setting.parameter:
            continue
        if value is setting.stops and setting.parameter not in parameters:
            found.append(f"{one.key} in your settings switches compaction off: what was tried beside it has no effect.")
        elif setting.precedence > parameters.get(setting.parameter, setting.precedence):
            found.append(
                f"{one.key} in your settings overrides what was tried. To see other values, change or remove it."
            )
    return found
