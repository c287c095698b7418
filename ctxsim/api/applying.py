"""`--apply` and `--undo`: write a setting into its agent's own configuration file, and restore that file."""

import re
from collections.abc import Callable
from os import PathLike

from ctxsim.errors import CtxsimError
from ctxsim.live.configs.apply import Applied, Change, planned, undo, write
from ctxsim.live.configs.edit import Value
from ctxsim.policies.agents.given import known_setting
from ctxsim.policies.agents.lines import file_of
from ctxsim.policies.agents.settings import CODE, Setting, shown

__all__ = ["apply", "change", "undo"]

_WILD = re.compile(r"(?<![^.])(ID|MODEL)(?![^.])")


def change(agent: str, key: str, value: Value, *, project: str | PathLike[str] | None = None) -> Change:
    """Return what writing a setting would change, without writing it.

    The change is for the user's file. With the folder `project` it is for the project's file that sets the key, or else
    for its first; an agent may have only the user's. If a key has placeholders, as
    `provider.ID.models.MODEL.limit.input`, put names in their place: `provider.mine.models.small.limit.input`. Raises
    CtxsimError for a setting that is unknown, can't be set in a file, or doesn't accept the value. Raises InputError
    for a file that can't be changed safely.
    """
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
    return planned(file.place(project), file.format, keys, value)


def apply(
    agent: str,
    key: str,
    value: Value,
    *,
    project: str | PathLike[str] | None = None,
    agreed: Callable[[Change], bool] = lambda change: True,
) -> Applied | None:
    """Write a setting into its agent's own file. Return what was written, and where the backup is.

    `agreed` is called first, with the change and its diff. Returns None if `agreed` returns false or nothing changes.
    Raises the errors of `change`.
    """
    wanted = change(agent, key, value, project=project)
    if wanted.before == wanted.after or not agreed(wanted):
        return None
    return write(wanted)


def _setting(agent: str, key: str) -> tuple[Setting, tuple[str | int, ...]]:
    """The setting of a key, and the parts of the key, with names in the place of ID and MODEL."""
    one = known_setting(agent, key)
    if key == one.key and _WILD.search(key):
        raise CtxsimError(f"{agent}: write names in the place of ID and MODEL in {key}")
    if one.in_list:
        raise CtxsimError(f"{agent}: {key} stands in an entry of the list {one.in_list}; set it there by hand")
    parts = [r"(.+?)" if _WILD.fullmatch(part) else f"({re.escape(part)})" for part in one.key.split(".")]
    found = re.fullmatch(r"\.".join(parts), key)
    return one, found.groups() if found else tuple(one.key.split("."))
