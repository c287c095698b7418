"""Sessions on a branch: read from objects, without a checkout, the longest version of each."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from command_line import ctxsim

from ctxsim.errors import InputError
from ctxsim.readers import read_source, sources

BRANCH = "entire/checkpoints/v1"


def git(repository: Path, *arguments: str) -> None:
    named = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", "-C", str(repository), *named, *arguments], check=True, capture_output=True)


def session(name: str, turns: int, agent: str = "") -> str:
    lines: list[str] = []
    for number in range(turns):
        inner = {"role": "assistant", "id": f"m{number}", "content": [{"type": "text", "text": f"{name} {number}"}]}
        for kind, message in (("user", {"role": "user", "content": "Go."}), ("assistant", inner)):
            line = {"type": kind, "uuid": str(len(lines)), "sessionId": name, "isSidechain": False}
            line |= {"parentUuid": str(len(lines) - 1) if lines else None, "message": message}
            lines.append(json.dumps(line | ({"agentId": agent} if agent else {})))
    return "\n".join(lines) + "\n"


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


def test_a_bench_with_two_jobs_reads_the_same(repository: Path, tmp_path: Path) -> None:
    path = f"git:{repository}@{BRANCH}"
    for jobs in ("1", "2"):
        done = ctxsim("bench", path, "--policy", "keep-all", "--jobs", jobs, "--out", f"out{jobs}", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    one, two = ((tmp_path / f"out{jobs}" / "calls.csv").read_text() for jobs in ("1", "2"))
    assert one == two
    assert one.count("\n") == 1 + 5
