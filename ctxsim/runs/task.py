"""One task of a bench: all transcripts of one source, or one scenario, under all policies."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, cast

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
from ctxsim.runs.anonymous import info_without_secrets, info_without_text, without_secrets, without_text
from ctxsim.runs.rows import WHOLE, Done, Rows, Share
from ctxsim.runs.sizes import keep_all
from ctxsim.runs.transcript_rows import rows_of, told_in
from ctxsim.runs.user_code import Shipped, unpack
from ctxsim.safety.redaction import Secrets
from ctxsim.simulator.measure.measured import AsSent, HeadMode
from ctxsim.simulator.measure.summary import WhatIf
from ctxsim.simulator.provider.models import Model
from ctxsim.simulator.provider.resolve import resolve
from ctxsim.synthesis import Scenario, synthesize
from ctxsim.transcript import Transcript


class Wanted(NamedTuple):
    """A sample of so many transcripts, drawn by this seed."""

    transcripts: int
    seed: int


class Setting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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
    models: tuple[Model, ...] = ()
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


class Common(msgspec.Struct, frozen=True):
    """What all tasks of a bench have in common: its setting, and what no file states."""

    setting: Setting
    code: Shipped = Shipped()
    """The user's own code, for another process."""
    accepted: Accepted = {}
    """The largest accepted requests that all sources show, by project and model."""
    today: date | None = None
    """The day whose prices hold where no recording says the day."""


class Task(msgspec.Struct, frozen=True):
    """What a process does at a time: all transcripts of one source, or one scenario."""

    what: Source | Scenario
    common: Common
    share: Share = WHOLE
    """The share of the policies to run, if several processes do one source."""
    drawn: tuple[int, ...] | None = None
    """Indices of the transcripts to run, among those that have calls; None: all."""
    sizing: bool = False
    """Whether only the sizes of the transcripts are wanted."""


def specs_of(setting: Setting) -> Sequence[Spec]:
    """Return the setting's policies, opened; equal labels once; keep-all first if it isn't among them.

    Other policies are compared with keep-all. Raises UnknownName or LabelError.
    """
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


def results_of(task: Task, tell: Tell = lambda name, done, known: None) -> Iterator[Rows | Done]:
    """Yield each transcript's rows as it is done, so that memory is bounded by the largest, and then the task's Done.

    An error in one source, transcript or policy becomes a line, and the others go on. Raises UnknownName or LabelError
    for a policy that can't be made.
    """
    what, setting = task.what, task.common.setting
    unpack(task.common.code)
    specs = () if task.sizing else specs_of(setting)
    baseline = baseline_in(spec.label for spec in specs)
    specs = task.share.among(specs)
    notes: list[str] = []
    # Before reading: if the source changes meanwhile, the hash isn't that of the new content, and its task is redone.
    if isinstance(what, Scenario):
        sha256, beside, found = _of_scenario(what, task.common)
    else:
        sha256, beside, found = source_sha256(what), names_beside(what), _of_source(what, task.common, notes)
    transcripts_read, calls_read, number = 0, 0, -1
    noted: list[str] = []
    errors: list[str] = []
    failed: list[str] = []
    keys: Counter[str] = Counter()
    sizes: list[tuple[int, float | None]] = []
    with told_in(errors, what.name):
        for one in found:
            transcript = one.transcript
            transcripts_read += 1
            calls_read += len(transcript.calls)
            left_out = () if transcript.calls else ("left out: no call to replay",)
            noted += [f"{transcript.name}: {note}" for note in (*left_out, *transcript.notes)]
            if not transcript.calls:
                continue
            number += 1
            if task.drawn is not None and number not in task.drawn:
                continue
            rows = None
            with told_in(failed, transcript.name):
                if task.sizing:
                    sizes.append((0, None))
                    sizes[-1] = keep_all(one)
                    continue
                rows = rows_of(one, specs, failed, partial(tell, what.name), what_if_of(setting), baseline)
            if rows is None:
                continue
            rows = msgspec.structs.replace(rows, number=number)
            if not setting.text:
                yield without_text(rows, transcript.model)
                continue
            secrets = Secrets(item.text for item in transcript.items)
            keys += secrets.issuers
            yield rows if setting.keep_secrets else without_secrets(rows, secrets)
    error = errors[0] if errors else None
    # In an order that doesn't depend on which process did which policies.
    failures = tuple(sorted(set(failed))) or msgspec.UNSET
    info = InputInfo(what.name, sha256, transcripts_read, calls_read, (*notes, *noted), error, failures)
    info = msgspec.structs.replace(info, keys=dict(sorted(keys.items())) or msgspec.UNSET)
    yield Done(_handed_on(info, setting), beside, tuple(sizes))


def _handed_on(info: InputInfo, setting: Setting) -> InputInfo:
    """Return a source's description, redacted as the setting says."""
    if not setting.text:
        return info_without_text(info)
    return info if setting.keep_secrets else info_without_secrets(info)


def lost(task: Task) -> Done:
    """Return the Done, with an error, of a task whose worker died."""
    name = task.what.name
    error = f"{name}: the process that replayed it was killed; out of memory, or a policy that ends processes?"
    return Done(_handed_on(InputInfo(name, "", 0, 0, (), error), task.common.setting))


def _of_scenario(scenario: Scenario, common: Common) -> tuple[str, str, Iterable[AsSent]]:
    transcript = synthesize(scenario)
    asked = common.setting
    named = scenario.name, scenario.provider
    provider = resolve(asked.overrides, named, None, asked.models, today=common.today)
    return transcript_sha256(transcript), "", [AsSent(transcript, provider)]


def _of_source(source: Source, common: Common, left_out: list[str]) -> Iterator[AsSent]:
    """Yield a source's transcripts as they were sent; an unnamed file that is none adds a line to `left_out`."""
    asked = common.setting
    try:
        for transcript in read_source(source):
            yield from as_sent(
                transcript, asked.overrides, asked.models, asked.head, asked.across, common.accepted or None,
                today=common.today,
            )  # fmt: skip
    except NotATranscript as error:
        if source.named:
            raise
        left_out.append(f"{source.name}: left out: {error.what}")


def transcript_sha256(transcript: Transcript) -> str:
    """Return the hash of a transcript as JSON."""
    return hashlib.sha256(msgspec.json.encode(transcript)).hexdigest()


def content_of(what: Source | Scenario) -> str:
    """Return a hash of all that the rows depend on: the content, and the names of the files beside a source."""
    if isinstance(what, Scenario):
        return transcript_sha256(synthesize(what))
    return source_sha256(what) + names_beside(what)


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


def source_sha256(source: Source) -> str:
    """Return the hash of a source's content, decompressed; '' if it can't be read."""
    digest = hashlib.sha256()
    try:
        if source.path is not None and source.path.is_dir():
            for file in files_below(source.path):
                with file.open("rb") as stream:
                    hashlib.file_digest(stream, lambda: digest)
        else:
            with source.open() as stream, source.readable():
                hashlib.file_digest(cast(Any, stream), lambda: digest)
            for file in written_beside(source.path):
                with file.open("rb") as stream:
                    digest.update(hashlib.file_digest(stream, "sha256").digest())
    except (OSError, CtxsimError):
        return ""
    return digest.hexdigest()
