"""Reads users' settings from the agents' own files, of the user and of a project, and from environment variables."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ctxsim.errors import InputError, one_line
from ctxsim.plugins.files import config_values, small_file
from ctxsim.policies.agents.given import Given
from ctxsim.policies.agents.settings import ConfigFile, Setting
from ctxsim.policies.agents.settings_file import settings_names, settings_of


def of_file(path: Path, agents: tuple[str, ...] = ()) -> list[Given]:
    """Return the settings in a file, of the agent that owns such a file.

    Raises InputError for a file that can't be read or parsed, or that isn't an agent's and has no known setting.
    """
    every = [(agent, one) for agent in agents or settings_names() for one in settings_of(agent).files]
    owned = [pair for pair in every if path.absolute().as_posix().endswith(f"/{pair[1].path.removeprefix('~/')}")]
    alike = owned or [pair for pair in every if Path(pair[1].path).suffix == path.suffix]
    found = {agent: _given(agent, path, one) for agent, one in reversed(alike)}
    most = max(found.values(), key=len, default=[])
    if not most and not owned:
        raise InputError(path, "sets nothing of an agent that we know; see: ctxsim list settings")
    return most


def of_places(project: Path | None = None) -> list[Given]:
    """Return the settings in the user's files, in the project's, and in the environment. Later ones have precedence.

    A variable that a file sets has the file's value. Raises InputError for a file that can't be read.
    """
    found: list[Given] = []
    for agent in settings_names():
        stated = [one for place, file in _places(agent, project) for one in _given(agent, place, file)]
        said = {one.key for one in stated}
        found += stated + [one for one in _of_variables(agent, os.environ) if one.key not in said]
    return found


def changed_at(agent: str, project: Path | None = None) -> float:
    """Return when an agent's files that `of_places` reads were last changed, in seconds, UTC; 0.0 if there are none."""
    return max((place.stat().st_mtime for place, _ in _places(agent, project)), default=0.0)


def _places(agent: str, project: Path | None) -> list[tuple[Path, ConfigFile]]:
    every = settings_of(agent).files
    files = [file for file in every if file.path.startswith("~/")]
    files += [file for file in every if project and file.scope == "project"]
    return [(place, file) for file in files if (place := file.place(project)).is_file()]


def _given(agent: str, path: Path, file: ConfigFile) -> list[Given]:
    """The settings in a file, and the variables that it sets."""
    try:
        text = small_file(path).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(path, f"can't be read: {getattr(error, 'strerror', '') or one_line(str(error))}") from None
    data = config_values(text, file.format, path)
    if not isinstance(data, dict):
        return []
    found = [Given(agent, key, value) for one in settings_of(agent).settings for key, value in _at(one, data)]
    block = data.get(file.env)
    return found + (_of_variables(agent, block) if isinstance(block, dict) else [])


def _of_variables(agent: str, values: Mapping[str, Any]) -> list[Given]:
    known = [one for one in settings_of(agent).settings if one.env and one.env in values]
    return [Given(agent, one.env, one.typed(str(values[one.env]))) for one in known]


def _at(setting: Setting, data: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The values under a key, by full key. The parts MODEL and ID of a key match any name."""
    places: list[tuple[tuple[str, ...], Any]] = [((), data)] if setting.file else []
    for part in setting.key.split("."):
        found = []
        for path, table in places:
            names = table if part in ("MODEL", "ID") and isinstance(table, dict) else (part,)
            found += [((*path, name), table[name]) for name in names if isinstance(table, dict) and name in table]
        places = found
    return ((".".join(path), value) for path, value in places if isinstance(value, bool | int | float | str))
