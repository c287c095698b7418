"""What a driven agent can reach of the machine, what is left of a run, and who outlives it."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from project import ROOT
from samples import conversation

pytest.importorskip("uvicorn")

import ctxsim
from ctxsim.errors import CtxsimError
from ctxsim.live.agent import Agent
from ctxsim.live.confined import FILES
from ctxsim.live.drive import drive
from ctxsim.live.faults import Faults
from ctxsim.simulator.provider import Provider

SPY = """
import json, os, socket, sys
from pathlib import Path

def tried(what):
    try:
        return what() or True
    except OSError as error:
        return type(error).__name__

place, home = sys.argv[1:3]
secret, sock, written = f"{place}/secret", f"{place}/s", f"{place}/agent/new"
own = str(os.getpid())
others = [Path("/proc", one, "environ") for one in os.listdir("/proc") if one.isdigit() and one != own]
print(json.dumps({
    "secret": tried(Path(secret).read_text), "home": tried(lambda: Path(home).exists()),
    "socket": tried(lambda: socket.socket(socket.AF_UNIX).connect(sock)),
    "written": tried(lambda: Path(written).write_text("x")), "key": "KEY_OF_MINE" in os.environ,
    "environ": [tried(lambda: "KEY_OF_MINE" in one.read_bytes().decode()) for one in others],
    "processes": len(others), "terminals": tried(lambda: len(os.openpty())),
    "cwd": os.getcwd(), "mode": os.stat(os.environ["HOME"] + "/..").st_mode & 0o777,
}))
"""


@pytest.mark.slow
def test_an_agent_sees_programs_and_its_work_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_OF_MINE", "sk-1")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "spy.py").write_text(SPY)
    (tmp_path / "secret").write_text("mine")
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(str(tmp_path / "s"))
        service.listen()
        asked = [sys.executable, tmp_path / "agent" / "spy.py", tmp_path, Path.home()]
        with pytest.raises(CtxsimError, match="sent no request of the conversation"):
            ctxsim.drive([], "documented-53k", command=" ".join(map(str, asked)), out=tmp_path / "out")
    (said,) = (tmp_path / "out").glob("output-*.txt")
    found = json.loads(said.read_text().splitlines()[-1])
    # The plan came by a pipe, and the private folder is gone.
    assert not list(tmp_path.glob("ctxsim-drive-*")) and not found["key"] and found["mode"] == stat.S_IRWXU
    if not found["cwd"].startswith(f"/tmp/ctxsim-drive-{os.getuid()}/"):
        pytest.skip(f"the system allows no namespaces: nothing holds its {FILES}")
    assert found["secret"] == "FileNotFoundError" and found["socket"] == "FileNotFoundError"
    assert found["written"] == "OSError" and not (tmp_path / "agent" / "new").exists()
    assert found["terminals"] == 2, "its own, of a device that no other shares"
    assert found["processes"] <= 3 and True not in found["environ"]


def test_a_folder_that_somebody_else_made_first_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guessable name of before, with another's plan in it."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    guessed = tmp_path / f"ctxsim-drive-{os.getuid()}" / "true"
    guessed.mkdir(parents=True)
    (guessed / "plan.json").write_text("not ours")
    with pytest.raises(CtxsimError, match="sent no request"):
        ctxsim.drive([], "documented-53k", command="true", out=tmp_path / "out")
    assert (guessed / "plan.json").read_text() == "not ours" and len(list(guessed.iterdir())) == 1


def test_a_limit_that_is_over_before_the_first_prompt_is_told_as_an_agent_that_sent_nothing(tmp_path: Path) -> None:
    mine = Agent("mine", command=("true",))
    with pytest.raises(CtxsimError, match="mine sent no request of the conversation"):
        drive(mine, conversation("x"), Provider(), "/usr/bin", Faults(), 0, tmp_path)


AGENT = """
import os, subprocess, sys, time
sleeper = [sys.executable, "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)", sys.argv[1]]
subprocess.Popen(sleeper)
time.sleep(600)
"""

DRIVES = """
import sys
import ctxsim
from ctxsim.live import drive
if sys.argv[2] == "nothing":
    code = "import sys; import ctxsim.live.run_plan as r; r.enclose = lambda root: (); " \\
           "r.main(*sys.argv[1:3], int(sys.argv[3]))"
    drive.python = lambda module, *words: [sys.executable, "-P", "-c", code, *words]
place = sys.argv[1]
ctxsim.drive([], "documented-53k", command=f"{sys.executable} {place}/agent.py {place}", out=f"{place}/out")
"""


def mine(place: Path) -> list[psutil.Process]:
    """All processes that have to do with a folder."""
    return [one for one in psutil.process_iter(["cmdline"]) if str(place) in " ".join(one.info["cmdline"] or ())]


def orphans(place: Path, held: str, whole_group: bool) -> int:
    """Kill a drive in the middle, and return how many processes of it are there 3 s later."""
    (place / "agent.py").write_text(AGENT)
    running = subprocess.Popen(
        [sys.executable, "-P", "-c", DRIVES, str(place), held], start_new_session=True, cwd=place,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(place), "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not any("time.sleep(600)" in " ".join(one.info["cmdline"]) for one in mine(place)):
        assert running.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    if whole_group:
        os.killpg(running.pid, signal.SIGKILL)
    else:
        running.kill()
    running.wait()
    deadline = time.monotonic() + 3
    while (left := mine(place)) and time.monotonic() < deadline:
        time.sleep(0.05)
    for one in left:
        one.kill()
    return len(left)


@pytest.mark.slow
@pytest.mark.parametrize("held", ["namespaces", "nothing"])
def test_nothing_outlives_a_drive_that_is_killed(held: str, tmp_path: Path) -> None:
    # Its run isn't in its group: `evidence.orphans` kills that too.
    assert orphans(tmp_path, held, whole_group=False) == 0
