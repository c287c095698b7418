"""How `ctxsim list settings` tells of settings: an agent at a time, a few lines for each key."""

from collections.abc import Sequence
from itertools import groupby

from ctxsim.api.settings import SettingRow, settings
from ctxsim.policies.agents.settings import settings_names, settings_of


def rows_of(wanted: str) -> list[SettingRow]:
    """Return the rows of the agents or keys that fit. A name said whole is one agent's: `pi` isn't part of another."""
    plain = wanted.strip("*")
    return settings(plain if plain in settings_names() else wanted).rows


def columns() -> tuple[str, ...]:
    """Return the headings of the rows, which programs get."""
    return SettingRow.__struct_fields__


def told(rows: Sequence[SettingRow]) -> list[tuple[str, str]]:
    """Return a heading for each agent, and then one for each of its keys with what people want to know of it."""
    said: list[tuple[str, str]] = []
    for agent, its in groupby(rows, key=lambda row: row.agent):
        known = settings_of(agent)
        files = ", ".join(file.path for file in known.files)
        name = f"{agent} {known.version}".strip()
        said.append((f"{name}, read on {known.read_on}{f': {files}' if files else ''}", ""))
        said += [(f"{row.key} = {row.default}" if row.default else row.key, _lines(row)) for row in its]
    return said


def _lines(row: SettingRow) -> str:
    outside = f"{row.outside} outside" if row.outside else ""
    cap = f"at most {row.cap}" if row.cap else ""
    needs = f"needs {row.needs}" if row.needs else ""
    values = "; ".join(filter(None, (row.where or "can't be set", row.unit, row.bounds, outside, cap, needs)))
    opposite = "the opposite of " if row.opposite else ""
    ours = f"policy: {opposite}{row.policy}:{row.parameter}" if row.parameter else ""
    seen = f"installed: {row.honoured}" if row.honoured else ""
    by = f"by version: {row.defaults}" if row.defaults else ""
    return "\n".join(filter(None, (values, by, ours, seen, row.note)))
