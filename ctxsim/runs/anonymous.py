"""Results without likely keys, or without text: no content of transcripts, and no names of transcripts and files.

Tasks remove the text and hash the names, so that no part on disk holds any; the run then replaces hashes by numbers.
"""

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec

from ctxsim.counting.tokenizers import DATED
from ctxsim.policies.agents.versions import dotted
from ctxsim.results import InputInfo, Tables
from ctxsim.results.frames import mapped
from ctxsim.runs.rows import Rows
from ctxsim.safety.redaction import Secrets, marked
from ctxsim.simulator.ledger.kernel import CAUSES
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.models import model_ids

_replace = msgspec.structs.replace

_BREAKS = ("", *CAUSES)
"""The provider's causes of a cache break; any other value is a policy's reason."""


def without_text(rows: Rows, model: str) -> Rows:
    """Return a task's rows without text: items, edits and atoms keep their numbers, tools are numbered in order.

    `model` is the recording's name of its model, which is kept only if the list of models has it, with or without date.
    """
    tables = rows.tables
    tools = {"": ""}
    for tool in tables["items"].column("tool").unique().to_pylist():
        tools.setdefault(tool, f"tool {len(tools)}")
    tables = {**_told(tables, _nothing, _nothing, tools.__getitem__), "calls": _unsaid(tables["calls"])}
    known = model if {model, DATED.sub("", model)} & model_ids() else None
    summaries = [
        one | {"project": one["project"] and _hashed(one["project"]), "model": known, "version": None}
        for one in rows.summaries
    ]
    recorder = rows.recorder and _replace(rows.recorder, model=known or "", version=dotted(rows.recorder.version))
    quiet = _replace(
        rows, provider=_provider(rows.provider, model), words=b"", tables=tables, summaries=summaries, recorder=recorder
    )
    return _called(quiet, _hashed(rows.transcript), rows.parent and _hashed(rows.parent))


def _nothing(text: str) -> str:
    return ""


Change = Callable[[str], str]


def _told(tables: Tables, text: Change, atom: Change, tool: Change) -> Tables:
    """Return tables whose texts, atoms and names of tools are changed, but for those of calls."""
    changes = {
        "items": {"text": text, "tool": tool}, "events": {"text": text, "reason": text},
        "needs": {"atom": atom, "tool": tool}, "losses": {"tool": tool},
    }  # fmt: skip
    return tables | {name: mapped(tables[name], **of) for name, of in changes.items()}


def _unsaid(calls: Any) -> Any:
    """Return calls without policies' texts: why they stopped, and the reasons of edits that broke the cache."""
    import pyarrow.compute

    columns = dict(zip(calls.schema.names, calls.columns, strict=True))
    stopped = pyarrow.compute.equal(columns["status"], "stopped")
    columns["reason"] = pyarrow.compute.if_else(stopped, "", columns["reason"])
    quiet = pyarrow.RecordBatch.from_arrays(list(columns.values()), schema=calls.schema)
    return mapped(quiet, cache_break=lambda said: said if said in _BREAKS else "edit")


def _called(rows: Rows, name: str, parent: str | None) -> Rows:
    tables = {table: mapped(one, transcript=lambda _: name) for table, one in rows.tables.items()}
    recorder = rows.recorder and _replace(rows.recorder, transcript=name)
    return _replace(rows, transcript=name, parent=parent, tables=tables, recorder=recorder)


def info_without_text(info: InputInfo) -> InputInfo:
    """Return a source's description with its name hashed, and only the number of its notes and failures."""
    many = len(info.notes)
    return _replace(
        info,
        name=_hashed(info.name),
        notes=(f"{many} note(s): --text none keeps none, `ctxsim transcripts check` shows them",) if many else (),
        error=info.error and "a source can't be read: --text none keeps no reason, `ctxsim transcripts check` tells it",
        failed=tuple("a transcript or policy that failed: --text none keeps no reason" for _ in info.failures)
        or msgspec.UNSET,
    )


class Numbers:
    """Numbers for hashed names, in the order in which a run meets them."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._sources = 0

    def info(self, info: InputInfo) -> InputInfo:
        """Return a source's description under its number."""
        self._sources += 1
        return _replace(info, name=f"source {self._sources}")

    def rows(self, rows: Rows) -> Rows:
        """Return a transcript's rows under its number."""
        return _called(rows, self._name(rows.transcript), rows.parent and self._name(rows.parent))

    def _name(self, hashed: str) -> str:
        return f"transcript {self._numbers.setdefault(hashed, len(self._numbers) + 1)}"


def _hashed(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()


def _provider(provider: Provider, model: str) -> Provider:
    origin = provider.origin.replace(f"recorded model {model}", "recorded model", 1)
    if provider.model in model_ids():
        return _replace(provider, origin=origin)
    return _replace(provider, origin=origin, model=f"a model of {provider.vendor}" if provider.model else "")


def without_secrets(rows: Rows, secrets: Secrets) -> Rows:
    """Return a task's rows with likely secrets redacted: in names, texts, atoms, tools, reasons of edits and calls."""
    if secrets:
        rows = _replace(rows, tables=tables_without_secrets(rows.tables, secrets))
    summaries = [one | {"project": one["project"] and name_without_secrets(one["project"])} for one in rows.summaries]
    rows = _replace(rows, summaries=summaries)
    name = name_without_secrets(rows.transcript)
    parent = rows.parent and name_without_secrets(rows.parent)
    return rows if (name, parent) == (rows.transcript, rows.parent) else _called(rows, name, parent)


def name_without_secrets(name: str) -> str:
    """Return a name of a transcript or source with likely keys redacted; names that differ stay different."""
    return name if (quiet := marked(name)) == name else f"{quiet} {_hashed(name)[:8]}"


def tables_without_secrets(tables: Tables, secrets: Secrets) -> Tables:
    """Return tables with likely secrets redacted: in texts, atoms, names of tools, reasons of edits and calls."""
    redact = secrets.marked
    calls = mapped(tables["calls"], reason=redact, cache_break=redact)
    return {**_told(tables, redact, secrets.marked_atom, redact), "calls": calls}


def info_without_secrets(info: InputInfo) -> InputInfo:
    """Return a source's description with likely keys redacted: notes and errors may quote the source."""
    return _replace(
        info,
        name=name_without_secrets(info.name),
        notes=tuple(map(marked, info.notes)),
        error=info.error and marked(info.error),
        failed=tuple(map(marked, info.failures)) or msgspec.UNSET,
    )
