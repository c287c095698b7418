"""One task of a bench: all transcripts of one source, or one scenario, under all policies."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from ctxsim.errors import CtxsimError, NotATranscript
from ctxsim.policies import Spec, open_policies
from ctxsim.readers import SUFFIXES, read_source
from ctxsim.readers.glance import Accepted
from ctxsim.readers.source import Source
from ctxsim.readers.source.database import written_beside
from ctxsim.readers.source.limits import most_bytes
from ctxsim.readers.source.placed import Placed
from ctxsim.recorded.as_sent import as_sent
from ctxsim.results import InputInfo
from ctxsim.results.run_info import baseline_in
from ctxsim.runs.anonymous import info_without_secrets, info_without_text, tables_without_secrets, without_text
from ctxsim.runs.rows import Done, Rows, Share
from ctxsim.runs.transcript_rows import rows_of, told_in
from ctxsim.runs.user_code import Shipped, unpack
from ctxsim.safety.redaction import Secrets
from ctxsim.simulator.measure.measured import AsSent, HeadMode
from ctxsim.simulator.measure.summary import WhatIf
from ctxsim.simulator.provider.models import Entry
from ctxsim.simulator.provider.resolve import resolve
from ctxsim.synthesis import Scenario, synthesize
from ctxsim.transcript import Transcript


class Wanted(NamedTuple):
    """A sample of so many transcripts, drawn by this seed."""

    transcripts: int
    seed: int


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a run is made, as `run.json` states it: which policies, with which estimator, against which provider.

    `overrides` are the command line's fields of the provider; `models` the user's own entries. Without `text` no text
    of a transcript gets into the results; with it likely keys are redacted unless `keep_secrets`. `head` stands for
    heads that logs don't hold. With `across`, recordings are replayed as if they had never been compacted.
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
    keep_secrets: bool | msgspec.UnsetType = msgspec.UNSET
    """Unset by default, so that the digest of a run's request stays the same as in earlier versions."""
    sample: Wanted | msgspec.UnsetType = msgspec.UNSET
    """How many transcripts are drawn, by which seed."""
    paths: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """Paths of recordings; set only in `run.json`."""
    brackets: bool | msgspec.UnsetType = msgspec.UNSET
    """False to skip what worse and better summaries would keep, and the least input that keeps as much."""
    refetch: float | msgspec.UnsetType = msgspec.UNSET
    """The rate at which lost references are fetched again, if one is requested; at 0 nothing is fetched."""
    draws: int | msgspec.UnsetType = msgspec.UNSET
    """How many seeded draws are made at that rate."""


class Setting(Asked, frozen=True):
    """How one bench runs: the fields of Asked, and fields that only workers get and that no file states."""

    share: Share | msgspec.UnsetType = msgspec.UNSET
    """The share of the policies to run, if several processes do one source."""
    drawn: tuple[int, ...] | msgspec.UnsetType = msgspec.UNSET
    """Indices of the transcripts to run, among those of one source that have calls."""
    shipped: Shipped | msgspec.UnsetType = msgspec.UNSET
    """The user's own code."""
    accepted: Accepted | msgspec.UnsetType = msgspec.UNSET
    """The largest accepted requests that all sources show, by project and model."""


def specs_of(setting: Setting) -> Sequence[Spec]:
    """Return the setting's policies, opened; equal labels once; keep-all first if it isn't among them.

    Other policies are compared with keep-all. Raises UnknownName or LabelError.
    """
    if setting.shipped is not msgspec.UNSET:
        unpack(setting.shipped)
    specs = open_policies(setting.policies, setting.estimator)
    if any(name == "keep-all" for spec in specs if len(spec.links) == 1 for _, name, _ in spec.links):
        return list(specs)
    return [*open_policies(("keep-all",), setting.estimator), *specs]


def what_if_of(setting: Setting) -> WhatIf:
    """Return which what-if replays are made besides those of the policies."""
    fetched = setting.refetch is msgspec.UNSET or setting.refetch > 0
    return WhatIf(setting.brackets is not False, fetched, setting.refetch or 0.0, setting.draws or 0)


Tell = Callable[[str, int, int], object]
"""Progress callback: the source's name, how many policy-calls of its present transcript are done, and of how many."""


def nobody(name: str, done: int, known: int) -> None:
    """Ignore the progress."""


Made = Callable[[AsSent, list[str]], Rows | None]
"""Returns the rows of one transcript, if any, and adds a line to the list for each policy that fails."""


def _of_each(
    found: Iterable[AsSent], setting: Setting, name: str, sha256: str, made: Made, beside: str = "",
    notes: Sequence[str] = (),
) -> Iterator[Rows | Done]:  # fmt: skip
    """Yield each transcript's rows as it is done, so that memory is bounded by the largest, and then the source.

    An error in one source, transcript or policy becomes a line, and the others go on. `notes` on the whole source may
    be added while its transcripts are read.
    """
    transcripts_read, calls_read = 0, 0
    number = -1
    drawn = None if setting.drawn is msgspec.UNSET else frozenset(setting.drawn)
    noted: list[str] = []
    errors: list[str] = []
    failed: list[str] = []
    keys: Counter[str] = Counter()
    with told_in(errors, name):
        for one in found:
            transcript = one.transcript
            transcripts_read += 1
            calls_read += len(transcript.calls)
            noted += [f"{transcript.name}: {note}" for note in transcript.notes]
            if not transcript.calls:
                continue
            number += 1
            if drawn is not None and number not in drawn:
                continue
            rows = None
            with told_in(failed, transcript.name):
                rows = made(one, failed)
            if rows is None:
                continue
            rows = msgspec.structs.replace(rows, number=number)
            if not setting.text:
                yield without_text(rows, transcript.model)
                continue
            secrets = Secrets(item.text for item in transcript.items)
            keys += secrets.issuers
            if secrets and not setting.keep_secrets:
                rows = msgspec.structs.replace(rows, tables=tables_without_secrets(rows.tables, secrets))
            yield rows
    error = errors[0] if errors else None
    # In an order that doesn't depend on which process did which policies.
    failures = tuple(sorted(set(failed))) or msgspec.UNSET
    info = InputInfo(name, sha256, transcripts_read, calls_read, (*notes, *noted), error, failures)
    yield done(msgspec.structs.replace(info, keys=dict(sorted(keys.items())) or msgspec.UNSET), setting, beside)


def _replayed(setting: Setting, name: str, tell: Tell) -> Made:
    """Return a Made that replays a transcript under the setting's policies, or under its share of them."""
    specs = specs_of(setting)
    baseline = baseline_in(spec.label for spec in specs)
    if setting.share is not msgspec.UNSET:
        specs = setting.share.among(specs)
    return lambda one, failed: rows_of(one, specs, failed, partial(tell, name), what_if_of(setting), baseline)


def done(info: InputInfo, setting: Setting, beside: str = "") -> Done:
    """Return the Done of a source, with its description redacted as the setting says."""
    if not setting.text:
        return Done(info_without_text(info), beside)
    return Done(info if setting.keep_secrets else info_without_secrets(info), beside)


def scenario_rows(scenario: Scenario, setting: Setting, tell: Tell = nobody) -> Iterator[Rows | Done]:
    """Yield the rows of a scenario, and then its Done."""
    transcript = synthesize(scenario)
    provider = resolve(setting.overrides, (scenario.name, scenario.provider), None, setting.models)
    made = _replayed(setting, setting.name, tell)
    return _of_each([AsSent(transcript, provider)], setting, setting.name, transcript_sha256(transcript), made)


def transcript_sha256(transcript: Transcript) -> str:
    """Return the hash of a transcript as JSON."""
    return hashlib.sha256(msgspec.json.encode(transcript)).hexdigest()


def source_rows(source: Source, setting: Setting, tell: Tell = nobody) -> Iterator[Rows | Done]:
    """Yield the rows of one source, segment by segment, and then its Done, which has the error of an unreadable one."""
    return of_source(source, setting, _replayed(setting, source.name, tell))


def of_source(source: Source, setting: Setting, made: Made) -> Iterator[Rows | Done]:
    """Yield what `made` returns for a source's transcripts that have calls, in their order, and then its Done."""
    # Before reading: if the source changes meanwhile, the hash isn't that of the new content, and its task is redone.
    sha256, beside = source_sha256(source), names_beside(source)
    left_out: list[str] = []
    return _of_each(_sent(source, setting, left_out), setting, source.name, sha256, made, beside, left_out)


def _sent(source: Source, setting: Setting, left_out: list[str]) -> Iterator[AsSent]:
    """Yield a source's transcripts as they were sent; an unnamed file that is none adds a line to `left_out`."""
    if setting.shipped is not msgspec.UNSET:
        unpack(setting.shipped)
    try:
        for transcript in read_source(source):
            yield from as_sent(
                transcript, setting.overrides, setting.models, setting.head, setting.across, setting.accepted or None
            )
    except NotATranscript as error:
        if source.named:
            raise
        left_out.append(f"{source.name}: left out: {error.what}")


def lost(what: Source | Scenario, setting: Setting) -> Done:
    """Return the Done, with an error, of a source whose worker died."""
    error = f"{what.name}: the process that replayed it was killed; out of memory, or a policy that ends processes?"
    return done(InputInfo(what.name, "", 0, 0, (), error), setting)


def source_content(source: Source) -> str:
    """Return a hash of all that a source's rows depend on: its content, and the names of the files beside it."""
    return source_sha256(source) + names_beside(source)


def names_beside(source: Source) -> str:
    """Return a hash of the names of transcripts in a file's folder and in the one above; '' if the source is no file.

    Readers use these names: a sub-agent's file states its parent's id, and the parent is the file with that name.
    """
    if isinstance(source, Placed) and source.beside is not None:
        return source.beside
    if source.path is None or not source.path.is_file():
        return ""
    folder = source.path.absolute().parent
    return hashlib.sha256("\0".join(map(_names_in, (folder, folder.parent))).encode()).hexdigest()


def _names_in(folder: Path) -> str:
    try:
        return _names_at(folder, folder.stat().st_mtime_ns)
    except OSError:
        return ""


@lru_cache(maxsize=64)
def _names_at(folder: Path, changed_ns: int) -> str:
    """Return a hash of the names, cached by folder and change: doing it for each file would take quadratic time."""
    names = sorted(ascii(path.name) for path in folder.iterdir() if path.suffix in SUFFIXES)
    return hashlib.sha256("\n".join(names).encode()).hexdigest()


def files_below(folder: Path) -> list[Path]:
    """Return the files of a folder that is one source, without large ones that no reader reads."""
    return sorted(
        path for path in folder.rglob("*")
        if path.is_file() and (path.suffix in SUFFIXES or path.stat().st_size <= most_bytes())
    )  # fmt: skip


def _take(stream: BinaryIO, take: Callable[[bytes], object]) -> None:
    while block := stream.read(1 << 20):
        take(block)


def source_sha256(source: Source) -> str:
    """Return the hash of a source's content, decompressed; '' if it can't be read."""
    digest = hashlib.sha256()
    try:
        if source.path is not None and source.path.is_dir():
            for file in files_below(source.path):
                with file.open("rb") as stream:
                    _take(stream, digest.update)
        else:
            with source.open() as stream:
                _take(stream, digest.update)
            for file in written_beside(source.path):
                with file.open("rb") as stream:
                    digest.update(hashlib.file_digest(stream, "sha256").digest())
    except (OSError, EOFError, CtxsimError):
        return ""
    return digest.hexdigest()
