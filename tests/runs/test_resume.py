"""Going on with a run: nothing old among the new, and nothing damaged is read."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from bench_runs import POLICIES, content

from ctxsim.errors import InputError
from ctxsim.readers.source import Source
from ctxsim.results.folder import WORK
from ctxsim.runs.conduct import Watch, conduct
from ctxsim.runs.task import Setting, source_sha256

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
        Setting("a", "a", POLICIES), folder / "out", paths=[str(folder / "logs")],
        watch=Watch(count, stopped=lambda: done >= 6),
    )  # fmt: skip
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
    setting = Setting("a", "a", POLICIES)
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
    with pytest.raises(InputError, match="can't be resumed: policy or estimator files changed; run without --resume"):
        conduct(setting, tmp_path / "out", paths=paths, resume=True)


def test_another_version_and_other_sources_are_refused(
    stopped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = copied(stopped, tmp_path)
    (tmp_path / "more.jsonl").write_text("{}")
    with pytest.raises(InputError, match="can't be resumed: the list of sources changed"):
        conduct(Setting("a", "a", POLICIES), out, paths=[str(stopped / "logs"), str(tmp_path / "more.jsonl")],
              resume=True)  # fmt: skip
    monkeypatch.setattr("ctxsim.runs.conduct.own_code", lambda: "ctxsim 9")
    with pytest.raises(InputError, match="can't be resumed: ctxsim itself changed"):
        resumed(stopped, out)


def test_what_stands_in_a_databases_log_is_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode=wal")
        writer.execute("CREATE TABLE t (a)")
        before = path.read_bytes(), source_sha256(Source(str(path), path))
        writer.execute("INSERT INTO t VALUES (1)")
        assert path.read_bytes() == before[0]
        assert source_sha256(Source(str(path), path)) != before[1]
