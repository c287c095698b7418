"""`--apply` and `--undo`: write settings into their agent's own configuration files, and restore those files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from os.path import realpath
from pathlib import Path

from ctxsim.api import AnyPath, checks_arguments
from ctxsim.errors import CtxsimError
from ctxsim.live.configs.apply import Applied, Change, planned, write
from ctxsim.live.configs.apply import undo as undo
from ctxsim.live.configs.edit import Format, Value
from ctxsim.plugins.files import Keys
from ctxsim.policies.agents.given import known_setting
from ctxsim.policies.agents.lines import file_of
from ctxsim.policies.agents.settings import CODE, ConfigFile, Setting, shown

_WILD = re.compile(r"(?<![^.])(ID|MODEL)(?![^.])")


@checks_arguments
def change(agent: str, settings: Mapping[str, Value], *, project: AnyPath | None = None) -> tuple[Change, ...]:
    """Return what writing settings would change, a change for each file, without writing it.

    A setting is for the user's file. With the folder `project` it is for the project's file that sets the key, or else
    for its first; an agent may have only the user's. If a key has placeholders, as
    `provider.ID.models.MODEL.limit.input`, put names in their place: `provider.mine.models.small.limit.input`. Raises
    CtxsimError for a setting that is unknown, can't be set in a file, or doesn't accept the value. Raises InputError
    for a file that can't be changed safely.
    """
    files: dict[tuple[Path, Format], dict[Keys, Value]] = {}
    for key, value in settings.items():
        file, keys, written = _written(agent, key, value, project)
        # Two names of one file are one change. `resolve` raises an error for links in a circle, in some Pythons.
        files.setdefault((Path(realpath(file.place(project))), file.format), {})[keys] = written
    return tuple(planned(path, form, values) for (path, form), values in files.items())


def _written(agent: str, key: str, value: Value, project: AnyPath | None) -> tuple[ConfigFile, Keys, Value]:
    """A setting's file, and the parts of the key and the value to write there."""
    one, keys = _setting(agent, key)
    problem = one.problem(value)
    if problem:
        raise CtxsimError(f"{agent}: {key}: {problem}")
    if one.file == CODE:
        raise CtxsimError(f"{agent}: {key} is an argument in your code; write it there")
    file = file_of(agent, one, project)
    if not one.file:
        if file is None:
            shell = f"export {one.env}={shown(value)}"
            raise CtxsimError(f"{agent}: {key} is a variable of the shell, not in a file: {shell}")
        keys, value = (file.env, one.env), shown(value)
    if file is None or (file.scope == "project" and project is None):
        raise CtxsimError(f"{agent}: no file of a user is known that holds {one.key}")
    return file, keys, value


@checks_arguments
def apply(
    agent: str,
    settings: Mapping[str, Value],
    *,
    project: AnyPath | None = None,
    agreed: Callable[[Sequence[Change]], bool] = lambda changes: True,
) -> tuple[Applied, ...]:
    """Write settings into their agent's own files, all or none. Return each file written, and where its backup is.

    `agreed` is called first, once, with each file's change and its diff. Returns () if `agreed` returns false or
    nothing changes. One `undo` restores all files. Raises the errors of `change`.
    """
    wanted = [one for one in change(agent, settings, project=project) if one.before != one.after]
    return write(wanted) if wanted and agreed(wanted) else ()


def _setting(agent: str, key: str) -> tuple[Setting, Keys]:
    """The setting of a key, and the parts of the key, with names in the place of ID and MODEL."""
    one = known_setting(agent, key)
    if key == one.key and _WILD.search(key):
        raise CtxsimError(f"{agent}: write names in the place of ID and MODEL in {key}")
    if one.in_list:
        raise CtxsimError(f"{agent}: {key} stands in an entry of the list {one.in_list}; set it there by hand")
    parts = [r"(.+?)" if _WILD.fullmatch(part) else f"({re.escape(part)})" for part in one.key.split(".")]
    found = re.fullmatch(r"\.".join(parts), key)
    return one, found.groups() if found else tuple(one.key.split("."))
