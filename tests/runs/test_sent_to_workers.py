"""What goes to another machine: bytes of sources, labels and source text; and the same results come back."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import pickletools
import shutil
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from bench_runs import POLICIES

from ctxsim.errors import NotATranscript
from ctxsim.readers import sources
from ctxsim.readers.source import Source
from ctxsim.runs.parts import read_part, write_part
from ctxsim.runs.rows import Done
from ctxsim.runs.sent_to_workers import carried, job, part, shared
from ctxsim.runs.task import Common, Setting, Task, results_of, specs_of
from ctxsim.runs.user_code import shipped


@pytest.fixture
def folder(logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """All that a source can be: files, packed ones, members, a database, folders that are one session, and refusals."""
    import sqlite3

    found = tmp_path / "here" / "logs"
    (found / "main" / "subagents").mkdir(parents=True)
    turn = {"role": "assistant", "id": "m", "content": [{"type": "text", "text": "did it"}]}
    for name, session, agent in (("main.jsonl.gz", "main", ""), ("main/subagents/agent-x.jsonl", "main", "x")):
        lines = [
            {"type": kind, "uuid": str(n), "parentUuid": str(n - 1) if n else None, "sessionId": session,
             "isSidechain": bool(agent), "message": message} | ({"agentId": agent} if agent else {})
            for n, (kind, message) in enumerate([("user", {"role": "user", "content": "Go."}), ("assistant", turn)] * 3)
        ]  # fmt: skip
        text = "\n".join(map(json.dumps, lines)).encode()
        (found / name).write_bytes(gzip.compress(text, mtime=0) if name.endswith(".gz") else text)
    shutil.copy(logs / "log00.jsonl", found)
    with zipfile.ZipFile(found / "more.zip", "w") as archive:
        archive.write(logs / "log05.jsonl", "deep/log05.jsonl")
        # A sub-agent finds its session among the other members, also by the ending of its name.
        for name in ("main.jsonl.gz", "main/subagents/agent-x.jsonl"):
            more = gzip.compress(b"\n", mtime=0) if name.endswith(".gz") else b"\n"
            archive.writestr(f"deep/{name}", (found / name).read_bytes() + more)
    (found / "broken.json").write_text('{"what"')
    (found / "gone.json").symlink_to(tmp_path / "nowhere")
    with closing(sqlite3.connect(found / "strange.db")) as database:
        database.execute("CREATE TABLE a (b)")
    monkeypatch.chdir(tmp_path / "here")
    return found


def done_here(task: Task, path: Path) -> list[object]:
    write_part(path, results_of(task))
    return told(path)


def told(path: Path) -> list[object]:
    return [
        one if isinstance(one, Done) else (one.transcript, one.parent, one.summaries, one.tables["calls"].to_pylist())
        for one in read_part(path)
    ]


@pytest.mark.parametrize("given", ["logs", "../here/logs", "{}"])
def test_a_part_made_elsewhere_is_the_part_made_here(given: str, folder: Path, tmp_path: Path) -> None:
    """Labels, parents, errors and hashes: whether the path was relative or absolute, on a machine without the files."""
    common = Common(Setting("a", "a", POLICIES[:2]))
    tasks = [Task(source, common) for source in sources(given.format(folder))]
    assert len(tasks) == 9
    here = [done_here(task, tmp_path / "part") for task in tasks]
    asked, of_all = [job(task) for task in tasks], shared(tasks)
    assert all(isinstance(one, bytes) for one in (*asked, of_all))
    folder.rename(tmp_path / "away")
    (tmp_path / "elsewhere").mkdir()
    os.chdir(tmp_path / "elsewhere")
    for one, expected in zip(asked, here, strict=True):
        (tmp_path / "part").write_bytes(part(one, of_all))
        assert told(tmp_path / "part") == expected
    infos = [done.info for *_, done in here if isinstance(done, Done)]
    assert sum(bool(one.error) for one in infos) == 1 and sum(one.transcripts for one in infos) == 6


def test_nothing_of_ours_is_pickled(folder: Path) -> None:
    """A worker is asked with bytes and the name of one function."""
    tasks = [Task(source, Common(Setting("a", "a", POLICIES))) for source in sources("logs")]
    data = pickle.dumps((part, [job(task) for task in tasks], shared(tasks)))
    words = [str(argument) for code, argument, _ in pickletools.genops(data) if "UNICODE" in code.name]
    assert [word for word in words if "ctxsim" in word] == ["ctxsim.runs.sent_to_workers"]


def test_a_file_that_goes_while_it_is_asked_for_is_told_as_here(folder: Path) -> None:
    source = next(source for source in sources("logs") if source.name == "logs/log00.jsonl")
    (folder / "log00.jsonl").unlink()
    assert carried(source).refused == ("logs/log00.jsonl", "cannot be read: No such file or directory", False)
    stranger = Source("x", None, refused=NotATranscript("x", "is none"))
    assert carried(stranger).refused == ("x", "is none", True)


def test_a_class_of_a_file_goes_as_text(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text("from ctxsim.policies import Policy\n\nclass Mine(Policy):\n    pass\n")
    code = shipped(specs_of(Setting("a", "a", (f"{mine}:Mine",))))
    assert code.classes == b"" and code.files[str(mine)] == mine.read_bytes() and code.packages is None
