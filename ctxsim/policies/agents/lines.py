"""Settings as lines to paste into the agent's own file, in that file's format."""

import json
from collections.abc import Iterable
from os import PathLike
from typing import Any

from ctxsim.plugins.files import with_value
from ctxsim.policies.agents.config import of_file
from ctxsim.policies.agents.given import Given, known_setting
from ctxsim.policies.agents.settings import CODE, ConfigFile, Setting, Value, shown
from ctxsim.policies.agents.settings_file import settings_of

ENV = "the environment"
"""Stands for the file of a setting that is an environment variable, where no file of the agent sets variables."""


def where(agent: str, key: str) -> str:
    """Return the path of a setting's file (the user's rather than a project's), or `ENV`, or `CODE`. Of a variable that
    a file sets: `env of PATH`, by the table's name. Raises CtxsimError for a key that is no setting.
    """
    setting = known_setting(agent, key)
    place, file = _place(agent, setting)
    return place if file is None or setting.file else f"{file.env} of {place}"


def _place(agent: str, setting: Setting, project: str | PathLike[str] | None = None) -> tuple[str, ConfigFile | None]:
    file = file_of(agent, setting, project)
    return (file.shown(project), file) if file else (CODE if setting.file == CODE else ENV, None)


def file_of(agent: str, setting: Setting, project: str | PathLike[str] | None = None) -> ConfigFile | None:
    """Return the file to write a setting into: the user's, or with `project` the project's file that sets it and goes
    before the others, else the project's first file, else the user's. A variable's is one that sets variables.
    """
    every = settings_of(agent).files
    fitting = [one for one in every if (setting.file or one.env) and one.path.endswith(setting.file)]
    first = "user" if project is None else "project"
    names = {setting.key, setting.env}
    for one in every[::-1] if project is not None and fitting else ():
        place = one.place(project)
        if one.scope == first and place.is_file() and names & {given.key for given in of_file(place, (agent,))}:
            return one
    return min(fitting, key=lambda one: one.scope != first, default=None)


def lines(given: Iterable[Given], project: str | PathLike[str] | None = None) -> dict[str, list[str]]:
    """Return the lines to paste for one agent's settings, by file: that of `file_of`, `ENV` for variables that no file
    sets, `CODE` for constructors.
    """
    found: dict[tuple[str, ConfigFile | None], list[Given]] = {}
    for one in given:
        place = _place(one.agent, known_setting(one.agent, one.key), project)
        found.setdefault(place, []).append(one)
    return {place: _written(place, file, its) for (place, file), its in found.items()}


def _written(place: str, file: ConfigFile | None, given: list[Given]) -> list[str]:
    if file is None:
        return constructors(given) if place == CODE else [f"export {one.key}={json.dumps(one.value)}" for one in given]
    values = dict(_entry(file, one) for one in given)
    if file.format == "toml":
        return [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    nested: Any = {}
    for key, value in values.items():
        nested = with_value(nested, tuple(key.split(".")), value)
    if file.format == "yaml":
        import yaml

        return str(yaml.safe_dump(nested, sort_keys=False)).splitlines()
    return json.dumps(nested, indent=2).splitlines()[1:-1]


def _entry(file: ConfigFile, one: Given) -> tuple[str, Value]:
    """The dotted key and the value in the file. A variable is a text in the file's table of variables."""
    setting = known_setting(one.agent, one.key)
    if setting.file:
        return one.key, one.value
    return f"{file.env}.{setting.env}", shown(one.value)


def constructors(given: Iterable[Given]) -> list[str]:
    """Return constructor calls with the settings as arguments: `SummarizationMiddleware(trigger=("tokens", 40000))`."""
    calls: dict[str, list[str]] = {}
    for one in given:
        name, _, argument = one.key.rpartition(".")
        value = known_setting(one.agent, one.key).written.format(repr(one.value))
        calls.setdefault(name, []).append(f"{argument}={value}")
    return [f"{name}({', '.join(arguments)})" for name, arguments in calls.items()]
