"""Runs that are stopped, killed and resumed."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from bench_runs import POLICIES, SOURCES, arguments, command, content
from command_line import ctxsim
from pages import words_of

from ctxsim.errors import CtxsimError, InputError
from ctxsim.results import InputInfo, read_run
from ctxsim.results.folder import WORK
from ctxsim.runs.conduct import Watch, conduct
from ctxsim.runs.parts import read_part, write_part
from ctxsim.runs.task import Setting


@pytest.mark.slow
def test_killed_and_resumed_it_ends_with_the_same_bytes(logs: Path, undisturbed: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    running = subprocess.Popen(
        command(logs, out, "--jobs", "2"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    # While it starts there is nothing to lose yet.
    while running.poll() is None and len(list((out / WORK).glob("0*"))) <= 9:
        time.sleep(0.005)
    assert running.poll() is None, "killed too late to matter"
    # The workers too: a machine that loses power asks nobody.
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    assert not (out / "run.json").exists()
    done = ctxsim(*arguments(logs, out, "--resume"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert content(out) == content(undisturbed)
    assert not (out / WORK).exists() and not list(out.glob("*.tmp"))


def test_stopped_after_a_source_leaves_a_readable_run_and_goes_on(
    logs: Path, undisturbed: Path, tmp_path: Path
) -> None:
    setting = Setting("out", f"Recorded transcripts in {logs}", POLICIES)
    done = 0

    def count(info: object, total: int) -> None:
        nonlocal done
        done += 1
        assert total == SOURCES

    info = conduct(setting, tmp_path / "out", paths=[str(logs)], watch=Watch(count, stopped=lambda: done >= 5))
    run = read_run(tmp_path / "out")
    assert not info.complete and not run.info.complete and len(run.info.inputs) == 5
    assert run.summary.transcript.nunique() == 5
    stopped = "Stopped: figures are of the 5 sources that were done; bench --resume goes on."
    for shown in ("--out page.html", "--only pictures --out pictures", "--only losses"):
        assert stopped in " ".join(ctxsim("report", "out", *shown.split(), cwd=tmp_path).stdout.split())
    assert stopped in words_of(tmp_path / "page.html")
    resumed = []
    whole = conduct(
        setting, tmp_path / "out", paths=[str(logs)], resume=True, watch=Watch(lambda i, t: resumed.append(i.name))
    )
    assert whole.complete and len(resumed) == SOURCES
    mine, theirs = content(tmp_path / "out"), content(undisturbed)
    assert {name: mine[name] for name in mine if name != "run.json"} == {
        n: theirs[n] for n in theirs if n != "run.json"
    }


@pytest.mark.slow
def test_ctrl_c_leaves_a_partial_run(logs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    running = subprocess.Popen(command(logs, out), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while len(list((out / WORK).glob("0*"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    run = read_run(out)
    if running.returncode == 0:
        pytest.skip("it was done before it could be stopped")
    assert running.returncode == 130 and "--resume" in errors
    assert 0 < len(run.info.inputs) < SOURCES and not run.info.complete
    again = ctxsim(*arguments(logs, out), cwd=tmp_path)
    assert again.returncode == 0 and "out holds a stopped run, which starts again; --resume would" in again.stderr
    assert "starts again" not in ctxsim(*arguments(logs, out), cwd=tmp_path).stderr


def test_resume_wants_the_same_settings(logs: Path, tmp_path: Path) -> None:
    setting = Setting("a", "a", ("keep-all",))
    done: list[InputInfo] = []
    conduct(
        setting, tmp_path / "out", paths=[str(logs)],
        watch=Watch(lambda one, _: done.append(one), stopped=lambda: bool(done)),
    )  # fmt: skip
    other = Setting("a", "a", ("drop-all",))
    with pytest.raises(InputError, match="can't be resumed"):
        conduct(other, tmp_path / "out", paths=[str(logs)], resume=True)
    # Without --resume it begins anew.
    assert conduct(other, tmp_path / "out", paths=[str(logs)]).complete


def test_a_full_disk_loses_nothing_that_was_done(logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setting = Setting("a", "a", POLICIES)
    written = 0

    def full(path: Path, rows: object) -> None:
        nonlocal written
        written += 1
        if written > 7:
            path.with_name(path.name + ".tmp").write_bytes(b"half")
            raise OSError(28, "No space left on device", str(path))
        write_part(path, rows)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr("ctxsim.runs.workers.write_part", full)
        with pytest.raises(CtxsimError, match="No space left on device; what is finished is kept, make room and go on"):
            conduct(setting, tmp_path / "out", paths=[str(logs)])
    parts = [file for file in (tmp_path / "out" / WORK).iterdir() if file.name.isdigit()]
    assert len(parts) == 7 and all(list(read_part(part)) for part in parts)
    assert not (tmp_path / "out" / "run.json").exists() and not list((tmp_path / "out").glob("*.tmp"))
    assert conduct(setting, tmp_path / "out", paths=[str(logs)], resume=True).complete
