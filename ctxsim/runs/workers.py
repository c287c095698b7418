"""Runs tasks in this process, in processes of this machine, or on a cluster; each task writes a part.

A worker that dies loses only its task, workers end with their parent, and every worker must run the same code, so that
all numbers of a run come from one version.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, ExitStack
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ctxsim.errors import CtxsimError, Stopped, how_to_install
from ctxsim.results.files import write_file
from ctxsim.runs.identity import own_code, refuse_other_code
from ctxsim.runs.parts import Parts, write_part
from ctxsim.runs.processes import Pool, tell_parent
from ctxsim.runs.sent_to_workers import job, part, shared
from ctxsim.runs.task import Task, Tell, lost, results_of

CLUSTER_S = 30.0
"""Seconds that a cluster may take to answer, and to have a worker."""

AHEAD = 16
"""Tasks queued per process: parts are taken in order, and processes mustn't idle while one task takes long."""

_STOPPED_ASKED_S = 0.2

Found = TypeVar("Found")


def do(task: Task, path: Any, code: str, tell: Tell | None = None) -> None:
    """Run one task and write its part. Raises CtxsimError if this process's code isn't `code`."""
    refuse_other_code(code)
    write_part(path, results_of(task, tell or tell_parent))


class Workers(AbstractContextManager["Workers"]):
    """Runs up to `jobs` tasks at once. `cluster` is a dask scheduler's address. Leaving the context ends the processes.

    `tell` gets the progress of tasks under way, except from a cluster. If `stopped` returns True, they are given up.
    """

    def __init__(self, jobs: int, cluster: str | None, tell: Tell, stopped: Callable[[], bool] = lambda: False) -> None:
        self._heard = tell
        self._stopped = stopped
        self._words: Connection | None = None
        self._stack = ExitStack()
        self._jobs = jobs
        self._executor: Any = None
        self._client: Any = None
        if cluster is not None:
            self._client, self._jobs = _cluster(cluster, self._stack)
            self._executor = self._client.get_executor(pure=False)
        elif jobs > 1:
            heard, self._words = Pipe(duplex=False)
            threading.Thread(target=_listen, args=(heard, tell), daemon=True).start()
            self._executor = Pool(jobs, self._words)
            # Processes start with their first task, and take half a second, in which this process prepares the tasks.
            self._executor.submit(own_code)

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is not None:
            self._give_up()
        if self._executor is not None and self._client is None:
            self._executor.shutdown()
        if self._words is not None:
            os.write(self._words.fileno(), b"\n")
            self._words.close()
        self._stack.close()

    def _give_up(self) -> None:
        """Kill processes with tasks under way; finished tasks are on disk."""
        if isinstance(self._executor, Pool):
            self._executor.kill()

    def until_stopped(self, found: Iterator[Found]) -> Iterator[Found]:
        """Yield from `found` until `stopped` returns True; then give up the tasks under way."""
        try:
            for one in found:
                yield one
                if self._stopped():
                    break
        except Stopped:
            # A signal that ends this process raises it too.
            if not self._stopped():
                raise
        if self._stopped():
            self._give_up()

    def _tell(self, name: str, done: int, known: int) -> None:
        if self._stopped():
            raise Stopped
        self._heard(name, done, known)

    def finished(self, tasks: Mapping[int, Task], parts: Parts) -> Iterator[int]:
        """Yield the numbers of tasks in order, each as soon as its part is there."""
        under_way: dict[int, Future[Any]] = {}
        common = None
        if self._client is not None and tasks:
            # Submitted, so that the cluster keeps it and makes it again if a worker is lost.
            common = self._client.submit(bytes, shared([*tasks.values()]), pure=False)
        ahead = iter(tasks)
        for number in tasks:
            path = parts.path(number)
            try:
                while self._executor is not None and len(under_way) < AHEAD * self._jobs:
                    if (following := next(ahead, None)) is None:
                        break
                    if not parts.done(following):
                        # Under way even if the pool breaks as it is submitted.
                        under_way[following] = Future()
                        under_way[following] = (
                            self._executor.submit(do, tasks[following], parts.path(following), own_code())
                            if common is None
                            else self._executor.submit(part, job(tasks[following]), common)
                        )
                if number in under_way:
                    self._wait(under_way.pop(number), path)
                elif not parts.done(number) and not path.is_file():
                    do(tasks[number], path, own_code(), self._tell)
            except BrokenProcessPool:
                self._executor.check_began()
                self._one_by_one({number, *under_way}, tasks, parts)
                under_way.clear()
            yield number

    def _wait(self, future: Future[Any], path: Path) -> None:
        if self._client is None:
            self._result(future)
            return
        try:
            data = self._result(future)
        # A cluster may raise anything, depending on its version; that is no error of a transcript.
        except Exception as error:
            known = isinstance(error, CtxsimError | OSError)
            if known and type(error).__module__.partition(".")[0] not in ("distributed", "dask"):
                raise
            what = f"{'is lost' if known else 'failed'}: {type(error).__name__}: {error}"
            raise CtxsimError(f"the cluster {what}; go on with --resume") from error
        write_file(path, data)

    def _result(self, future: Future[Any]) -> Any:
        """Return a task's result. Raises Stopped if `stopped` returns True before, CtxsimError if no worker is left."""
        asked_s = time.monotonic()
        while True:
            try:
                return future.result(_STOPPED_ASKED_S)
            except TimeoutError:
                if future.done():
                    raise
                if self._stopped():
                    raise Stopped from None
                if self._client is not None and time.monotonic() - asked_s > CLUSTER_S:
                    _wait_for_a_worker(self._client)
                    asked_s = time.monotonic()

    def _one_by_one(self, numbers: set[int], tasks: Mapping[int, Task], parts: Parts) -> None:
        """Do each task in a process of its own, as it is unknown over which a worker died; give up those that die."""
        for number in sorted(numbers):
            if parts.path(number).is_file():
                continue
            with Pool(1) as alone:
                try:
                    self._result(alone.submit(do, tasks[number], parts.path(number), own_code()))
                except Stopped:
                    alone.kill()
                    raise
                except BrokenProcessPool:
                    write_part(parts.path(number), [lost(tasks[number])])
        self._executor = Pool(self._jobs, self._words)


def _listen(heard: Connection, tell: Tell) -> None:
    """Pass the progress of processes to `tell`, up to an empty line."""
    with open(heard.fileno(), "rb", closefd=False) as lines:
        for line in iter(lines.readline, b"\n"):
            tell(*msgspec.json.decode(line, type=tuple[str, int, int]))
    heard.close()


def _cluster(address: str, stack: ExitStack) -> tuple[Any, int]:
    """Return a dask scheduler's client and number of workers. Raises CtxsimError if there is no scheduler or worker."""
    try:
        from distributed import Client
    except ImportError:
        raise CtxsimError(f"--jobs ADDRESS needs dask: {how_to_install('cluster')}") from None
    try:
        client = stack.enter_context(Client(address, timeout=CLUSTER_S))
        _wait_for_a_worker(client)
    except TypeError as error:
        # dask raises TypeError if no certificate is configured.
        raise CtxsimError(f"no way to {address}: {error}; for tls:// see SECURITY.md") from None
    except (OSError, ValueError, ImportError) as error:
        raise CtxsimError(f"no dask scheduler at {address}: {error}") from None
    return client, max(1, len(client.scheduler_info()["workers"]))


def _wait_for_a_worker(client: Any) -> None:
    try:
        client.wait_for_workers(1, timeout=CLUSTER_S)
    except TimeoutError:
        where = client.scheduler.address
        raise CtxsimError(f"the scheduler at {where} had no worker for {CLUSTER_S:.0f} s; start one") from None
