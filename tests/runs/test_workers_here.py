"""Who does which task, in which order, and what is told where one fails: without processes."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from ctxsim.errors import CtxsimError, InputError, Stopped
from ctxsim.readers.source import Source
from ctxsim.results import InputInfo
from ctxsim.runs import processes
from ctxsim.runs import workers as room
from ctxsim.runs.parts import read_part
from ctxsim.runs.processes import fitting, tell_parent
from ctxsim.runs.rows import Done
from ctxsim.runs.task import Common, Setting, Task
from ctxsim.runs.workers import AHEAD, Workers, _cluster, _listen


def task(name: str) -> Task:
    return Task(Source(name, None), Common(Setting("a", "a", (), keep_secrets=True)))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which tasks were done here, by name."""
    names: list[str] = []

    def results_of(task: Task, tell: Any) -> Iterator[Done]:
        names.append(task.what.name)
        tell(task.what.name, 1, 2)
        yield Done(InputInfo(task.what.name, "", 1, 1))

    monkeypatch.setattr(room, "results_of", results_of)
    return names


class InFolder:
    """Parts in a folder, some of which are whole already."""

    def __init__(self, folder: Path, whole: set[int]) -> None:
        self.folder, self.whole = folder, whole
        for number in whole:
            self.path(number).write_bytes(b"whole")

    def path(self, number: int) -> Path:
        return self.folder / str(number)

    def done(self, number: int) -> bool:
        return number in self.whole


def test_tasks_are_done_in_order_and_what_is_whole_is_not_done_again(tmp_path: Path, made: list[str]) -> None:
    heard: list[Any] = []
    parts: Any = InFolder(tmp_path, {1})
    (tmp_path / "3").write_bytes(b"of a shared source, done with it")
    tasks = {number: task(f"s{number}") for number in (0, 1, 2, 3)}
    with Workers(1, None, lambda *one: heard.append(one)) as workers:
        assert list(workers.finished(tasks, parts)) == [0, 1, 2, 3]
    assert made == ["s0", "s2"] and heard == [("s0", 1, 2), ("s2", 1, 2)]
    assert list(read_part(tmp_path / "2")) == [Done(InputInfo("s2", "", 1, 1))]


def test_who_wants_to_stop_ends_what_is_under_way(tmp_path: Path, made: list[str]) -> None:
    parts: Any = InFolder(tmp_path, set())
    with Workers(1, None, lambda *one: None, lambda: len(made) > 1) as workers:
        tasks = {number: task(f"s{number}") for number in range(4)}
        assert list(workers.until_stopped(workers.finished(tasks, parts))) == [0]
    assert made == ["s0", "s1"] and not (tmp_path / "1").exists()
    with Workers(1, None, lambda *one: None, lambda: True) as workers:
        assert list(workers.until_stopped(iter("ab"))) == ["a"], "what is done already isn't taken either"

    def ended() -> Iterator[int]:
        yield 1
        raise Stopped

    with pytest.raises(Stopped), Workers(1, None, lambda *one: None) as workers:
        list(workers.until_stopped(ended()))


@pytest.mark.parametrize("stopped", [False, True])
def test_processes_are_given_up_once_somebody_stops(stopped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    given_up: list[object] = []
    monkeypatch.setattr(Workers, "_give_up", lambda self: given_up.append(self))
    with Workers(1, None, lambda *one: None, lambda: stopped) as workers:
        list(workers.until_stopped(iter("a")))
    assert len(given_up) == stopped


class Pool:
    """An executor that does tasks when they are waited for; `dies` are those over which a process dies."""

    def __init__(self, dies: frozenset[int] = frozenset(), broken: bool = False) -> None:
        self.dies, self.broken, self.asked = dies, broken, []  # type: ignore[var-annotated]

    def submit(self, function: Any, *given: Any) -> Future[Any]:
        if self.broken:
            raise BrokenProcessPool("died")
        number = int(given[1].name)
        self.asked.append(number)
        future: Future[Any] = Future()
        if number in self.dies:
            self.broken = True
            future.set_exception(BrokenProcessPool("died"))
        else:
            given[1].write_bytes(b"done")
            future.set_result(None)
        return future

    def check_began(self) -> None:
        """Its processes have."""

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def shutdown(self, **how: Any) -> None:
        pass


def test_a_process_has_sixteen_tasks_before_it(tmp_path: Path) -> None:
    parts: Any = InFolder(tmp_path, {3})
    workers: Any = Workers(1, None, lambda *one: None)
    workers._executor, workers._jobs = pool, _ = Pool(), 2
    finished = workers.finished({number: task("s") for number in range(40)}, parts)
    assert next(finished) == 0 and AHEAD == 16
    # Thirty-two at once, without the one that is whole.
    assert pool.asked == [number for number in range(33) if number != 3]
    assert next(finished) == 1 and pool.asked[-1] == 33
    assert list(finished) == list(range(2, 40)) and pool.asked == [number for number in range(40) if number != 3]


def test_after_a_death_each_task_has_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts: Any = InFolder(tmp_path, set())
    workers: Any = Workers(1, None, lambda *one: None)
    workers._executor, workers._jobs = Pool(frozenset({2})), 2
    alone: list[tuple[int, Pool]] = []

    def pool(jobs: int, words: Any = None) -> Pool:
        alone.append((jobs, Pool(frozenset({4}))))
        return alone[-1][1]

    monkeypatch.setattr(room, "Pool", pool)
    assert list(workers.finished({number: task(f"s{number}") for number in range(6)}, parts)) == list(range(6))
    assert {number: one.asked for number, (jobs, one) in enumerate(alone) if jobs == 1 and one.asked}
    (lost,) = read_part(tmp_path / "4")
    assert isinstance(lost, Done) and str(lost.info.error).startswith("s4: the process that replayed it was killed")
    assert all((tmp_path / str(number)).read_bytes() == b"done" for number in (0, 1, 2, 3, 5))
    assert [jobs for jobs, _ in alone].count(2) >= 1, "and then there is a pool again"


class Later(Future[Any]):
    """One that is there when it is asked for the third time."""

    def __init__(self, error: BaseException | None = None) -> None:
        super().__init__()
        self.left, self.error = 2, error

    def result(self, timeout: float | None = None) -> Any:
        self.left -= 1
        if self.left >= 0:
            raise TimeoutError
        if self.error is not None:
            raise self.error
        return b"data"


def test_a_result_is_waited_for_until_somebody_wants_to_stop() -> None:
    workers: Any = Workers(1, None, lambda *one: None)
    assert workers._result(Later()) == b"data"
    stops: Any = Workers(1, None, lambda *one: None, lambda: True)
    with pytest.raises(Stopped):
        stops._result(Later())
    failed: Future[Any] = Future()
    failed.set_exception(TimeoutError("of its own"))
    with pytest.raises(TimeoutError, match="of its own"):
        workers._result(failed)


def of_dask(error: type[Exception]) -> Exception:
    return type("KilledWorker", (error,), {"__module__": "distributed.scheduler"})("gone")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (of_dask(Exception), "the cluster failed: KilledWorker: gone; go on with --resume"),
        (of_dask(OSError), "the cluster is lost: KilledWorker: gone; go on with --resume"),
        (KeyError("x"), "the cluster failed: KeyError: 'x'; go on with --resume"),
    ],
)  # fmt: skip
def test_what_a_cluster_raises_is_told(error: Exception, said: str, tmp_path: Path) -> None:
    workers: Any = Workers(1, None, lambda *one: None)
    workers._client = object()
    with pytest.raises(CtxsimError) as told:
        workers._wait(Later(error), tmp_path / "part")
    assert str(told.value) == said
    for ours in (InputError("f", "no"), OSError("disk")):
        with pytest.raises(type(ours)):
            workers._wait(Later(ours), tmp_path / "part")
    workers._wait(Later(), tmp_path / "part")
    assert (tmp_path / "part").read_bytes() == b"data"
    workers._client = None


def dask(monkeypatch: pytest.MonkeyPatch, error: Exception | None, workers: dict[str, int]) -> list[Any]:
    """A module `distributed` whose client finds these workers, or raises."""
    asked: list[Any] = []

    class Client:
        def __init__(self, address: str, timeout: float) -> None:
            asked.append((address, timeout))

        def wait_for_workers(self, count: int, timeout: float) -> None:
            asked.append((count, timeout))
            if error is not None:
                raise error

        def scheduler_info(self) -> Any:
            return {"workers": workers}

        def __enter__(self) -> Client:
            return self

        def __exit__(self, *error: object) -> None:
            asked.append("closed")

    module: Any = ModuleType("distributed")
    module.Client = Client
    monkeypatch.setitem(sys.modules, "distributed", module)
    return asked


def test_a_cluster_has_as_many_jobs_as_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    for workers, jobs in (({}, 1), ({"a": 1}, 1), ({"a": 1, "b": 1}, 2)):
        asked = dask(monkeypatch, None, workers)
        with ExitStack() as stack:
            assert _cluster("x:1", stack)[1] == jobs
        assert asked == [("x:1", 30.0), (1, 30.0), "closed"]


def test_no_cluster_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """What dask itself raises has a test with dask."""
    dask(monkeypatch, ValueError("bad"), {})
    with pytest.raises(CtxsimError, match=r"^no dask scheduler at x:1: bad$"), ExitStack() as stack:
        _cluster("x:1", stack)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(CtxsimError, match="--jobs ADDRESS needs dask: "), ExitStack() as stack:
        _cluster("x:1", stack)


def test_a_worker_tells_its_parent_in_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    heard: list[Any] = []
    ended: list[str] = []
    connection: Any = SimpleNamespace(fileno=lambda: reading, close=lambda: ended.append("closed"))
    listening = threading.Thread(target=_listen, args=(connection, lambda *one: heard.append(one)))
    listening.start()
    monkeypatch.setattr(processes, "_to_parent", SimpleNamespace(fileno=lambda: writing))
    tell_parent("a" * 300 + "end", 3, 9)
    tell_parent("b", 0, 0)
    os.write(writing, b"\n")
    listening.join(5)
    assert heard == [("a" * 197 + "end", 3, 9), ("b", 0, 0)] and ended == ["closed"]
    os.close(writing)
    os.close(reading)
    monkeypatch.setattr(processes, "_to_parent", SimpleNamespace(fileno=lambda: -1))
    tell_parent("b", 0, 0)
    monkeypatch.setattr(processes, "_to_parent", None)
    tell_parent("b", 0, 0)


def test_a_packed_file_counts_six_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: range(16), raising=False)
    for ending, size in (("gz", 4), ("zst", 4), ("zip", 4), ("eval", 4), ("json", 24)):
        with (tmp_path / f"a.{ending}").open("wb") as file:
            file.truncate(size * 500_000)
        # Two million bytes, six times: three processes; of 12 million as they are too.
        assert fitting([Source("a", tmp_path / f"a.{ending}")] * 3) == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert fitting([Source("a", tmp_path / "a.json")]) == 1
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert fitting([Source("a", tmp_path / "a.json")]) == 2
