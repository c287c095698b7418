"""Agents' settings about context, and the numbers that their users can't set, as rows."""

from fnmatch import fnmatchcase

import msgspec

from ctxsim.api import checks_arguments
from ctxsim.errors import CtxsimError
from ctxsim.policies.agents.settings import Number, Rule, Setting
from ctxsim.policies.agents.settings_file import settings_names, settings_of
from ctxsim.results.frames import Frame, frame_of


class SettingRow(msgspec.Struct, frozen=True, kw_only=True):
    """One key of one agent.

    - `kind`: "setting", or "number" for a number that users can't set.
    - `where`: its file and its environment variable.
    - `default`: of the newest version. `defaults`: of all versions and models, from specific to general.
    - `policy`, `parameter`: ctxsim's names. `opposite`: true means that the parameter is false.
    - `honoured`: what the installed agent did with it, the newest tested version first.
    """

    agent: str
    kind: str
    key: str
    where: str = ""
    type: str = ""
    unit: str
    bounds: str = ""
    outside: str = ""
    cap: str = ""
    needs: str = ""
    precedence: int = 0
    default: str
    defaults: str
    policy: str
    parameter: str
    opposite: bool = False
    honoured: str = ""
    source: str
    note: str


class Settings(msgspec.Struct, frozen=True):
    """Settings and constants of agents, a row for each."""

    rows: list[SettingRow]

    def frame(self) -> Frame:
        """Return the rows."""
        return frame_of(self.rows)


@checks_arguments
def settings(pattern: str = "*") -> Settings:
    """Return the settings and constants of the agents whose names match a pattern.

    If no agent's name matches, return the settings and constants whose keys match it.

    `*` and `?` in the pattern are wild. Raises CtxsimError if nothing matches, and InputError for a file that can't be
    used.
    """
    agents = [name for name in settings_names() if fnmatchcase(name, pattern.lower())]
    rows = [_row(name, one) for name in agents or settings_names() for one in settings_of(name).entries]
    found = rows if agents else [row for row in rows if fnmatchcase(row.key.lower(), pattern.lower())]
    if not found:
        raise CtxsimError(f"no agent and no setting fits '{pattern}'; without a pattern all are listed")
    return Settings(found)


def _row(agent: str, entry: Number) -> SettingRow:
    newest = entry.rule()
    row = SettingRow(
        agent=agent, kind="number", key=entry.key, unit=entry.unit,
        default="" if newest is None else _text(newest.value),
        defaults="; ".join(map(_told, entry.default)) if len(entry.default) > 1 else "",
        policy=(entry.policy or agent) if entry.parameter else "", parameter=entry.parameter,
        source=entry.source, note=entry.note,
    )  # fmt: skip
    if not isinstance(entry, Setting):
        return row
    bounds = " to ".join(_text(bound) for bound in entry.bounds) if entry.bounds else "/".join(entry.choices)
    return msgspec.structs.replace(
        row, kind="setting", where=", ".join(filter(None, (entry.file, entry.env and f"${entry.env}"))),
        type=entry.type, bounds=" or ".join(filter(None, (bounds, *entry.words))), outside=entry.outside, cap=entry.cap,
        needs=", ".join(entry.needs), precedence=entry.precedence, opposite=entry.opposite, honoured=_judged(entry),
    )  # fmt: skip


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def _told(rule: Rule) -> str:
    """A rule's value, the value that holds where this is a word, and the versions and models that it applies to."""
    wanted = " ".join(filter(None, (rule.versions, rule.models)))
    holds = "" if rule.as_parameter is None else f", which is {_text(rule.as_parameter)}"
    return f"{_text(rule.value)}{holds}" + (f" ({wanted})" if wanted else "")


def _judged(entry: Setting) -> str:
    """What installed agents did with a setting, with version, model and note."""
    said = []
    for one in entry.honoured:
        wanted = ", ".join(filter(None, (one.versions, one.models, one.note)))
        said.append(f"{one.verdict} ({wanted})" if wanted else one.verdict)
    return "; ".join(said) or entry.verdict().verdict
