"""One task of a bench: all transcripts of one source, or one scenario, under all policies."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from ctxsim.errors import CtxsimError, InputError, NotATranscript
from ctxsim.measure import Basis, frontier_rows, measure, summarize
from ctxsim.measure.losses import item_rows, loss_rows, need_rows
from ctxsim.policies import Spec, open_policies
from ctxsim.provider import Provider
from ctxsim.provider.models import Entry
from ctxsim.provider.resolve import resolve
from ctxsim.readers import read_source
from ctxsim.readers.source import Source
from ctxsim.results import InputInfo, Tables
from ctxsim.studies.as_sent import AsSent, HeadMode, as_sent
from ctxsim.synthesis import Scenario, synthesize
from ctxsim.transcript import Head, Transcript


class Setting(msgspec.Struct, frozen=True):
    """How one bench runs: which policies, decided by which estimator, against which provider.

    `overrides` are the command line's fields of the provider; `models` the user's own entries. Without `text` no word
    of a transcript gets into the results. `head` and `across` say how large recordings are, and whether they are
    replayed as if they had never been compacted.
    """

    name: str
    title: str
    policies: tuple[str, ...]
    estimator: str | None = None
    overrides: dict[str, Any] = {}
    text: bool = True
    models: tuple[Entry, ...] = ()
    head: HeadMode = "fitted"
    across: bool = False


class Rows(msgspec.Struct, frozen=True, tag=True):
    """What one transcript gives under all policies. `summaries` are all columns of its summary rows that don't depend
    on the other transcripts of the run; `words` the references' hashes, to compare transcripts by.
    """

    transcript: str
    parent: str | None
    provider: Provider
    words: bytes
    tables: Tables
    summaries: list[dict[str, Any]]


class Done(msgspec.Struct, frozen=True, tag=True):
    """A source is finished: what it was."""

    info: InputInfo


def specs_of(setting: Setting) -> list[Spec]:
    """Return the setting's policies, opened; equal labels once; keep-all first if it isn't among them.

    What policies save and lose is told beside it. Raises UnknownName or LabelError.
    """
    specs = open_policies(setting.policies, setting.estimator)
    if any(name == "keep-all" for spec in specs if len(spec.links) == 1 for _, name, _ in spec.links):
        return list(specs)
    return [*open_policies(("keep-all",), setting.estimator), *specs]


def _replay_all(
    found: Iterable[AsSent], setting: Setting, name: str, sha256: Callable[[], str]
) -> Iterator[Rows | Done]:
    """Yield each transcript's rows as it is done, so that memory is bounded by the largest, and then the source."""
    specs = specs_of(setting)
    transcripts_read, calls_read, notes, error = 0, 0, [], None
    try:
        for one in found:
            transcript = one.transcript
            transcripts_read += 1
            calls_read += len(transcript.calls)
            notes += [f"{transcript.name}: {note}" for note in transcript.notes]
            if transcript.calls:
                rows = rows_of(transcript, specs, one.provider)
                yield rows if setting.text else without_text(rows)
    except InputError as bad:
        error = str(bad)
    yield Done(InputInfo(name, sha256(), transcripts_read, calls_read, tuple(notes), error))


def rows_of(transcript: Transcript, specs: list[Spec], provider: Provider) -> Rows:
    """Return one transcript's rows under all policies."""
    basis = Basis(transcript, provider, provider.counter())
    tables = Tables(
        needs=need_rows(transcript, basis.references),
        items=item_rows(transcript, basis.references, basis.counter),
        frontier=frontier_rows(basis),
    )
    summaries = []
    for spec in specs:
        measured = measure(basis, spec)
        tables.calls.extend(measured.calls)
        tables.events.extend(measured.events)
        tables.losses.extend(loss_rows(spec.label, measured.losses.lost, tables.needs))
        tables.needles.extend(measured.losses.needles)
        summaries.append(summarize(basis, measured))
    return Rows(transcript.name, transcript.parent, provider, basis.references.words, tables, summaries)


def without_text(rows: Rows) -> Rows:
    """Return the rows without what transcripts say: items, edits and atoms keep their numbers, tools their order."""
    tools: dict[str, str] = {"": ""}
    for item in rows.tables.items:
        tools.setdefault(item.tool, f"tool {len(tools)}")
    replace = msgspec.structs.replace
    tables = replace(
        rows.tables,
        items=[replace(item, text="", tool=tools[item.tool]) for item in rows.tables.items],
        events=[replace(event, text="") for event in rows.tables.events],
        needs=[replace(need, atom="", tool=tools[need.tool]) for need in rows.tables.needs],
        losses=[replace(loss, tool=tools[loss.tool]) for loss in rows.tables.losses],
    )
    return replace(rows, words=b"", tables=tables)


def scenario_rows(scenario: Scenario, setting: Setting) -> Iterator[Rows | Done]:
    """Yield the rows of a scenario."""
    transcript = synthesize(scenario)
    digest = hashlib.sha256(msgspec.json.encode(transcript)).hexdigest()
    provider = resolve(setting.overrides, (scenario.name, scenario.provider), None, setting.models)
    return _replay_all([AsSent(transcript, provider)], setting, setting.name, lambda: digest)


def source_rows(source: Source, setting: Setting) -> Iterator[Rows | Done]:
    """Yield the rows of one source, segment by segment; one that can't be read gives its error instead."""
    found = (
        one
        for transcript in _read_found(source)
        for one in as_sent(transcript, setting.overrides, setting.models, setting.head, setting.across)
    )
    return _replay_all(found, setting, source.name, lambda: _sha256(source))


def _read_found(source: Source) -> Iterator[Transcript]:
    """Return a source's transcripts; a file found in a folder that is none gives an empty transcript with a note."""
    try:
        yield from read_source(source)
    except NotATranscript as error:
        if source.named:
            raise
        yield Transcript(source.name, Head(recorded=False), (), (), notes=(f"left out: {error.what}",))


def _sha256(source: Source) -> str:
    digest = hashlib.sha256()
    try:
        if source.path is not None and source.path.is_dir():
            for file in sorted(path for path in source.path.rglob("*") if path.is_file()):
                digest.update(file.read_bytes())
        else:
            with source.open() as stream:
                while block := stream.read(1 << 20):
                    digest.update(block)
    except (OSError, EOFError, CtxsimError):
        return ""
    return digest.hexdigest()
