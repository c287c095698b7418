"""Which tests pass which lines of the package, so that a change is tried by these alone.

    pip install coverage
    PASSING=FILE python -m pytest -n 2 -p evidence.mutations.passing -m "not corpus and not live" tests

Writes a JSON file a worker, FILE.WORKER, which `python -m evidence.mutations --passing FILE` reads. What a test does in another
process isn't seen, nor are lines that run when a module is loaded.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]


class Passing(NamedTuple):
    """For each line of a file, relative to the package, the tests that pass it; the ids of all; when that was written."""

    tests: dict[tuple[str, int], tuple[str, ...]]
    known: frozenset[str]
    written: float

    def of(self, file: str, lines: range) -> frozenset[str]:
        """Return the ids of tests that pass any of some lines."""
        return frozenset(one for line in lines for one in self.tests.get((file, line), ()))


def read(path: Path) -> Passing:
    """Return what the workers of one run wrote together."""
    tests: dict[tuple[str, int], tuple[str, ...]] = defaultdict(tuple)
    known: list[str] = []
    parts = sorted(path.parent.glob(f"{path.name}.*"))
    for part in parts:
        told = json.loads(part.read_text())
        names = told["tests"]
        known += names
        for file, lines in told["files"].items():
            for line, numbers in lines.items():
                tests[file, int(line)] += tuple(names[number] for number in numbers)
    return Passing(tests, frozenset(known), min(part.stat().st_mtime for part in parts))


class _Recorder:
    def __init__(self, path: Path) -> None:
        from coverage import Coverage

        self.path = path
        self.tests: list[str] = []
        self.coverage = Coverage(data_file=None, source=[str(ROOT / "ctxsim")], config_file=False)
        self.coverage.start()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(str(len(self.tests)))
        self.tests.append(item.nodeid)
        yield
        self.coverage.switch_context("")

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        data = self.coverage.get_data()
        files = {
            Path(file).relative_to(ROOT / "ctxsim").as_posix(): {
                line: [int(one) for one in contexts if one] for line, contexts in data.contexts_by_lineno(file).items()
            }
            for file in data.measured_files()
        }
        self.path.write_text(json.dumps({"tests": self.tests, "files": files}))


def pytest_configure(config: pytest.Config) -> None:
    """Record in each worker, or in the one process where there are none."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker or not config.getoption("numprocesses", None):
        config.pluginmanager.register(_Recorder(Path(f"{os.environ['PASSING']}.{worker or 'all'}")))
