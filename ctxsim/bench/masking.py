"""Rows without likely keys: a mask stands where recordings, policies and providers have one."""

from __future__ import annotations

import msgspec

from ctxsim.bench.rows import Rows
from ctxsim.bench.secrets import Secrets, masked
from ctxsim.results import InputInfo

_replace = msgspec.structs.replace


def without_secrets(rows: Rows, secrets: Secrets) -> Rows:
    """Return a transcript's rows with its likely keys masked: in texts, atoms, and what was said of edits and calls."""
    tables = rows.tables
    tables = _replace(
        tables,
        calls=[
            _replace(call, reason=secrets.masked(call.reason), cache_break=secrets.masked(call.cache_break))
            for call in tables.calls
        ],
        items=[_replace(item, text=secrets.masked(item.text)) for item in tables.items],
        events=[
            _replace(event, text=secrets.masked(event.text), reason=secrets.masked(event.reason))
            for event in tables.events
        ],
        needs=[_replace(need, atom=secrets.masked_atom(need.atom)) for need in tables.needs],
    )
    return _replace(rows, tables=tables)


def info_without_secrets(info: InputInfo) -> InputInfo:
    """Return what is said of a source with likely keys masked: notes and errors may quote it."""
    return _replace(
        info,
        notes=tuple(map(masked, info.notes)),
        error=info.error and masked(info.error),
        failed=tuple(map(masked, info.failures)) or msgspec.UNSET,
    )
