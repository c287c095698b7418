"""Transcripts x policies to a run's folder, on one core or many, with the same bytes."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import msgspec

from ctxsim import __version__
from ctxsim.bench.another import refuse_another
from ctxsim.bench.parts import Parts, question, read_part, write_part
from ctxsim.bench.task import Done, Rows, Setting, scenario_rows, source_rows, specs_of
from ctxsim.errors import CtxsimError
from ctxsim.provider import Provider
from ctxsim.provider.resolve import resolve
from ctxsim.readers import sources as sources_of
from ctxsim.references import DETECTORS, word_hash
from ctxsim.results import InputInfo, RunInfo
from ctxsim.results.columns import NeedRow, SummaryRow
from ctxsim.results.writer import RunWriter
from ctxsim.synthesis import Scenario
from ctxsim.tokenizers import open_tokenizer

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


Task = tuple[Callable[..., Iterator[Rows | Done]], tuple[Any, ...]]


def _never() -> bool:
    return False


def bench(
    setting: Setting,
    out: Path,
    scenario: Scenario | None = None,
    paths: Sequence[str] = (),
    jobs: int = 1,
    progress: Callable[[InputInfo, int], None] = lambda info, total: None,
    stopped: Callable[[], bool] = _never,
    resume: bool = False,
    cluster: str | None = None,
    replace: bool = True,
) -> RunInfo:
    """Run a scenario or the transcripts under some paths, write the run's folder, and return what was run.

    Finished tasks are kept until the run is complete: with `resume` they aren't done again, and the bytes are the same
    as without. `cluster` is the address of a dask scheduler. `progress` gets each finished source and the number of
    all; when `stopped` says so, what is finished becomes a run that says it isn't complete. Files that can't be read
    are in the inputs with their `error`. Without `replace` a folder that holds another run is refused by InputError.
    Raises UnknownName, LabelError or ContractError for a policy that can't run, InputError for a path that doesn't
    exist, and CtxsimError where nothing can be written.
    """
    specs = specs_of(setting)
    if scenario is not None:
        resolve(setting.overrides, (scenario.name, scenario.provider), None, setting.models)
        names, tasks = [scenario.name], [(scenario_rows, (scenario, setting))]
    else:
        found = list(sources_of(*paths))
        for source in found if cluster else ():
            # Workers have another working directory; names stay as they were given.
            source.path = source.path and source.path.absolute()
        names = [source.name for source in found]
        tasks = [(source_rows, (source, setting)) for source in found]  # type: ignore[misc]
    if setting.overrides.get("tokenizer"):
        open_tokenizer(setting.overrides["tokenizer"])
    # Workers elsewhere have another working directory.
    out = out.absolute()
    if not replace:
        refuse_another(out, question(setting, names))
    parts = Parts(out, setting, names, resume)
    inputs: list[InputInfo] = []
    together = _Together()
    with ExitStack() as stack:
        stack.enter_context(_writing_told(out))
        stack.enter_context(parts)
        writer = stack.enter_context(RunWriter(out))
        executor: Executor | None = None
        if cluster is not None:
            executor, jobs = _cluster(cluster, stack)
        elif jobs > 1:
            executor = stack.enter_context(_pool(jobs))
        for number in _finished(tasks, parts, executor, 2 * jobs):
            for rows in read_part(parts.path(number)):
                if isinstance(rows, Done):
                    inputs.append(rows.info)
                    progress(rows.info, len(tasks))
                else:
                    rows.tables.summary.extend(together.summary(rows))
                    writer.write(rows.tables)
            if stopped():
                if executor is not None:
                    executor.shutdown(wait=True, cancel_futures=True)
                break
        tokenizers = dict.fromkeys(provider.tokenizer for provider in together.providers)
        info = RunInfo(
            name=setting.name,
            title=setting.title,
            ctxsim=__version__,
            tokenizers={name: open_tokenizer(name).vocabulary_sha256 for name in tokenizers},
            policies=tuple(spec.label for spec in specs),
            shown={spec.label: spec.short for spec in specs if len(spec.label) > LONG_LABEL},
            bounds=tuple(spec.label for spec in specs if spec.bound),
            limits={spec.label: limits for spec in specs if (limits := spec.limits())},
            providers=tuple(msgspec.to_builtins(provider) for provider in together.providers),
            detectors=DETECTORS,
            inputs=tuple(inputs),
            complete=len(inputs) == len(tasks),
            scenario=msgspec.to_builtins(scenario) if scenario else None,
            question=parts.question,
        )
        writer.finish(info)
    if info.complete:
        parts.clear()
    return info


@contextmanager
def _writing_told(out: Path) -> Iterator[None]:
    """Say where writing failed, and what to do."""
    try:
        yield
    except OSError as error:
        raise CtxsimError(
            f"{out}: {error.strerror or error}; what is finished is kept, make room and go on with --resume"
        ) from error


def _pool(jobs: int) -> ProcessPoolExecutor:
    """Processes that leave Ctrl-C to the one that started them.

    Spawned, not forked: a fork of a process with the tokenizer's threads can hang.
    """
    return ProcessPoolExecutor(jobs, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN))


def _cluster(address: str, stack: ExitStack) -> tuple[Executor, int]:
    """A dask scheduler's workers, which must see the same files. Raises CtxsimError if there is none."""
    try:
        from distributed import Client
    except ImportError:
        raise CtxsimError("--cluster needs dask: pip install 'ctxsim[cluster]'") from None
    try:
        client = stack.enter_context(Client(address, timeout=5))
    except (OSError, ValueError) as error:
        raise CtxsimError(f"no dask scheduler at {address}: {error}") from None
    return client.get_executor(pure=False), max(1, len(client.scheduler_info()["workers"]))


def _finished(tasks: Sequence[Task], parts: Parts, executor: Executor | None, ahead: int) -> Iterator[int]:
    """Yield the numbers of tasks in order, each as soon as its part is there, with so many under way at once."""
    under_way: dict[int, Future[None]] = {}
    next_number = 0
    for number in range(len(tasks)):
        while executor is not None and next_number < len(tasks) and len(under_way) < ahead:
            if not parts.done(next_number):
                under_way[next_number] = executor.submit(_do, tasks[next_number], parts.path(next_number))
            next_number += 1
        if number in under_way:
            under_way.pop(number).result()
        elif not parts.done(number):
            _do(tasks[number], parts.path(number))
        yield number


def _do(task: Task, path: Path) -> None:
    """Run one task and write its part: in this process or in another."""
    function, arguments = task
    write_part(path, function(*arguments))


class _Together:
    """What can be said of a transcript only beside the others of its run, in their order."""

    def __init__(self) -> None:
        self._providers: dict[bytes, Provider] = {}
        self._roots: dict[str, str] = {}
        """Of sub-agents only: everybody else is his own root."""
        self._foreign: tuple[str, bytes] = ("", b"")
        """The root and the words of the last transcript that belongs to another session than the newest."""
        self._newest: tuple[str, bytes] = ("", b"")

    @property
    def providers(self) -> list[Provider]:
        """All providers, in order of first appearance."""
        return list(self._providers.values())

    def summary(self, rows: Rows) -> list[SummaryRow]:
        """Return a transcript's summary rows: what replay says, with provider, root session and chance rate."""
        root = rows.transcript
        if rows.parent:
            root = self._roots[rows.transcript] = self._roots.get(rows.parent, rows.parent)
        key = msgspec.json.encode(rows.provider)
        self._providers.setdefault(key, rows.provider)
        number = list(self._providers).index(key)
        if root != self._newest[0]:
            self._foreign = self._newest
        chance = self._chance(rows.tables.needs)
        self._newest = (root, rows.words)
        return [
            SummaryRow(transcript=rows.transcript, root=root, provider=number, chance_rate=chance, **summary)
            for summary in rows.summaries
        ]

    def _chance(self, needs: Sequence[NeedRow]) -> float | None:
        """Share of a transcript's strict needs that results of a foreign transcript hold too."""
        atoms = {need.atom for need in needs if need.detector == "strict"}
        if not atoms or not self._foreign[0]:
            return None
        foreign = frozenset(memoryview(self._foreign[1]).cast("I"))
        return round(sum(word_hash(atom) in foreign for atom in atoms) / len(atoms), 6)
