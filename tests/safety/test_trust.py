"""A clone's file runs nothing and leaves its folder for nothing until somebody trusts it, as it is."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import ctxsim
from project import ROOT

from ctxsim.errors import InputError
from ctxsim.readers import sources
from ctxsim.safety.trust import asking, refuse, store, trust, trust_everything, trusted

MARK = "import pathlib; pathlib.Path({!r}).write_text('ran')\n"
CHAT = '{"messages": [{"role": "user", "content": "Any mail?"}, {"role": "assistant", "content": "Two."}]}\n'


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder from somebody else; whoever opens it trusts nothing yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / "clone"
    (folder / ".git").mkdir(parents=True)
    (folder / "log.jsonl").write_text(CHAT)
    (folder / "mine.py").write_text(MARK.format(str(tmp_path / "ran")))
    return folder


@pytest.mark.parametrize(
    "said",
    [
        'policies = ["mine.py:Any"]', 'policies = ["mask+mine.py:Any"]', 'policies = ["pipe:touch x"]',
        'policies = ["messages:mine.py:cut"]', 'grids = ["mine.py:Any"]', 'estimator = "mine.py:Any"',
        'paths = ["@found"]', 'paths = ["git:."]', 'paths = ["reader:mine.py:log.jsonl"]', 'paths = ["../other"]',
        'paths = ["~/logs"]', 'paths = ["s3://bucket/logs"]', 'models = "/etc/models.toml"',
    ],
)  # fmt: skip
def test_a_projects_file_is_data(said: str, clone: Path) -> None:
    (clone / "ctxsim.toml").write_text(f"{said}\n")
    done = ctxsim("bench", "log.jsonl", cwd=clone)
    assert done.returncode == 1 and "ctxsim trust" in done.stderr and len(done.stderr.splitlines()) == 1
    assert not (clone.parent / "ran").exists()


def test_so_is_a_pyproject_and_one_above_the_current_folder(clone: Path) -> None:
    (clone / "src").mkdir()
    (clone / "pyproject.toml").write_text('[tool.ctxsim]\npaths = ["@found"]\npolicies = ["pipe:touch ../ran"]\n')
    for command in (("bench",), ("bench", "../log.jsonl"), ("sweep", "../log.jsonl", "--grid", "mask:keep=1..2@2")):
        done = ctxsim(*command, cwd=clone / "src")
        assert done.returncode == 1 and "ctxsim trust" in done.stderr and not list(clone.rglob("ran"))


def test_the_action_never_trusts_the_file_of_a_pull_request() -> None:
    assert "trust" not in (ROOT / "action.yml").read_text()


def test_nothing_is_trusted_before_anybody_says_so(tmp_path: Path) -> None:
    code = "from ctxsim.safety.trust import trusted; print(trusted(b'run = 1'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path)})  # fmt: skip
    assert done.stdout == "False\n"


def test_trust_is_bound_to_the_content(clone: Path) -> None:
    file = clone / "ctxsim.toml"
    file.write_text('policies = ["mine.py:Any"]\n')
    assert ctxsim("trust", "ctxsim.toml", cwd=clone).returncode == 0
    # It is looked at now, and holds no policy.
    assert "ctxsim trust" not in ctxsim("bench", "log.jsonl", cwd=clone).stderr and (clone.parent / "ran").exists()
    file.write_text('policies = ["mine.py:Other"]\n')
    assert "ctxsim trust" in ctxsim("bench", "log.jsonl", cwd=clone).stderr
    assert "ctxsim trust" not in ctxsim("--trust", "bench", "log.jsonl", cwd=clone).stderr


def test_a_scenarios_labels_are_asked_for_too(clone: Path) -> None:
    made = 'title = "Theirs"\ndescription = ""\npolicies = ["mine.py:Any"]\n[provider]\n'
    made += '[synthesis]\ngenerator = "turns"\nseed = 1\n'
    (clone / "theirs.toml").write_text(made)
    done = ctxsim("bench", "--scenario", "theirs.toml", cwd=clone)
    assert done.returncode == 1 and "ctxsim trust" in done.stderr and not (clone.parent / "ran").exists()


def test_labels_and_paths_of_the_project_need_no_trust(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    labels = ["mask:keep=3", "token-budget:budget=20000..80000@4", "head-tail+summary", "codex", "chars:ratio=3.5"]
    assert asking(labels, ["../logs", "own", "-"], tmp_path / "src", tmp_path) == []
    assert asking([], ["../../logs"], tmp_path / "src", tmp_path) == ["../../logs"]


def test_a_file_that_cant_be_trusted_is_one_line(clone: Path) -> None:
    with pytest.raises(InputError, match="can't be read"):
        trust(clone / "none.toml")
    with pytest.raises(InputError, match=r"'a\.py:A' and 1 more would run code"):
        refuse(clone / "ctxsim.toml", b"", ["a.py:A", "b.py:B"])
    with pytest.raises(InputError, match=r"'a\.py:A' would run code"):
        refuse(clone / "ctxsim.toml", b"", ["a.py:A"])
    refuse(clone / "ctxsim.toml", b"", [])


def test_what_is_trusted_is_kept_by_digest_one_file_a_line(clone: Path) -> None:
    first, second = clone / "first.toml", clone / "second.toml"
    first.write_bytes(b"a = 1\n")
    second.write_bytes(b"b = 2\n")
    assert not store().parent.exists() and not trusted(b"a = 1\n")
    digests = [hashlib.sha256(content).hexdigest() for content in (b"a = 1\n", b"b = 2\n")]
    assert [trust(first), trust(second)] == digests
    assert store().read_text() == f"{digests[0]} {first}\n{digests[1]} {second}\n"
    assert [trusted(content) for content in (b"a = 1\n", b"b = 2\n", b"c = 3\n", b"")] == [True, True, False, False]
    refuse(first, b"a = 1\n", ["a.py:A"])
    trust_everything(True)
    try:
        assert trusted(b"c = 3\n")
    finally:
        trust_everything(False)
    assert not trusted(b"c = 3\n")


@pytest.mark.parametrize(("path", "leaves"), [
    ("own", False), ("src/../own", False), (".", False), ("..", True), ("../project-2", True), ("@found", True),
    ("~", True), ("column:text", True), ("text:column:", False), ("hf://a/b", True), ("-", False),
])  # fmt: skip
def test_which_paths_leave_the_project(path: str, leaves: bool, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    asked = asking(["mask", "keep-all"], [path], tmp_path / "project", tmp_path / "project")
    assert asked == [path] * leaves


@pytest.mark.parametrize(
    "label",
    ["a.py", "x+a.py:B", "pipe:cat", "mask+pipe:cat", "keep=1,messages :f", "a|reader:b", " pipe:cat", "pipe:a=b",
     "mask:keep=2+ pipe:cat", "pi\npe:cat", "x.p\ny:P", "mask:keep=a.py:P", "mask,estimator=a.py:E", "\u2003pipe:cat",
     "pipe", "messages:a:b", "langchain:trim_messages:max_tokens=1", "mask:keep=\x1b"],
)  # fmt: skip
def test_which_labels_run_something(label: str, tmp_path: Path) -> None:
    assert asking(["mask", label], [], tmp_path, tmp_path) == [label]


@pytest.mark.parametrize(
    ("label", "file"),
    [("calibrated:file=/abs", "/abs"), ("mask:estimator=calibrated:use=ratio,file=../a", "../a"),
     ("calibrated:file=a|/abs", "a|/abs"), ("calibrated:file=a+b", "a+b"), ("calibrated:file=out", "out")],
)  # fmt: skip
def test_which_files_of_labels_and_rules_leave_the_project(label: str, file: str, tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to("/")
    assert file in asking([label], [], tmp_path, tmp_path)
    inside = ["calibrated:file=own/a.json"], ["hf:own", "anthropic", "hf:gpt2", "own.toml", 3, None]
    assert asking(inside[0], [], tmp_path, tmp_path, inside[1]) == []
    strange = ["hf:/abs", "/abs/v.toml", "../v.toml", "out/v.toml"]
    assert asking([], [], tmp_path, tmp_path, strange) == ["/abs", *strange[1:]]


def test_a_pattern_leaves_the_project_where_a_match_does(tmp_path: Path) -> None:
    (tmp_path / "project" / "logs").mkdir(parents=True)
    (tmp_path / "project" / "logs" / "link").symlink_to(tmp_path)
    (tmp_path / "a.jsonl").write_text("")
    (tmp_path / "project" / "a.jsonl").write_text("")
    paths = ["logs/lin[k]/*.jsonl", "lo*/link", "*.jsonl", "*/../../*", "a\0b"]
    found = asking([], paths, tmp_path / "project", tmp_path / "project")
    assert found == [paths[0], paths[1], paths[3], paths[4]]


def test_a_bare_repository_inside_another_runs_nothing(tmp_path: Path) -> None:
    """A clone may hold the files of one. Named it is read without its programs; inside it none is looked for."""
    made, bare, ran = tmp_path / "made", tmp_path / "clone" / "logs", tmp_path / "ran"
    run = ["git", "-C", str(made), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    made.mkdir()
    (made / "log.jsonl").write_text(CHAT)
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "a")):
        subprocess.run([*run, *words], check=True)
    subprocess.run(["git", "init", "-q", str(tmp_path / "clone")], check=True)
    subprocess.run(["git", "clone", "-q", "--bare", str(made), str(bare)], check=True)
    with (bare / "config").open("a") as config:
        config.write(f'[core]\nfsmonitor = "touch {ran}"\nsshCommand = "touch {ran}"\npager = "touch {ran}"\n')
    assert [len(list(source.lines())) for source in sources(f"git:{bare}")] == [1]
    with pytest.raises(InputError):
        list(sources(f"git:{bare / 'refs'}"))
    assert not ran.exists()


@pytest.mark.parametrize("way", ["uploadpack", "ssh", "ext", "fsmonitor"])
def test_a_repository_runs_nothing(way: str, tmp_path: Path) -> None:
    """Its configuration names programs, and an object is missing that git would fetch."""
    home, ran = tmp_path / "repo", tmp_path / "ran"
    run = ["git", "-C", str(home), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    home.mkdir()
    subprocess.run([*run, "init", "-q"], check=True)
    (home / "log.jsonl").write_text(CHAT)
    subprocess.run([*run, "add", "."], check=True)
    subprocess.run([*run, "commit", "-qm", "a"], check=True)
    for blob in (home / ".git" / "objects").glob("??/*"):
        kind = subprocess.run([*run, "cat-file", "-t", blob.parent.name + blob.name], capture_output=True, text=True)
        if kind.stdout.strip() == "blob":
            blob.unlink()
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    url = {"ssh": "ssh://host/repo", "ext": f"ext::{program}"}.get(way, str(home))
    for name, value in (
        ("core.repositoryformatversion", "1"), ("extensions.partialClone", "origin"), ("remote.origin.url", url),
        ("remote.origin.promisor", "true"), ("remote.origin.uploadpack", str(program)),
        ("core.sshCommand", str(program)), ("protocol.ext.allow", "always"),
        ("core.fsmonitor", str(program) if way == "fsmonitor" else "false"),
    ):  # fmt: skip
        subprocess.run([*run, "config", name, value], check=True)
    with pytest.raises(InputError):
        [list(source.lines()) for source in sources(f"git:{home}")]
    assert not ran.exists()
