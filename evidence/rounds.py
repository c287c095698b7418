"""Times that are reliable on a shared machine: CPU seconds, the least of several rounds in which works take turns."""

from __future__ import annotations

import gc
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping
from time import process_time

from ctxsim.safety.processes import collect_rarely

Works = Mapping[str, Callable[[], object]]


def least_seconds(works: Works, rounds: int) -> dict[str, float]:
    """Return by name the least CPU seconds of `rounds` rounds; in each, everything runs once, in turn."""
    # As the commands do.
    collect_rarely()
    least: dict[str, float] = {}
    for _ in range(rounds):
        for name, work in works.items():
            gc.collect()
            started = process_time()
            work()
            taken = process_time() - started
            least[name] = min(taken, least.get(name, taken))
    return least


def seconds(work: Callable[[], object], rounds: int = 3) -> float:
    """Return the least CPU seconds of some rounds of one work."""
    return least_seconds({"": work}, rounds)[""]


def child(arguments: list[str]) -> tuple[float, float, float]:
    """Return the seconds, CPU seconds and peak MiB of a ctxsim command; the peak is that of its largest process."""
    program = (
        "import resource, subprocess, sys, time\n"
        "s = time.perf_counter(); subprocess.run(sys.argv[1:], check=True, capture_output=True)\n"
        "u = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(time.perf_counter() - s, u.ru_utime + u.ru_stime, u.ru_maxrss / 1024)"
    )
    command = [sys.executable, "-c", program, sys.executable, "-m", "ctxsim", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    took, cpu, peak = done.stdout.split()
    return float(took), float(cpu), float(peak)


def own_peak_mib() -> float:
    """Return the peak memory of this process in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
