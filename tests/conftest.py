"""What holds for every test: no network but this machine's own. And the runs that tests of several rooms look at."""

from __future__ import annotations

import gc
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import compiled_once  # noqa: F401
import pytest
from bench_runs import POLICIES, SOURCES, arguments, write
from command_line import ctxsim
from hypothesis import HealthCheck, settings
from samples import ASK, TASK, chat

from ctxsim.plugins.files import MOVED
from ctxsim.policies import open_policy
from ctxsim.policies.agents.settings_file import settings_names, settings_of
from ctxsim.results import Run, read_run
from ctxsim.results.folder import WORK
from ctxsim.runs.check import Checked
from ctxsim.runs.conduct import conduct
from ctxsim.runs.task import Setting

# A slow machine is no failure: neither a slow example nor slow generation says anything about the code. A test that
# needs more examples says so; `evidence/` tries thousands.
settings.register_profile(
    "patient", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("patient")


def pytest_collection_finish() -> None:
    """Libraries and tests stay to the end: looking through them for circles again and again finds none."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


LOCAL = ("127.0.0.1", "::1", "localhost")


_CONNECT = socket.socket.connect


def _connect(self: socket.socket, address: Any) -> None:
    if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in LOCAL:
        raise AssertionError(f"a test wanted to connect to {address}")
    return _CONNECT(self, address)


@pytest.fixture(autouse=True, scope="session")
def own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What commands remember goes into a folder of the tests; their output is as wide as in a pipe. And nothing may
    connect to another machine: ctxsim is offline, always.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", _connect)
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        # Some libraries set it for the whole process.
        patch.delenv("COLUMNS", raising=False)
        # Nothing that a test writes has to outlive a loss of power.
        patch.setattr(os, "fsync", lambda handle: None)
        # What the shell says to agents is a setting of theirs, or says where their settings and sessions lie.
        known = map(settings_of, settings_names())
        moved = {named.partition("/")[0] for named in MOVED.values()}
        for name in moved | {one.env for agent in known for one in agent.settings if one.env}:
            patch.delenv(name, raising=False)
        yield


@pytest.fixture
def opened_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of anybody's is opened without a process that tries it first: that has tests of its own."""
    monkeypatch.setattr("ctxsim.policies.trial._answer", lambda label: "fine")


@pytest.fixture
def checked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check of a policy opens its label and finds nothing: what it finds in its processes has tests of its own."""

    def check(label: str, scenarios: object) -> Checked:
        return Checked([], [], "", open_policy(label).label)

    monkeypatch.setattr("ctxsim.runs.check.check", check)


@pytest.fixture(scope="session")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of small invented logs. Nobody writes into it."""
    folder = tmp_path_factory.mktemp("logs") / "logs"
    for n in range(SOURCES):
        chance = random.Random(n)
        turns = [
            part
            for m in range(chance.randrange(3, 12))
            for part in (ASK, ("tool_result", f"zebra_{n}{m}00 " + "word " * chance.randrange(400)))
        ]
        write(folder, chat(TASK, *turns, ("assistant", f"zebra_{n}000 zebra_{n}100")), f"log{n:02}")
    return folder


@pytest.fixture(scope="session")
def few_logs(logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four of them, for what takes long per log and shows with any. Nobody writes into it."""
    folder = tmp_path_factory.mktemp("few") / "logs"
    folder.mkdir()
    for file in sorted(logs.iterdir())[:4]:
        shutil.copy(file, folder)
    return folder


@pytest.fixture(scope="session")
def undisturbed(logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a bench of them leaves when nobody disturbs it."""
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    done = ctxsim(*arguments(logs, out), cwd=logs)
    assert done.returncode == 0, done.stderr
    assert not (out / WORK).exists()
    return out


@pytest.fixture(scope="session")
def pair(logs: Path, undisturbed: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    """The same run again, once as it was and once where a few transcripts are longer."""
    other = tmp_path_factory.mktemp("other")
    folder = other / "logs"
    for file in sorted(logs.iterdir()):
        folder.mkdir(exist_ok=True)
        text = file.read_text()
        (folder / file.name).write_text(text.replace("word word", "word word word word"))
    conduct(Setting("b", "b", POLICIES), other / "out", paths=[str(folder)])
    return read_run(undisturbed), read_run(other / "out")


@pytest.fixture(scope="session")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A dask scheduler. Each test starts its workers, and ends them."""
    distributed = pytest.importorskip("distributed")
    file = tmp_path_factory.mktemp("cluster") / "scheduler.json"
    running = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
         "--scheduler-file", str(file)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(0.3)
    yield json.loads(file.read_text())["address"]
    # A client that has found no worker is still there, and would look for its scheduler.
    with suppress(ValueError):
        distributed.default_client().close()
    running.kill()
    running.wait()
