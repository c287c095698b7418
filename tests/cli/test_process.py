"""What only a process of its own shows: its exit status, its streams, and how it ends when told to."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from bench_runs import command
from command_line import ctxsim, process
from project import ROOT

from ctxsim.results.folder import WORK

CHAT = [{"role": "system", "content": "s"}, {"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}]


def test_an_unknown_command_is_one_line_and_status_2_as_an_unknown_option_is(tmp_path: Path) -> None:
    done = process("bnch", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "") and ctxsim("--bnch", cwd=tmp_path).returncode == 2
    assert done.stderr == "ctxsim: unknown command 'bnch'; did you mean bench?\n"


def test_a_group_without_a_command_is_answered_with_its_help(tmp_path: Path) -> None:
    for line, first in (([], "Usage: ctxsim [OPTIONS]"), (["transcripts"], "Usage: ctxsim transcripts [OPTIONS]")):
        done = ctxsim(*line, cwd=tmp_path)
        said = (done.stdout + done.stderr).splitlines()
        assert said[0].startswith(first) and len(said) > 10 and any(one.startswith("  check ") for one in said)
    done = ctxsim("compactions", cwd=tmp_path)
    assert done.stderr == "ctxsim: Missing argument 'PATHS...'; see: ctxsim compactions of --help\n"


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


@pytest.mark.slow
def test_what_lies_in_the_current_folder_is_imported_by_no_process(few_logs: Path, tmp_path: Path) -> None:
    """As installed, where the folder isn't on the path of the first process either."""
    for name in ("json", "msgspec", "pickle", "struct", "tempfile", "ctxsim", "selectors", "multiprocessing"):
        (tmp_path / f"{name}.py").write_text("open('marker', 'w').close()\nraise SystemExit(9)\n")
    (tmp_path / "mine.py").write_text(
        "from dataclasses import dataclass\nfrom ctxsim.policies import Policy\n\n@dataclass\nclass Mine(Policy):\n"
        "    def before_call(self, view):\n        return view\n"
    )
    start = "import sys; sys.path.pop(0)\nfrom not_drawn import main, not_drawn\nwith not_drawn(): main()"
    some = map(str, sorted(few_logs.iterdir())[:2])
    for words in (
        ("bench", *some, "--out", "out", "--jobs", "2", "--policy", "mine.py:Mine", "-q"),
        ("drive", "--command", "true", "--play", "one-prompt", "--out", "driven"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", start, *words], cwd=tmp_path, capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"},
        )  # fmt: skip
        assert not (tmp_path / "marker").exists() and done.returncode == (words[0] == "drive"), done.stderr


HANGS = """import signal, time
from dataclasses import dataclass
from ctxsim.policies import Policy

@dataclass
class Hangs(Policy):
    def before_call(self, view):
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        open("begun", "w").close()
        while True:
            try:
                time.sleep(9)
            except BaseException:
                pass
"""


@pytest.mark.slow
@pytest.mark.parametrize(("number", "jobs"), [(signal.SIGTERM, "1"), (signal.SIGINT, "2")])
def test_a_run_ends_within_two_seconds_whatever_its_policy_does_and_goes_on(
    number: signal.Signals, jobs: str, few_logs: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(HANGS)
    (tmp_path / "logs").mkdir()
    for file in sorted(few_logs.iterdir())[:2]:
        shutil.copy(file, tmp_path / "logs")
    asked = [sys.executable, "-P", "-m", "ctxsim", "bench", "logs", "--out", "out", "--policy", "mine.py:Hangs"]
    running = subprocess.Popen(
        [*asked, "--jobs", jobs], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not (tmp_path / "begun").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    began = time.monotonic()
    running.send_signal(number)
    assert running.wait(20) == 128 + number and time.monotonic() - began < 2.5
    # Its workers may take a second more.
    while left := [one for one in psutil.process_iter(["cmdline"]) if "mine.py:Hangs" in (one.info["cmdline"] or ())]:
        assert time.monotonic() - began < 3.5, left
        time.sleep(0.05)
    (tmp_path / "mine.py").write_text(HANGS.replace("        while True", "        return view\n        while True"))
    assert ctxsim(*asked[4:], "--resume", "--force", "-q", cwd=tmp_path).returncode in (0, 1)


def test_a_pipe_is_read(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ctxsim", "transcripts", "check", "-"], cwd=tmp_path, input=json.dumps(CHAT),
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0 and "1 transcript: 1 openai-chat" in done.stdout, done.stderr
