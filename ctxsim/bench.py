"""Transcripts x policies to a run's folder, on one core or many, with the same bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import ExitStack
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import msgspec

from ctxsim import __version__
from ctxsim.errors import CtxsimError, InputError, NotATranscript
from ctxsim.estimators import open_estimator
from ctxsim.losses import need_rows
from ctxsim.measure import Measured, frontier_rows
from ctxsim.policies import Spec, open_policy
from ctxsim.provider import Provider
from ctxsim.provider.models import Entry
from ctxsim.provider.resolve import resolve
from ctxsim.readers import read_source
from ctxsim.readers import sources as sources_of
from ctxsim.readers.source import Source
from ctxsim.references import DETECTORS, prepare, word_hash
from ctxsim.results import TABLES, InputInfo, RunInfo, RunWriter
from ctxsim.rows import NeedRow, SummaryRow
from ctxsim.synthesis import Scenario, synthesize
from ctxsim.tokenizers import open_tokenizer
from ctxsim.tokenizers.counter import Counter
from ctxsim.transcript import Head, Transcript

LONG_LABEL = 44

DEFAULT_POLICIES = (
    "keep-all",
    "drop-all",
    "oracle-lossless",
    "oracle-lossless:aim=dollars",
    "token-budget",
    "truncate-after-use",
    "max-result-chars:chars=20000",
    "max-messages:n=41",
    "head-tail",
    "fifo:budget=40000",
    "summary",
    "head-tail+summary",
    "mask:keep=10",
    "retry",
)
"""What a bench of recorded transcripts runs unless told otherwise."""


class Setting(msgspec.Struct, frozen=True):
    """How one bench runs: which policies, decided by which estimator, against which provider.

    `overrides` are the command line's fields of the provider; `models` the user's own entries.
    """

    name: str
    title: str
    policies: tuple[str, ...]
    estimator: str | None = None
    overrides: dict[str, Any] = {}
    models: tuple[Entry, ...] = ()


class Rows(msgspec.Struct, frozen=True):
    """What one transcript gives under all policies; or, last of a source, what the source was (`info`) and no rows."""

    provider: Provider | None = None
    info: InputInfo | None = None
    parent: str | None = None
    words: bytes = b""
    tables: dict[str, list[Any]] = {}


def specs_of(setting: Setting) -> list[Spec]:
    """Return the setting's policies, opened; equal labels once. Raises UnknownName or LabelError."""
    estimator = open_estimator(setting.estimator) if setting.estimator else None
    opened = [open_policy(label, estimator) for label in setting.policies]
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
                yield _replay_one(transcript, specs, provider_of(transcript))
    except InputError as bad:
        error = str(bad)
    yield Rows(info=InputInfo(name, sha256(), transcripts_read, calls_read, tuple(notes), error))


def _replay_one(transcript: Transcript, specs: list[Spec], provider: Provider) -> Rows:
    """Return one transcript's rows under all policies; dollars are compared with keep-all's."""
    counter = Counter(open_tokenizer(provider.tokenizer))
    base = open_policy("keep-all")
    references = prepare(transcript)
    keep_all = Measured(transcript, base, provider, counter, references)
    bounds = keep_all.frontiers()
    tables: dict[str, list[Any]] = {name: [] for name in TABLES}
    tables["needs"] = need_rows(transcript, references)
    tables["frontier"] = frontier_rows(keep_all, bounds)
    for spec in specs:
        measured = keep_all if spec == base else Measured(transcript, spec, provider, counter, references)
        tables["calls"].extend(measured.calls)
        tables["events"].extend(measured.events)
        tables["losses"].extend(measured.losses.rows)
        tables["needles"].extend(measured.losses.needles)
        tables["summary"].append(measured.summary(keep_all, bounds))
    return Rows(provider, parent=transcript.parent, words=references.words, tables=tables)


def bench_scenario(scenario: Scenario, setting: Setting) -> Iterator[Rows]:
    """Yield the rows of a scenario."""
    transcript = synthesize(scenario)
    digest = hashlib.sha256(msgspec.json.encode(transcript)).hexdigest()
    provider = resolve(setting.overrides, (scenario.name, scenario.provider), None, setting.models)
    return _replay_all([transcript], setting, lambda _: provider, setting.name, lambda: digest)


def bench_source(source: Source, setting: Setting) -> Iterator[Rows]:
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


Task = tuple[Callable[..., Iterator[Rows]], tuple[Any, ...]]


def _ordered(work: Iterator[Task], executor: Executor | None, ahead: int) -> Iterator[Rows]:
    """Yield results in the order of the work, with so many tasks under way at once."""
    if executor is None:
        for function, arguments in work:
            yield from function(*arguments)
        return
    waiting = [executor.submit(_collected, *task) for task in islice(work, ahead)]
    while waiting:
        done = waiting.pop(0).result()
        waiting += [executor.submit(_collected, *task) for task in islice(work, 1)]
        yield from done


def _collected(function: Callable[..., Iterator[Rows]], arguments: tuple[Any, ...]) -> list[Rows]:
    """A source's rows in one piece: what one process sends to another."""
    return list(function(*arguments))


def bench(
    setting: Setting,
    out: Path,
    scenario: Scenario | None = None,
    paths: Sequence[str] = (),
    jobs: int = 1,
    progress: Callable[[InputInfo], None] = lambda info: None,
) -> RunInfo:
    """Run a scenario or the transcripts under some paths, write the run's folder, and return what was run.

    Files that can't be read are in the inputs with their `error`; the others are done. Raises UnknownName, LabelError
    or ContractError for a policy that can't run, and InputError for a path that doesn't exist.
    """
    specs = specs_of(setting)

    def work() -> Iterator[Task]:
        if scenario is not None:
            yield bench_scenario, (scenario, setting)
            return
        for path in paths:
            for source in sources_of(path):
                yield bench_source, (source, setting)

    if scenario is not None:
        resolve(setting.overrides, (scenario.name, scenario.provider), None, setting.models)
    if setting.overrides.get("tokenizer"):
        open_tokenizer(setting.overrides["tokenizer"])
    inputs: list[InputInfo] = []
    together = _Together()
    with ExitStack() as stack:
        writer = stack.enter_context(RunWriter(out))
        # Spawned, not forked: a fork of a process with the tokenizer's threads can hang.
        pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) if jobs > 1 else None
        executor = stack.enter_context(pool) if pool else None
        for rows in _ordered(work(), executor, 2 * jobs):
            if rows.info is not None:
                inputs.append(rows.info)
                progress(rows.info)
            if rows.provider is not None:
                writer.write({**rows.tables, "summary": together.summary(rows)})
        providers = together.providers
        tokenizers = dict.fromkeys(provider.tokenizer for provider in providers)
        info = RunInfo(
            name=setting.name,
            title=setting.title,
            ctxsim=__version__,
            tokenizers={name: open_tokenizer(name).vocabulary_sha256 for name in tokenizers},
            policies=tuple(spec.label for spec in specs),
            shown={spec.label: spec.short for spec in specs if len(spec.label) > LONG_LABEL},
            bounds=tuple(spec.label for spec in specs if spec.bound),
            providers=tuple(msgspec.to_builtins(provider) for provider in providers),
            detectors=DETECTORS,
            inputs=tuple(inputs),
            scenario=msgspec.to_builtins(scenario) if scenario else None,
        )
        writer.finish(info)
        return info


class _Together:
    """What can be said of a transcript only beside the others of its run, in their order."""

    def __init__(self) -> None:
        self._providers: dict[bytes, Provider] = {}
        self._roots: dict[str, str] = {}
        self._foreign: tuple[str, bytes] = ("", b"")
        """The root and the words of the last transcript that belongs to another session than the newest."""
        self._newest: tuple[str, bytes] = ("", b"")

    @property
    def providers(self) -> list[Provider]:
        """All providers, in order of first appearance."""
        return list(self._providers.values())

    def summary(self, rows: Rows) -> list[SummaryRow]:
        """Return a transcript's summary rows with provider, root session and chance rate."""
        assert rows.provider is not None
        name = rows.tables["summary"][0].transcript
        root = self._roots.get(rows.parent, rows.parent) if rows.parent else name
        self._roots[name] = root
        key = msgspec.json.encode(rows.provider)
        self._providers.setdefault(key, rows.provider)
        number = list(self._providers).index(key)
        if root != self._newest[0]:
            self._foreign = self._newest
        chance = self._chance(rows.tables["needs"])
        self._newest = (root, rows.words)
        return [
            msgspec.structs.replace(row, provider=number, root=root, chance_rate=chance)
            for row in rows.tables["summary"]
        ]

    def _chance(self, needs: Sequence[NeedRow]) -> float | None:
        """Share of a transcript's strict needs that results of a foreign transcript hold too."""
        atoms = {need.atom for need in needs if need.detector == "strict"}
        if not atoms or not self._foreign[0]:
            return None
        foreign = frozenset(memoryview(self._foreign[1]).cast("I"))
        return round(sum(word_hash(atom) in foreign for atom in atoms) / len(atoms), 6)
