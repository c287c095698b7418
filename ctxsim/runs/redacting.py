"""Rows without likely keys: a mark stands where recordings, policies and providers have one."""

import msgspec

from ctxsim.results import InputInfo, Tables
from ctxsim.results.frames import mapped
from ctxsim.runs.rows import Rows
from ctxsim.safety.redaction import Secrets, marked

_replace = msgspec.structs.replace


def without_secrets(rows: Rows, secrets: Secrets) -> Rows:
    """Return a transcript's rows with its likely secrets redacted."""
    return _replace(rows, tables=tables_without_secrets(rows.tables, secrets))


def tables_without_secrets(tables: Tables, secrets: Secrets) -> Tables:
    """Return tables with likely secrets redacted: in texts, atoms, reasons of edits and calls."""
    redact = secrets.marked
    return _replace(
        tables, calls=mapped(tables.calls, reason=redact, cache_break=redact), items=mapped(tables.items, text=redact),
        events=mapped(tables.events, text=redact, reason=redact), needs=mapped(tables.needs, atom=secrets.marked_atom),
    )  # fmt: skip


def info_without_secrets(info: InputInfo) -> InputInfo:
    """Return what is said of a source with likely keys redacted: notes and errors may quote it."""
    return _replace(
        info,
        notes=tuple(map(marked, info.notes)),
        error=info.error and marked(info.error),
        failed=tuple(map(marked, info.failures)) or msgspec.UNSET,
    )
