"""Sessions on a branch: read from objects, without a checkout, the longest version of each."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from invented import claude_session
from made_runs import made_run

from ctxsim.errors import InputError
from ctxsim.readers import read_source, sources

BRANCH = "entire/checkpoints/v1"


def git(repository: Path, *arguments: str) -> str:
    named = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    command = ["git", "-C", str(repository), *named, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def session(name: str, turns: int, agent: str = "") -> str:
    return claude_session(name, *(f"{name} {number}" for number in range(turns)), agent=agent)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two sessions, one of them in two checkpoints; on a branch that is not checked out."""
    path = tmp_path / "re@po"
    path.mkdir()
    git(path, "init", "-b", "main")
    git(path, "commit", "--allow-empty", "-m", "first")
    git(path, "switch", "--orphan", BRANCH)
    for folder, text in (("aa/1", session("one", 1)), ("aa/2", session("one", 3)), ("bb/1", session("two", 2))):
        (path / folder).mkdir(parents=True)
        (path / folder / "full.jsonl").write_text(text)
        (path / folder / "metadata.json").write_text(json.dumps({"session_id": "one", "note": folder}))
    git(path, "add", ".")
    git(path, "commit", "-m", "sessions")
    git(path, "switch", "main")
    return path


def test_the_longest_version_of_each_session(repository: Path) -> None:
    assert not (repository / "aa").exists()
    found = [source for source in sources(f"git:{repository}@{BRANCH}") if source.name.endswith(".jsonl")]
    assert [source.name for source in found] == [
        f"git:{repository}@{BRANCH}:aa/2/full.jsonl", f"git:{repository}@{BRANCH}:bb/1/full.jsonl",
    ]  # fmt: skip
    transcripts = [transcript for source in found for transcript in read_source(source)]
    assert [(len(one.calls), one.format) for one in transcripts] == [(3, "claude-code"), (2, "claude-code")]


def test_a_folder_and_a_sub_agent_that_shares_its_parents_id(repository: Path) -> None:
    (inside,) = [one.name for one in sources(f"git:{repository}@{BRANCH}:bb") if one.name.endswith(".jsonl")]
    assert inside.endswith("bb/1/full.jsonl")
    git(repository, "switch", BRANCH)
    (repository / "bb/1/agent-x.jsonl").write_text(session("two", 1, agent="x"))
    git(repository, "add", ".")
    git(repository, "commit", "-m", "sub-agent")
    names = [one.name for one in sources(f"git:{repository}:bb") if one.name.endswith(".jsonl")]
    assert [name.rpartition("/")[2] for name in names] == ["agent-x.jsonl", "full.jsonl"]


def test_what_a_folder_would_give_a_commit_gives_too(tmp_path: Path) -> None:
    git(tmp_path, "init", "-b", "main")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/a.jsonl.gz").write_bytes(gzip.compress(session("one", 3).encode()))
    (tmp_path / "logs/b.jsonl").write_text(session("one", 2))
    (tmp_path / "logs/c.jsonl.gz").write_bytes(gzip.compress(session("two", 1).encode()))
    with zipfile.ZipFile(tmp_path / "logs/d.zip", "w") as archive:
        archive.writestr("deep/f.jsonl", session("three", 1))
    pyarrow.parquet.write_table(pyarrow.table({"a": [1]}), tmp_path / "logs/e.parquet")
    made_run(tmp_path / "baseline", {"keep-all": [{}]})
    made_run(tmp_path / "many", {"keep-all": [{}]})
    (tmp_path / "many/summary.parquet").rename(tmp_path / "many/0.parquet")
    (tmp_path / "many/summary.parquet").mkdir()
    (tmp_path / "many/0.parquet").rename(tmp_path / "many/summary.parquet/0.parquet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "logs")
    found = {one.name.rpartition("/")[2]: one for one in sources(f"git:{tmp_path}")}
    # The longest version of the first session is the compressed one, though the other has more bytes.
    assert list(found) == ["a.jsonl.gz", "c.jsonl.gz", "f.jsonl", "e.parquet"]
    assert [len(one.calls) for name in ("a", "c") for one in read_source(found[f"{name}.jsonl.gz"])] == [3, 1]
    assert [one.name for one in read_source(found["f.jsonl"])] == [f"git:{tmp_path}@HEAD:logs/d.zip!deep/f.jsonl"]
    assert found["e.parquet"].content().startswith(b"PAR1")
    with pytest.raises(InputError, match="is a finished run"):
        list(sources(f"git:{tmp_path}:baseline"))


def test_what_is_a_version_of_a_session(tmp_path: Path) -> None:
    """Lines and documents are told apart, and files without an id by their bytes; of equal length the first stays."""
    git(tmp_path, "init", "-b", "main")
    by_id = {
        "claude": '{"sessionId": "a"%s}', "opencode": '{"sessionID": "b"%s}', "entire": '{"session_id":"c"%s}',
        "codex": '{"type": "session_meta", "payload": {"id": "d"}%s}',
        "pi": '{"type":"session","version":3,"id":"e"%s}',
    }  # fmt: skip
    for name, line in by_id.items():
        first = line % ""
        (tmp_path / f"{name}-1.jsonl").write_text(f"{first}\n[1]\n")
        (tmp_path / f"{name}-2.jsonl").write_text(f"{first}\n[1]\n[2]\n")
        (tmp_path / f"{name}-3.jsonl").write_text(f"{first}\n[3]\n[4]\n")
        (tmp_path / f"{name}.json").write_text(line % f', "n": "{"x" * 99}"')
        (tmp_path / f"{name}-indented.traj").write_text("{\n" + (line % f', "n": "{"x" * 999}"')[1:] + "\n")
    for name in ("none-1.json", "none-2.json", "none.txt"):
        (tmp_path / name).write_text('{"no": "id"}')
    (tmp_path / "far.eval").write_text(" " * (1 << 16) + '{"sessionId": "a"}')
    git(tmp_path, "add", ".")
    git(tmp_path, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},submodule.json")
    git(tmp_path, "commit", "-m", "all")
    kept = ["far.eval", "none-1.json", *(f"{name}{end}" for name in by_id for end in ("-2.jsonl", "-indented.traj"))]
    assert [one.name.removeprefix(f"git:{tmp_path}@HEAD:") for one in sources(f"git:{tmp_path}")] == sorted(kept)


def test_a_repository_without_a_work_tree_a_folder_of_one_and_one_file(repository: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "--bare", str(repository), str(bare))
    (repository / "bb").mkdir()
    ended = {"bb/1/full.jsonl", "bb/1/metadata.json"}
    for path in (f"git:{bare}@{BRANCH}:bb", f"git:{bare}@{BRANCH}:/bb/", f"git:{repository}@{BRANCH}:bb"):
        assert {one.name.rpartition(":")[2] for one in sources(path)} == ended
    assert {one.name.rpartition(":")[2] for one in sources(f"git:{repository}/bb@{BRANCH}")} == {
        "1/full.jsonl", "1/metadata.json",
    }  # fmt: skip
    (file,) = sources(f"git:{bare}@{BRANCH}:bb/1/full.jsonl")
    # A worker gets the source, and reads the same copy.
    for one in (file, pickle.loads(pickle.dumps(file))):
        with one.open() as stream:
            assert stream.read().decode() == session("two", 2)


def test_a_blob_that_is_too_large_or_missing_is_refused_and_the_others_are_read(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len(session("two", 2))
    # A byte less than the second session has. Whose version one is that can't be read nobody knows: all stand there.
    monkeypatch.setenv("CTXSIM_MAX_MB", str((size - 1) / 1e6))
    found = [one for one in sources(f"git:{repository}@{BRANCH}") if one.name.endswith(".jsonl")]
    assert [one.name[-15:-6] for one in found] == ["aa/1/full", "aa/2/full", "bb/1/full"]
    assert found[0].content().decode() == session("one", 1)
    for one in found[1:]:
        with pytest.raises(InputError, match="larger than 0 MB"):
            one.content()
    monkeypatch.setenv("CTXSIM_MAX_MB", str(size / 1e6))
    assert [one.content().decode() for one in sources(f"git:{repository}@{BRANCH}:bb/1/full.jsonl")] == [
        session("two", 2)
    ]
    monkeypatch.delenv("CTXSIM_MAX_MB")
    blob = git(repository, "rev-parse", f"{BRANCH}:bb/1/full.jsonl").strip()
    (repository / ".git/objects" / blob[:2] / blob[2:]).chmod(0o644)
    os.truncate(repository / ".git/objects" / blob[:2] / blob[2:], 150)
    *others, damaged = (one for one in sources(f"git:{repository}@{BRANCH}") if one.name.endswith(".jsonl"))
    with pytest.raises(InputError, match=r"bb/1/full.jsonl: is a damaged object of the repository$"):
        damaged.content()
    assert [one.content().decode() for one in others] == [session("one", 3)]
    (repository / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(InputError, match=r"can't be read by git|a partial clone"):
        list(sources(f"git:{repository}@{BRANCH}"))


def test_what_is_not_there_is_one_line(repository: Path, tmp_path: Path) -> None:
    for path, why in (
        (f"git:{repository}@none", "can't be read by git"),
        (f"git:{repository}@--all", "can't be read by git"),
        (f"git:{repository}@{BRANCH}:cc", "has no files"),
        ("git:https://example.org/x", "is no repository on this machine"),
        (f"git:{tmp_path}", "can't be read by git"),
    ):
        with pytest.raises(InputError, match=why):
            list(sources(path))


def test_git_ends_with_the_process_that_asks_it(repository: Path) -> None:
    asking = "import sys\nfrom ctxsim.readers import sources\nnext(sources(sys.argv[1])).content()"
    command = [sys.executable, "-W", "always", "-c", asking, f"git:{repository}@{BRANCH}"]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stderr == ""


@pytest.mark.skipif(os.name != "posix", reason="pipes with a name")
def test_nobody_waits_for_a_pipe_in_a_repository(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxsim.readers.source.git.ANSWER_S", 0.5)
    (repository / ".git" / "config").unlink()
    os.mkfifo(repository / ".git" / "config")
    with pytest.raises(InputError, match="can't be read by git: no answer within 0 s"):
        list(sources(f"git:{repository}"))
