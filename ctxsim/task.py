"""One task of a bench: all transcripts of one source, or one scenario, under all policies."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

import msgspec

from ctxsim.errors import CtxsimError, InputError, NotATranscript
from ctxsim.estimators import open_estimator
from ctxsim.losses import item_rows, loss_rows, need_rows
from ctxsim.measure import KEEP_ALL, Measured, frontier_rows
from ctxsim.policies import Spec, open_policy
from ctxsim.provider import Provider
from ctxsim.provider.models import Entry
from ctxsim.provider.resolve import resolve
from ctxsim.readers import read_source
from ctxsim.readers.source import Source
from ctxsim.references import prepare
from ctxsim.results import InputInfo, Tables
from ctxsim.synthesis import Scenario, synthesize
from ctxsim.tokenizers import open_tokenizer
from ctxsim.tokenizers.counter import Counter
from ctxsim.transcript import Head, Transcript


class Setting(msgspec.Struct, frozen=True):
    """How one bench runs: which policies, decided by which estimator, against which provider.

    `overrides` are the command line's fields of the provider; `models` the user's own entries. Without `text` no word
    of a transcript gets into the results.
    """

    name: str
    title: str
    policies: tuple[str, ...]
    estimator: str | None = None
    overrides: dict[str, Any] = {}
    text: bool = True
    models: tuple[Entry, ...] = ()


class Rows(msgspec.Struct, frozen=True):
    """What one transcript gives under all policies; or, last of a source, what the source was (`info`) and no rows."""

    provider: Provider | None = None
    info: InputInfo | None = None
    parent: str | None = None
    words: bytes = b""
    tables: Tables | None = None


def specs_of(setting: Setting) -> list[Spec]:
    """Return the setting's policies, opened; equal labels once. Raises UnknownName or LabelError."""
    return list(_opened(setting.policies, setting.estimator))


@lru_cache(maxsize=8)
def _opened(policies: tuple[str, ...], by: str | None) -> list[Spec]:
    estimator = open_estimator(by) if by else None
    opened = [open_policy(label, estimator) for label in policies]
    return list({spec.label: spec for spec in opened}.values())


def _replay_all(
    transcripts: Iterable[Transcript],
    setting: Setting,
    provider_of: Callable[[Transcript], Provider],
    name: str,
    sha256: Callable[[], str],
) -> Iterator[Rows]:
    """Yield each transcript's rows as it is done, so that memory is bounded by the largest, and then the source."""
    specs = specs_of(setting)
    transcripts_read, calls_read, notes, error = 0, 0, [], None
    try:
        for transcript in transcripts:
            transcripts_read += 1
            calls_read += len(transcript.calls)
            notes += [f"{transcript.name}: {note}" for note in transcript.notes]
            if transcript.calls:
                rows = _replay_one(transcript, specs, provider_of(transcript))
                yield rows if setting.text else without_text(rows)
    except InputError as bad:
        error = str(bad)
    yield Rows(info=InputInfo(name, sha256(), transcripts_read, calls_read, tuple(notes), error))


def _replay_one(transcript: Transcript, specs: list[Spec], provider: Provider) -> Rows:
    """Return one transcript's rows under all policies; dollars are compared with keep-all's."""
    counter = Counter(open_tokenizer(provider.tokenizer))
    references = prepare(transcript)
    keep_all = Measured(transcript, KEEP_ALL, provider, counter, references)
    bounds = keep_all.frontiers()
    tables = Tables(
        needs=need_rows(transcript, references),
        items=item_rows(transcript, references, counter),
        frontier=frontier_rows(keep_all, bounds),
    )
    for spec in specs:
        measured = keep_all if spec == KEEP_ALL else Measured(transcript, spec, provider, counter, references, keep_all)
        tables.calls.extend(measured.calls)
        tables.events.extend(measured.events)
        tables.losses.extend(loss_rows(spec.label, measured.losses.lost, tables.needs))
        tables.needles.extend(measured.losses.needles)
        tables.summary.append(measured.summary(keep_all, bounds))
    return Rows(provider, parent=transcript.parent, words=references.words, tables=tables)


def without_text(rows: Rows) -> Rows:
    """Return the rows without what transcripts say: items, edits and atoms keep their numbers, tools their order."""
    if rows.tables is None:
        return rows
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


def scenario_rows(scenario: Scenario, setting: Setting) -> Iterator[Rows]:
    """Yield the rows of a scenario."""
    transcript = synthesize(scenario)
    digest = hashlib.sha256(msgspec.json.encode(transcript)).hexdigest()
    provider = resolve(setting.overrides, (scenario.name, scenario.provider), None, setting.models)
    return _replay_all([transcript], setting, lambda _: provider, setting.name, lambda: digest)


def source_rows(source: Source, setting: Setting) -> Iterator[Rows]:
    """Yield the rows of one source, transcript by transcript; one that can't be read gives its error instead."""

    def provider_of(transcript: Transcript) -> Provider:
        return resolve(setting.overrides, None, transcript, setting.models)

    return _replay_all(_read_found(source), setting, provider_of, source.name, lambda: _sha256(source))


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
