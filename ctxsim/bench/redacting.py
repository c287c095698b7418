"""Rows without likely keys: a mark stands where recordings, policies and providers have one."""

from __future__ import annotations

import msgspec

from ctxsim.bench.rows import Rows
from ctxsim.redaction import Secrets, marked
from ctxsim.results import InputInfo

_replace = msgspec.structs.replace


def without_secrets(rows: Rows, secrets: Secrets) -> Rows:
    """Return a transcript's rows with its likely keys redacted: in texts, atoms, reasons of edits and calls."""
    tables = rows.tables
    tables = _replace(
        tables,
        calls=[
            _replace(call, reason=secrets.marked(call.reason), cache_break=secrets.marked(call.cache_break))
            for call in tables.calls
        ],
        items=[_replace(item, text=secrets.marked(item.text)) for item in tables.items],
        events=[
            _replace(event, text=secrets.marked(event.text), reason=secrets.marked(event.reason))
            for event in tables.events
        ],
        needs=[_replace(need, atom=secrets.marked_atom(need.atom)) for need in tables.needs],
    )
    return _replace(rows, tables=tables)


def info_without_secrets(info: InputInfo) -> InputInfo:
    """Return what is said of a source with likely keys redacted: notes and errors may quote it."""
    return _replace(
        info,
        notes=tuple(map(marked, info.notes)),
        error=info.error and marked(info.error),
        failed=tuple(map(marked, info.failures)) or msgspec.UNSET,
    )
