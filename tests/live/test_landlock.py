"""What holds a driven agent's files where the system allows no namespaces: Landlock on Linux, a profile on macOS."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from project import ROOT

import ctxsim
from ctxsim.errors import CtxsimError
from ctxsim.live.confined import has_sandbox, sandboxed

HELD = """
import json, os, signal, subprocess, sys
from ctxsim.live.confined import readable, restrict
work, spy = sys.argv[1:3]
held = restrict(work, readable(os.environ["PATH"], [sys.executable, work + "/spy.py"]))
print(json.dumps(held), flush=True)
sys.exit(subprocess.run([sys.executable, work + "/spy.py", *sys.argv[2:]]).returncode)
"""

SPY = """
import json, os, socket, sys
from pathlib import Path

def tried(what):
    try:
        what()
    except OSError as error:
        return type(error).__name__
    return "done"

place, above, name = sys.argv[1], int(sys.argv[2]), sys.argv[3]
print(json.dumps({
    "reads": tried(Path(place, "secret").read_text), "lists": tried(lambda: os.listdir(Path.home())),
    "writes": tried(lambda: Path(place, "new").write_text("x")),
    "cuts": tried(lambda: os.truncate(f"{place}/secret", 0)),
    "environ": tried(lambda: Path(f"/proc/{above}/environ").read_bytes()), "signals": tried(lambda: os.kill(above, 0)),
    "socket": tried(lambda: socket.socket(socket.AF_UNIX).connect("\\0" + name)),
    "own": tried(lambda: Path(__file__).with_name("made").write_text("x")),
    "null": tried(lambda: Path("/dev/null").write_text("x")), "program": tried(lambda: os.stat("/usr/bin/env")),
}))
"""


def test_an_agent_without_namespaces_reads_programs_and_writes_its_work_alone(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "spy.py").write_text(SPY)
    (tmp_path / "secret").write_text("mine")
    name = f"ctxsim-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(f"\0{name}")
        service.listen()
        done = subprocess.run(
            [sys.executable, "-P", "-c", HELD, work, tmp_path, str(os.getpid()), name], capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
    lines = done.stdout.splitlines()
    if json.loads(lines[0]) is False:
        pytest.skip("this system has no Landlock")
    found = json.loads(lines[1])
    held = {key: found.pop(key) for key in ("reads", "lists", "writes", "cuts", "environ", "signals", "socket")}
    assert set(held.values()) == {"PermissionError"}, str(held)
    assert found == {"own": "done", "null": "done", "program": "done"}
    assert (tmp_path / "secret").read_text() == "mine" and (work / "made").read_text() == "x"


WITHOUT_NAMESPACES = """
import sys
from ctxsim.live import run_plan
run_plan.enclose = lambda root: ()
run_plan.main(*sys.argv[1:3], int(sys.argv[3]))
"""

AGENT = """
import os, sys, urllib.request
for path in ("secret", "agent/agent.py"):
    try:
        print(path, len(open(f"{sys.argv[1]}/{path}").read()) > 0, flush=True)
    except OSError as error:
        print(path, type(error).__name__, flush=True)
print(os.getcwd() != "", open("here", "w").write("x"), flush=True)
"""


@pytest.mark.slow
def test_a_drive_without_namespaces_is_held_by_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(
        "ctxsim.live.drive.python", lambda module, *words: [sys.executable, "-P", "-c", WITHOUT_NAMESPACES, *words]
    )
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "agent.py").write_text(AGENT)
    (tmp_path / "secret").write_text("mine")
    command = f"{sys.executable} {tmp_path}/agent/agent.py {tmp_path}"
    with pytest.raises(CtxsimError, match="sent no request of the conversation"):
        ctxsim.drive([], "documented-53k", command=command, out=tmp_path / "out")
    (said,) = (tmp_path / "out").glob("output-*.txt")
    lines = said.read_text().splitlines()
    if lines[0] == "secret True":
        pytest.skip("this system has no Landlock")
    assert lines[:3] == ["secret PermissionError", "agent/agent.py True", "True 1"]


def test_the_profile_of_macos_names_what_is_shown(tmp_path: Path) -> None:
    """That a Mac takes it was not tried: none was at hand."""
    (tmp_path / 'a "quoted"').mkdir()
    command = sandboxed(["agent", "-x"], str(tmp_path), [str(tmp_path / 'a "quoted"')])
    assert command[:2] == ["sandbox-exec", "-p"] and command[3:] == ["agent", "-x"]
    profile = command[2]
    assert profile.count("(") == profile.count(")") and 'a \\"quoted\\"")' in profile
    deny, allow = profile.index("(deny file-write*)"), profile.index("(allow file-write*")
    assert deny < allow < profile.index("(deny network*)") < profile.index("(allow network*")
    assert has_sandbox() == (sys.platform == "darwin")
