"""What a bench of many recordings takes: `python -m evidence.many FOLDER [--transcripts 10000]`.

Every recording under FOLDER is written many times under other names, each time cut after a random call: one in the
second half of the first 60 calls that fit into 250,000 characters. So ten thousand take a quarter of an hour on two
cores. A bench over them runs with one job, with two, and on a dask cluster of two workers; then the report and the
comparison of what they wrote. Rows of the table are printed as they are measured; progress goes to standard error.
Ctrl-C ends it and leaves nothing behind.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import msgspec
import psutil

from ctxsim.results import TABLES, read_run
from ctxsim.results.folder import WORK
from ctxsim.transcript import Transcript, problems
from evidence.corpora import recordings, write
from evidence.large_runs import POLICIES
from evidence.speed import say

CALLS = 60
CHARS = 250_000
POLL_S = 0.25
TOLD_S = 15.0


def cut(whole: Transcript, calls: int) -> Transcript:
    """Return a transcript cut to its first calls, without what is recorded of later ones or of the whole."""
    kept = whole.calls[:calls]
    end = kept[-1].end
    made = msgspec.structs.replace(
        whole,
        items=whole.items[:end],
        calls=kept,
        parent=None,
        needles=(),
        compactions=tuple(one for one in whole.compactions if one.call <= calls),
        cleared=tuple(one for one in whole.cleared if one[0] <= calls),
        cost_usd=None,
    )
    assert not problems(made), problems(made)
    return made


def fitting(whole: Transcript) -> int:
    """Return how many of a transcript's first calls fit; 0 if not even the first one does."""
    sizes = list(accumulate((len(item.text) for item in whole.items), initial=0))
    return sum(sizes[call.end] <= CHARS for call in whole.calls[:CALLS])


def make(folder: Path, into: Path, count: int) -> tuple[int, int]:
    """Write `count` transcripts made of all recordings of a folder; return their calls and characters."""
    wholes = [(one, most) for one in recordings(folder) if (most := fitting(one))]
    into.mkdir()
    dice = random.Random(0)
    calls = chars = 0
    for number in range(count):
        whole, most = wholes[number % len(wholes)]
        made = cut(whole, dice.randint((most + 1) // 2, most))
        write(into, made, f"t{number:06}")
        calls += len(made.calls)
        chars += sum(len(item.text) for item in made.items)
    return calls, chars


class Taken(NamedTuple):
    """What a command took: seconds of wall-clock and CPU time, and the peak MiB of its own process and of a worker."""

    clock_s: float
    cpu_s: float
    own_mib: float
    worker_mib: float


class Watch:
    """The memory and CPU time of processes, polled. For the processes in `before`, CPU time counts from the start."""

    def __init__(self, before: list[psutil.Process]) -> None:
        self._others = before
        self._peak: dict[int, int] = {}
        self._cpu: dict[int, float] = {}
        self._look(before)
        self._spent = sum(self._cpu.values())

    def look(self, pid: int) -> None:
        """Note what a process, its children and the others use now."""
        self._look([*family(pid), *self._others])

    def _look(self, processes: list[psutil.Process]) -> None:
        for process in processes:
            # The process may have ended in the meantime.
            with suppress(psutil.Error), process.oneshot():
                times = process.cpu_times()
                self._peak[process.pid] = max(self._peak.get(process.pid, 0), process.memory_info().rss)
                self._cpu[process.pid] = times.user + times.system

    def taken(self, clock_s: float, own: int) -> Taken:
        """Return what was noted; `own` is the id of the command's process."""
        workers = [bytes_ for pid, bytes_ in self._peak.items() if pid != own]
        cpu_s = sum(self._cpu.values()) - self._spent
        return Taken(clock_s, cpu_s, self._peak[own] / 2**20, max(workers, default=0) / 2**20)


def family(pid: int) -> list[psutil.Process]:
    """Return a process and all that it has started; an empty list if it has ended."""
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    return []


def watched(arguments: list[str], progress: Callable[[float], None], others: Sequence[psutil.Process] = ()) -> Taken:
    """Run a ctxsim command and return what it took; `others` are processes that work for it. Raises SystemExit."""
    watch = Watch(list(others))
    began = perf_counter()
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen([sys.executable, "-m", "ctxsim", *arguments], stdout=said, stderr=said)
        try:
            while child.poll() is None:
                watch.look(child.pid)
                progress(perf_counter() - began)
                with suppress(subprocess.TimeoutExpired):
                    child.wait(POLL_S)
        finally:
            for process in family(child.pid) if child.returncode is None else ():
                process.kill()
            child.wait()
        if child.returncode:
            said.seek(0)
            raise SystemExit(f"ctxsim {' '.join(arguments)}: {said.read()[-2000:].decode(errors='replace')}")
    return watch.taken(perf_counter() - began, child.pid)


class Progress:
    """Callback that prints to standard error how many sources a bench has finished."""

    def __init__(self, what: str, work: Path, total: int) -> None:
        self.what, self.work, self.total = what, work, total
        self._told_s = 0.0

    def __call__(self, now_s: float) -> None:
        if now_s - self._told_s < TOLD_S:
            return
        self._told_s = now_s
        with suppress(OSError):
            done = sum(one.name.isdecimal() for one in os.scandir(self.work))
            print(f"{self.what}: {done:,} of {self.total:,} after {now_s:.0f} s", file=sys.stderr, flush=True)


@contextmanager
def two_workers() -> Iterator[tuple[str, list[psutil.Process]]]:
    """Yield the scheduler's address and the workers' processes of a dask cluster of two workers."""
    import distributed

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        yield cluster.scheduler_address, family(os.getpid())[1:]


def digest(out: Path) -> str:
    """Return one hash of all files of a run."""
    hashed = sha256()
    for file in sorted(path for path in out.rglob("*") if path.is_file()):
        hashed.update(file.name.encode() + file.read_bytes())
    return hashed.hexdigest()


def row(what: str, *cells: str) -> None:
    """Print a line of the table."""
    say(f"| {what} | {' | '.join(cells)} |")


def main() -> None:
    """Print the table."""
    parser = ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--transcripts", type=int, default=10_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ctxsim-many-") as place:
        try:
            measure(asked.folder, asked.transcripts, Path(place))
        except KeyboardInterrupt:
            sys.exit("interrupted: nothing is left, the rows above hold")


def measure(folder: Path, count: int, root: Path) -> None:
    """Print the rows of a bench of `count` transcripts."""
    began = perf_counter()
    calls, chars = make(folder, root / "logs", count)
    per = 1_000 / (calls * len(POLICIES))
    say(
        f"{count:,} transcripts, {calls:,} calls, {chars / 1e6:,.0f} M characters, {len(POLICIES)} policies; made in {perf_counter() - began:.0f} s\n"
    )
    row("what", "clock", "processors", "ms per call and policy", "MiB at most", "MiB of a worker")
    say("|---|--:|--:|--:|--:|--:|")

    def bench(what: str, *more: str, others: Sequence[psutil.Process] = ()) -> Path:
        out = root / f"out{len(list(root.iterdir()))}"
        labels = [word for policy in POLICIES for word in ("--policy", policy)]
        taken = watched(
            ["bench", str(root / "logs"), *labels, "--out", str(out), *more], Progress(what, out / WORK, count), others
        )
        row(what, f"{taken.clock_s:.0f} s", f"{taken.cpu_s:.0f} s", f"{taken.cpu_s * per:.2f}", f"{taken.own_mib:.0f}",
            f"{taken.worker_mib:.0f}" if taken.worker_mib else "-")  # fmt: skip
        return out

    outs = [bench("one job", "--jobs", "1"), bench("two jobs", "--jobs", "2")]
    with two_workers() as (address, workers):
        outs.append(bench("dask, two workers", "--jobs", address, others=workers))
    digests = [digest(out) for out in outs]
    for command in (
        ["report", str(outs[0])],
        ["report", str(outs[0]), "--only", "pictures"],
        ["compare", *map(str, outs[:2])],
    ):
        taken = watched(command, lambda now_s: None)
        row(command[0], f"{taken.clock_s:.0f} s", f"{taken.cpu_s:.0f} s", "-", f"{taken.own_mib:.0f}", "-")
    run = read_run(outs[0])
    size = sum(path.stat().st_size for path in outs[0].rglob("*") if path.is_file())
    rows = sum(run.rows(name) for name in TABLES if (outs[0] / f"{name}.parquet").exists())
    say(f"\nResults: {size / 1e6:,.0f} MB, {rows:,} rows. All three the same bytes: {len(set(digests)) == 1}")


if __name__ == "__main__":
    main()
