"""Finds, parses and checks `settings.toml` files, and returns the parameters that they give to policies."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from ctxsim.errors import InputError, unknown
from ctxsim.plugins import FOLDERS, SETTINGS, folders, forgotten_by
from ctxsim.plugins.files import toml_values
from ctxsim.policies.agents.settings import CODE, UNSET, AgentSettings, ConfigFile, Number, Rule, Setting, Verdict
from ctxsim.policies.agents.versions import holds


class _Class(msgspec.Struct, forbid_unknown_fields=True):
    """An upstream class whose arguments are settings. The policy's parameters have the arguments' names."""

    policy: str
    arguments: dict[str, dict[str, Any]]
    source: str = ""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """A file's contents before its entries are parsed. `source` is the default source of its entries."""

    read_on: str
    version: str = ""
    source: str = ""
    classes: dict[str, _Class] = {}
    files: tuple[dict[str, Any], ...] = ()
    setting: dict[str, dict[str, Any]] = {}
    number: dict[str, dict[str, Any]] = {}


def parsed(agent: str, text: str, where: str) -> AgentSettings:
    """Parse a settings file. Raises InputError with the entry and field that is wrong."""
    try:
        file = msgspec.convert(toml_values(text.encode("utf-8", "surrogatepass"), where), _File)
        files = tuple(map(_config_file, file.files))
    except msgspec.ValidationError as error:
        raise InputError(where, str(error)) from None
    for name, of in file.classes.items():
        for argument, raw in of.arguments.items():
            key = f"{name}.{argument}"
            if key in file.setting:
                raise InputError(f"{where}, setting {key}", f"is also an argument of classes.{name}; delete one")
            shared = {"policy": of.policy, "parameter": argument} | ({"source": of.source} if of.source else {})
            file.setting[key] = shared | raw
    settings = tuple(_entries(file, Setting, file.setting, where))
    numbers = tuple(_entries(file, Number, file.number, where))
    known = AgentSettings(agent, file.version, file.read_on, files, settings, numbers)
    for key, problem in _problems(known):
        raise InputError(f"{where}, {key}", problem)
    return known


def _config_file(raw: dict[str, Any]) -> ConfigFile:
    path = Path(str(raw.get("path", "")))
    scope = "user" if path.parts[:1] == ("~",) else "project"
    return msgspec.convert({"format": path.suffix[1:].replace("yml", "yaml"), "scope": scope} | raw, ConfigFile)


def _entries(file: _File, kind: type[Any], given: Mapping[str, dict[str, Any]], where: str) -> Iterator[Any]:
    """The entries, completed with the file's defaults. A plain `default` holds for all versions and models. `unset` is
    the value of ctxsim's parameter where upstream has none. With `env = true`, the key is a variable's name.

    Raises InputError with the entry and the field that doesn't fit.
    """
    place_of_others = Path(file.files[0]["path"]).name if file.files else CODE
    for key, raw in given.items():
        shared: dict[str, Any] = {"key": key} | ({"source": file.source} if file.source else {})
        if kind is Setting:
            shared["file"] = "" if raw.get("env") else place_of_others
            shared["unit"] = "tokens" if raw.get("type", "int") == "int" else ""
        whole = shared | raw
        if whole.get("env") is True:
            whole["env"] = key
        if {"unset", "default"} <= whole.keys():
            raise InputError(f"{where}, {kind.__name__.lower()} {key}", "has both 'unset' and 'default'; delete one")
        if "unset" in whole:
            whole["default"] = [{"value": UNSET, "as_parameter": whole.pop("unset")}]
        elif not isinstance(whole.get("default", []), list):
            whole["default"] = [{"value": whole["default"]}]
        try:
            yield msgspec.convert(whole, kind)
        except msgspec.ValidationError as error:
            raise InputError(f"{where}, {kind.__name__.lower()} {key}", str(error)) from None


def _problems(known: AgentSettings) -> Iterator[tuple[str, str]]:
    """Each problem: the entry and field, and what is wrong."""
    given: set[tuple[str, str]] = set()
    for entry in known.entries:
        for problem in _wrong_versions(entry.default):
            yield f"{entry.key}, versions", problem
        if entry.parameter and any(rule.as_parameter is not None or entry.plain(rule.value) for rule in entry.default):
            if (entry.policy, entry.parameter) in given:
                yield f"{entry.key}, default", f"another entry gives {entry.parameter} a value; keep one of them"
            given.add((entry.policy, entry.parameter))
    for one in known.settings:
        for problem in filter(None, (one.problem(rule.value) for rule in one.default)):
            yield f"{one.key}, default", problem
        for problem in _wrong_versions(one.honoured):
            yield f"{one.key}, honoured", problem
        if one.file not in ("", CODE) and not any(file.path.endswith(one.file) for file in known.files):
            yield f"{one.key}, file", f"no path in files ends with {one.file}"
        if one.opposite and (one.type != "bool" or one.default):
            yield f"{one.key}, opposite", "stands with type bool, and without a default"
        for value in one.search:
            if problem := one.problem(value) or ("" if one.parameter else "no parameter is of it"):
                yield f"{one.key}, search", problem
        if (one.type == "choice") != bool(one.choices):
            yield f"{one.key}, choices", "stand with type choice, and only there"


def _wrong_versions(rules: Iterable[Rule | Verdict]) -> Iterator[str]:
    for rule in rules:
        try:
            holds(rule.versions, "")
        except ValueError as error:
            yield str(error)


@cache
def _places() -> dict[str, tuple[str, Path]]:
    """The package and the settings file of agents and frameworks, by name; a framework with an agent's is NAME-sdk."""
    found: dict[str, tuple[str, Path]] = {}
    for folder in FOLDERS:
        for name, (package, place) in folders(folder).items():
            if (place / SETTINGS).exists():
                found[f"{name}-sdk" if name in found else name] = package, place / SETTINGS
    return found


def agent_in(module: str) -> str:
    """Return the agent or framework whose folder holds a module; '' if there is none with settings."""
    return next((name for name, (package, _) in _places().items() if module.startswith(f"{package}.")), "")


def settings_names() -> list[str]:
    """Return the agents and frameworks whose settings are known."""
    return list(_places())


@cache
def settings_of(agent: str) -> AgentSettings:
    """Return the settings of an agent or framework.

    Raises UnknownName with similar names, or InputError with the file, the entry and the field that can't be used.
    """
    if agent not in _places():
        raise unknown("agent with settings", agent, _places())
    return parsed(agent, _places()[agent][1].read_text(encoding="utf-8"), f"{agent}/{SETTINGS}")


@cache
def values_for(agent: str, version: str = "", model: str = "", policy: str = "") -> Mapping[str, Any]:
    """Return the parameters of a policy as a version of its agent ships them for a model.

    `policy` is the agent's own unless given. '' as version, or a version newer than all rules, is the newest. For '' as
    model, the rules for all models hold. Raises UnknownName for an agent, InputError for a version without numbers.
    """
    found = {}
    for entry in settings_of(agent).entries:
        if entry.parameter and (entry.policy or agent) == (policy or agent):
            try:
                given = entry.given(version, model)
            except ValueError as error:
                raise InputError(agent, str(error)) from None
            if given is not None:
                found[entry.parameter] = given
    return MappingProxyType(found)


@cache
def aliases_of(agent: str, policy: str) -> dict[str, str]:
    """Return the parameters of a policy, by upstream's keys and variables."""
    mine = [one for one in settings_of(agent).settings if (one.policy or agent) == policy and not one.opposite]
    return {name: one.parameter for one in mine if one.parameter for name in (one.key, one.env) if name}


forgotten_by(_places.cache_clear, settings_of.cache_clear, values_for.cache_clear, aliases_of.cache_clear)
