"""What a bench on a cluster takes: `python -m evidence.beyond [--transcripts 10000]`.

Small transcripts, beginnings of seeded conversations, are written into a temporary folder. A bench over them runs with
one local job, with two, and on dask clusters of one and of two worker processes, whose working directory holds none of
the files. The user's own policy, estimator and reader are sent to them as source. A row has the seconds of wall-clock
time, those of all processors, and whether the results equal those of the first row, to the byte.
"""

from __future__ import annotations

import os
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import msgspec
import psutil

from ctxsim.results.folder import WORK
from ctxsim.synthesis import Scenario, synthesize
from ctxsim.synthesis.scenario import Synthesis
from evidence.corpora import write
from evidence.many import Progress, digest, family, watched
from evidence.speed import say

OWN = {
    "mine.py": """
from dataclasses import dataclass
from ctxsim.policies import Policy

@dataclass
class Beginnings(Policy):
    "Results but the last become their beginning."
    chars: int = 200

    def before_call(self, view):
        return view.rewrite({item.place: item.text[: self.chars] for item in view.results[:-1]}, "old")
""",
    "count.py": """
from dataclasses import dataclass
from ctxsim.counting.estimators import Estimator

@dataclass(frozen=True)
class Third(Estimator):
    def text(self, text):
        return len(text) // 3
""",
    "read.py": """
from ctxsim.readers.formats import ctxsim_jsonl

def matches(sample):
    return False

def read(source, sample):
    return ctxsim_jsonl.read(source, sample)
""",
}
"""Files of a user's own, by their paths relative to the working directory."""

POLICIES = (
    "keep-all",
    "mine.py:Beginnings",
    "token-budget:budget=3000,retain=200,estimator=count.py:Third",
)


SEEDS = 100
"""The number of conversations whose beginnings are the small transcripts."""


def make(into: Path, count: int) -> int:
    """Write `count` small transcripts, each two to four calls of a generated conversation; return all their calls."""
    into.mkdir()
    wholes = []
    for seed in range(min(SEEDS, count)):
        synthesis = Synthesis("coding-agent", seed, parameters={"turns": 3})
        wholes.append(synthesize(Scenario("small", "small", "", synthesis, {})))
    written = 0
    for number in range(count):
        whole = wholes[number % SEEDS]
        calls = whole.calls[: 2 + number // SEEDS % 3]
        made = msgspec.structs.replace(whole, name=f"t{number:06}", items=whole.items[: calls[-1].end], calls=calls)
        write(into, made, made.name)
        written += len(calls)
    return written


@contextmanager
def cluster(workers: int, elsewhere: Path) -> Iterator[tuple[str, list[psutil.Process]]]:
    """Yield a scheduler's address and its processes, which run in another folder."""
    import distributed

    here = Path.cwd()
    os.chdir(elsewhere)
    try:
        with distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
        ) as opened:
            os.chdir(here)
            yield opened.scheduler_address, family(os.getpid())[1:]
    finally:
        os.chdir(here)


def measure(count: int, root: Path) -> None:
    """Print the table."""
    began = perf_counter()
    calls = make(root / "logs", count)
    for name, text in OWN.items():
        (root / name).write_text(text)
    say(f"{count:,} transcripts, {calls:,} calls, {len(POLICIES)} policies; made in {perf_counter() - began:.0f} s\n")
    say("| where | clock | processors | the same bytes |")
    say("|---|--:|--:|---|")
    first = ""

    def bench(what: str, *more: str, others: Sequence[psutil.Process] = ()) -> None:
        nonlocal first
        out = root / "out"
        labels = [word for policy in POLICIES for word in ("--policy", policy)]
        taken = watched(
            ["bench", "reader:read.py:logs", *labels, "--out", str(out), "--force", *more],
            Progress(what, out / WORK, count), others,
        )  # fmt: skip
        found = digest(out)
        first = first or found
        say(f"| {what} | {taken.clock_s:.0f} s | {taken.cpu_s:.0f} s | {'yes' if found == first else 'NO'} |")

    bench("one job", "--jobs", "1")
    bench("two jobs", "--jobs", "2")
    for workers in (1, 2):
        (root / f"elsewhere{workers}").mkdir()
        with cluster(workers, root / f"elsewhere{workers}") as (address, processes):
            bench(f"dask, {workers} worker{'s' if workers > 1 else ''}", "--jobs", address, others=processes)


def main() -> None:
    """Print the table."""
    parser = ArgumentParser()
    parser.add_argument("--transcripts", type=int, default=10_000)
    count = parser.parse_args().transcripts
    with tempfile.TemporaryDirectory(prefix="ctxsim-beyond-") as place:
        os.chdir(place)
        measure(count, Path(place))
        os.chdir("/")


if __name__ == "__main__":
    main()
