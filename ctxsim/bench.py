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
from ctxsim.errors import CtxsimError, InputError
from ctxsim.estimators import open_estimator
from ctxsim.measure import summarize_calls
from ctxsim.policies import Spec, open_policy
from ctxsim.provider import Provider
from ctxsim.readers import read_source
from ctxsim.readers import sources as sources_of
from ctxsim.readers.source import Source
from ctxsim.replay import events as audit
from ctxsim.replay import replay
from ctxsim.results import InputInfo, RunInfo, RunWriter
from ctxsim.rows import CallRow, Event, SummaryRow
from ctxsim.synthesis import Scenario, synthesize
from ctxsim.tokenizers import open_tokenizer
from ctxsim.tokenizers.counter import Counter
from ctxsim.transcript import Transcript

DEFAULT_POLICIES = (
    "keep-all",
    "drop-all",
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
    """How one bench runs: which policies, decided by which estimator, against which provider."""

    name: str
    title: str
    policies: tuple[str, ...]
    estimator: str | None = None
    provider: Provider = Provider()


class Rows(msgspec.Struct, frozen=True):
    """What one source of transcripts gives."""

    info: InputInfo
    calls: list[CallRow]
    events: list[Event]
    summary: list[SummaryRow]


def provider_of(values: dict[str, Any], origin: str, overrides: dict[str, Any]) -> Provider:
    """Return the provider of a scenario's values and the command line's. Raises InputError naming a bad field."""
    given = {key: value for key, value in overrides.items() if value is not None}
    origins = [origin] if values or not given else []
    if given:
        origins.append("command line: " + ", ".join(given))
    try:
        return msgspec.convert({**values, **given, "origin": "; ".join(origins)}, Provider)
    except (msgspec.ValidationError, ValueError) as error:
        raise InputError(origin, f"provider: {error}") from None


def scenario_setting(
    scenario: Scenario, policies: Sequence[str], estimator: str | None, overrides: dict[str, Any]
) -> Setting:
    """Return how a scenario's bench runs; policies given take the place of its own."""
    provider = provider_of(scenario.provider, f"scenario {scenario.name}", overrides)
    return Setting(scenario.name, scenario.title, tuple(policies) or scenario.policies, estimator, provider)


def specs_of(setting: Setting) -> list[Spec]:
    """Return the setting's policies, opened; equal labels once. Raises UnknownName or LabelError."""
    estimator = open_estimator(setting.estimator) if setting.estimator else None
    opened = [open_policy(label, estimator) for label in setting.policies]
    return list({spec.label: spec for spec in opened}.values())


def _replay_all(transcripts: Iterable[Transcript], setting: Setting, name: str, sha256: Callable[[], str]) -> Rows:
    specs = specs_of(setting)
    tokenizer = open_tokenizer(setting.provider.tokenizer)
    rows = Rows(InputInfo(name, "", 0, 0), [], [], [])
    transcripts_read, calls_read, notes, error = 0, 0, [], None
    try:
        for transcript in transcripts:
            transcripts_read += 1
            calls_read += len(transcript.calls)
            notes += [f"{transcript.name}: {note}" for note in transcript.notes]
            if not transcript.calls:
                continue
            counter = Counter(tokenizer)
            for spec in specs:
                calls = []
                for sent in replay(transcript, spec, setting.provider, counter):
                    calls.append(sent.row)
                    rows.events.extend(audit(sent, counter))
                rows.calls.extend(calls)
                rows.summary.append(summarize_calls(calls))
    except InputError as bad:
        error = str(bad)
    info = InputInfo(name, sha256(), transcripts_read, calls_read, tuple(notes), error)
    return msgspec.structs.replace(rows, info=info)


def bench_scenario(scenario: Scenario, setting: Setting) -> Rows:
    """Return the rows of a scenario."""
    transcript = synthesize(scenario)
    digest = hashlib.sha256(msgspec.json.encode(transcript)).hexdigest()
    return _replay_all([transcript], setting, setting.name, lambda: digest)


def bench_source(source: Source, setting: Setting) -> Rows:
    """Return the rows of all transcripts of one source; a source that can't be read gives its error instead."""
    return _replay_all(read_source(source), setting, source.name, lambda: _sha256(source))


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


def _ordered(
    work: Iterator[tuple[Callable[..., Rows], tuple[Any, ...]]], executor: Executor | None, ahead: int
) -> Iterator[Rows]:
    """Return results in the order of the work, with so many tasks under way at once."""
    if executor is None:
        for function, arguments in work:
            yield function(*arguments)
        return
    waiting = [executor.submit(function, *arguments) for function, arguments in islice(work, ahead)]
    while waiting:
        done = waiting.pop(0).result()
        waiting += [executor.submit(function, *arguments) for function, arguments in islice(work, 1)]
        yield done


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

    def work() -> Iterator[tuple[Callable[..., Rows], tuple[Any, ...]]]:
        if scenario is not None:
            yield bench_scenario, (scenario, setting)
            return
        for path in paths:
            for source in sources_of(path):
                yield bench_source, (source, setting)

    tokenizer = open_tokenizer(setting.provider.tokenizer)
    inputs: list[InputInfo] = []
    with ExitStack() as stack:
        writer = stack.enter_context(RunWriter(out))
        # Spawned, not forked: a fork of a process with the tokenizer's threads can hang.
        pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) if jobs > 1 else None
        executor = stack.enter_context(pool) if pool else None
        for rows in _ordered(work(), executor, 2 * jobs):
            writer.write(rows.calls, rows.events, rows.summary)
            inputs.append(rows.info)
            progress(rows.info)
        info = RunInfo(
            name=setting.name,
            title=setting.title,
            ctxsim=__version__,
            tokenizer=tokenizer.name,
            vocabulary_sha256=tokenizer.vocabulary_sha256,
            policies=tuple(spec.label for spec in specs),
            bounds=tuple(spec.label for spec in specs if spec.bound),
            provider=msgspec.to_builtins(setting.provider),
            inputs=tuple(inputs),
            scenario=msgspec.to_builtins(scenario) if scenario else None,
        )
        writer.finish(info)
        return info
