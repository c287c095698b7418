"""One run of some test files over a copy of the tree, in a forked process that has the large libraries loaded."""

from __future__ import annotations

import math
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

IMPORT = "import"
"""The value of `Found.by` if no test could be collected."""


WAITS = 4
"""A run's limit of wall-clock time, as a multiple of its CPU seconds: some tests wait, and other programs run too."""


class Found(NamedTuple):
    """The test that failed, `IMPORT`, or "" if none did; after how many CPU seconds; and whether time ran out."""

    by: str
    seconds: float
    stopped: bool = False


def preload() -> None:
    """Load the libraries that every run would load again, but nothing of the project."""
    import matplotlib.pyplot  # noqa: F401
    import numpy  # noqa: F401
    import pandas  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import tiktoken  # noqa: F401


def compiled(root: Path) -> None:
    """Compile the package and its tests once, because runs over a changed tree write no bytecode."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for run in (
        ["pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "tests"], ["compileall", "-q", "ctxsim"],
    ):  # fmt: skip
        with (root / ".output").open("w") as silent:
            subprocess.run(
                [sys.executable, "-m", *run], cwd=root, env={**environment, "PYTHONPATH": str(root)}, stdout=silent,
                stderr=silent, check=False,
            )  # fmt: skip


def tried(root: Path, tests: Sequence[str], limit: float) -> Found:
    """Run tests (paths or ids, relative to `root`) until one fails or `limit` seconds of CPU time are over."""
    told, began = root / ".found", time.monotonic()
    told.unlink(missing_ok=True)
    child = os.fork()
    if not child:
        _run(root, tests, told, limit)
    ended = 0
    while not ended and time.monotonic() - began < WAITS * limit:
        time.sleep(0.02)
        ended, status, used = os.wait4(child, os.WNOHANG)
    if not ended:
        os.killpg(child, signal.SIGKILL)
        _, status, used = os.wait4(child, 0)
    seconds = used.ru_utime + used.ru_stime
    stopped = not ended or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU)
    if told.exists():
        return Found(told.read_text(), seconds)
    if not stopped and os.waitstatus_to_exitcode(status) != 0:
        return Found(IMPORT, seconds)
    return Found("", seconds, stopped)


def _run(root: Path, tests: Sequence[str], told: Path, limit: float) -> None:
    """Run the tests in the child process; never return."""
    status = 99
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), resource.RLIM_INFINITY))
        os.chdir(root)
        silent = os.open(root / ".output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        for name in [name for name in sys.modules if name.split(".")[0] in ("ctxsim", "evidence")]:
            del sys.modules[name]
        here = str(Path(__file__).parents[2])
        sys.path[:] = [str(root), *(one for one in sys.path if one not in ("", here))]
        os.environ["PYTHONPATH"] = str(root)
        os.environ["PYTHONDONTWRITEBYTECODE"] = os.environ["CTXSIM_COMPILED_EACH_TIME"] = "1"
        sys.dont_write_bytecode = True
        options = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not corpus and not live", "--hypothesis-seed=0"]
        status = int(pytest.main([*options, *tests], plugins=[_Watch(told)]))
    finally:
        os._exit(status)


class _Watch:
    """Notes the first test that fails. Slow tests run last, after those with many examples. Failing examples aren't
    made smaller, since one is enough.
    """

    def __init__(self, told: Path) -> None:
        self.told = told

    def pytest_collection(self, session: object) -> None:
        from hypothesis import Phase, settings

        settings.register_profile("fast", settings.get_profile("patient"), phases=(Phase.explicit, Phase.generate))
        settings.load_profile("fast")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        def rank(item: pytest.Item) -> tuple[bool, bool]:
            return item.get_closest_marker("slow") is not None, item.get_closest_marker("hypothesis") is not None

        items.sort(key=rank)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.told.exists():
            self.told.write_text(report.nodeid)
