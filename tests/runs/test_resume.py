"""Runs that are stopped, killed and resumed."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from bench_runs import POLICIES, SOURCES, arguments, command, content
from command_line import ctxsim
from pages import words_of

from ctxsim.errors import CtxsimError, InputError
from ctxsim.results import read_run
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


POLICY = """from dataclasses import dataclass
from ctxsim.policies import Policy

@dataclass
class Mine(Policy):
    def before_call(self, view):
        return view.drop([item.place for item in view][:{n}], "mine") if len(view) > {n} else view
"""


@pytest.fixture(scope="module")
def stopped(logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was stopped after six of its eight sources."""
    folder = tmp_path_factory.mktemp("stopped")
    (folder / "logs").mkdir()
    for file in sorted(logs.iterdir())[:8]:
        shutil.copy(file, folder / "logs")
    done = 0

    def count(info: object, total: int) -> None:
        nonlocal done
        done += 1

    made = conduct(
        Setting("a", "a", POLICIES),
        folder / "out",
        paths=[str(folder / "logs")],
        watch=Watch(count, stopped=lambda: done >= 6),
    )
    assert not made.complete
    return folder


def copied(stopped: Path, to: Path) -> Path:
    shutil.copytree(stopped / "out", to / "out")
    return to / "out"


def resumed(stopped: Path, out: Path) -> dict[str, bytes]:
    assert conduct(Setting("a", "a", POLICIES), out, paths=[str(stopped / "logs")], resume=True).complete
    return content(out)


@pytest.fixture(scope="module")
def whole(stopped: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What the run gives in one go."""
    return resumed(stopped, tmp_path_factory.mktemp("whole") / "out")


def test_a_stopped_run_that_starts_again_says_so(stopped: Path, tmp_path: Path) -> None:
    out = copied(stopped, tmp_path)
    words = ("bench", str(stopped / "logs"), "--out", str(out), "--policy", "keep-all", "--force")
    again, another = (ctxsim(*words, cwd=tmp_path) for _ in range(2))
    assert again.returncode == 0 and "out holds a stopped run, which starts again; --resume would" in again.stderr
    assert "starts again" not in another.stderr


def test_a_full_disk_loses_nothing_that_was_done(
    stopped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
            conduct(setting, tmp_path / "out", paths=[str(stopped / "logs")])
    parts = [file for file in (tmp_path / "out" / WORK).iterdir() if file.name.isdigit()]
    assert len(parts) == 7 and all(list(read_part(part)) for part in parts)
    assert not (tmp_path / "out" / "run.json").exists() and not list((tmp_path / "out").glob("*.tmp"))
    assert conduct(setting, tmp_path / "out", paths=[str(stopped / "logs")], resume=True).complete


def test_a_flipped_bit_is_noticed(stopped: Path, whole: dict[str, bytes], tmp_path: Path) -> None:
    chance = random.Random(4)
    out = copied(stopped, tmp_path)
    parts = sorted(file for file in (out / WORK).iterdir() if file.name.isdecimal())
    assert len(parts) == 6
    for part in parts:
        data = bytearray(part.read_bytes())
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        part.write_bytes(data)
    assert resumed(stopped, out) == whole


def test_a_changed_input_is_done_again(stopped: Path, tmp_path: Path) -> None:
    shutil.copytree(stopped / "logs", tmp_path / "logs")
    setting = Setting("a", "a", ("keep-all", "mask:keep=1"))
    done: list[int] = []
    conduct(setting, tmp_path / "out", paths=[str(tmp_path / "logs")],
            watch=Watch(lambda i, t: done.append(t), stopped=lambda: len(done) >= 6))  # fmt: skip
    changed = sorted((tmp_path / "logs").iterdir())[3]
    # A file of the same size and time, so that only its content tells.
    changed.write_text(changed.read_text().replace("word word", "some word"))
    conduct(setting, tmp_path / "out", paths=[str(tmp_path / "logs")], resume=True)
    conduct(setting, tmp_path / "anew", paths=[str(tmp_path / "logs")])
    assert content(tmp_path / "out") == content(tmp_path / "anew")


def test_a_parent_that_is_called_otherwise_is_noticed(tmp_path: Path) -> None:
    """Codex: a sub-agent's rollout names a thread; its parent is the rollout beside it with that thread in its name."""
    logs = tmp_path / "logs"
    logs.mkdir()
    parent, child = logs / "rollout-2026-01-01T00-00-00-p1.jsonl", logs / "rollout-2026-01-01T00-00-01-c1.jsonl"
    child.write_text("\n".join(json.dumps({"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload}) for
        kind, payload in (
            ("session_meta", {"id": "c1", "source": {"subagent": {"thread_spawn": {"parent_thread_id": "p1"}}}}),
            *(("response_item", {"type": "message", "role": role, "content": [{"type": words, "text": "word word"}]})
              for role, words in (("user", "input_text"), ("assistant", "output_text"))),
        )))  # fmt: skip
    parent.write_text(child.read_text().replace("c1", "p1").replace('"source"', '"other"'))
    last = tmp_path / "last.jsonl"
    last.write_text(parent.read_text())
    setting = Setting("a", "a", ("keep-all",))
    done: list[int] = []

    def paths() -> list[str]:
        return [str(child), str(last)]

    watch = Watch(lambda i, t: done.append(t), stopped=lambda: bool(done))
    conduct(setting, tmp_path / "out", paths=paths(), watch=watch)
    parent.rename(logs / "rollout-2026-02-02T00-00-00-p1.jsonl")
    conduct(setting, tmp_path / "out", paths=paths(), resume=True)
    conduct(setting, tmp_path / "anew", paths=paths())
    assert content(tmp_path / "out") == content(tmp_path / "anew")
    assert "2026-02-02" in (tmp_path / "out" / "summary.csv").read_text()


@pytest.mark.usefixtures("opened_at_once")
def test_a_changed_policy_file_is_refused(stopped: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(POLICY.format(n=2))
    setting = Setting("a", "a", ("keep-all", f"{file}:Mine"))
    paths = [str(stopped / "logs")]
    done: list[object] = []
    conduct(
        setting, tmp_path / "out", paths=paths, watch=Watch(lambda one, _: done.append(one), stopped=lambda: bool(done))
    )
    file.write_text(POLICY.format(n=3))
    from ctxsim.policies import open_policies

    open_policies.cache_clear()  # as in a new process
    with pytest.raises(InputError, match=r"can't be resumed: .*, a policy's file, .* run without --resume"):
        conduct(setting, tmp_path / "out", paths=paths, resume=True)


def test_another_version_and_other_sources_are_refused(
    stopped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = copied(stopped, tmp_path)
    (tmp_path / "more.jsonl").write_text("{}")
    with pytest.raises(InputError, match="can't be resumed"):
        conduct(Setting("a", "a", ("drop-all",)), out, paths=[str(stopped / "logs")], resume=True)
    with pytest.raises(InputError, match="can't be resumed"):
        conduct(
            Setting("a", "a", POLICIES), out, paths=[str(stopped / "logs"), str(tmp_path / "more.jsonl")], resume=True
        )
    monkeypatch.setattr("ctxsim.runs.conduct.own_code", lambda: "ctxsim 9")
    with pytest.raises(InputError, match="can't be resumed"):
        resumed(stopped, out)
