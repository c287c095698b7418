"""What only a process of its own shows: its exit status, its streams, and how it ends when told to."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bench_runs import command
from command_line import process

from ctxsim.results.folder import WORK

CHAT = [{"role": "system", "content": "s"}, {"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}]


def test_a_mistake_is_one_line_and_status_1(tmp_path: Path) -> None:
    done = process("bnch", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "ctxsim: unknown command 'bnch'; did you mean bench?\n"


@pytest.mark.slow
def test_ended_from_outside_it_says_so_and_leaves_no_half_file(logs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    running = subprocess.Popen(command(logs, out), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while not list((out / WORK).glob("0*")) and running.poll() is None:
        time.sleep(0.01)
    running.terminate()
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 143 and "Traceback" not in errors
    assert not list(out.rglob("*.tmp")) and not (out / "run.json").exists()


def test_a_pipe_is_read(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ctxsim", "transcripts", "check", "-"], cwd=tmp_path, input=json.dumps(CHAT),
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0 and "1 transcripts: 1 openai-chat" in done.stdout, done.stderr
