"""What commands hand on to the public functions, and what they do with the answer."""

from __future__ import annotations

import errno
import json
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from command_line import ctxsim

from ctxsim import cli as command_line
from ctxsim.api.trust import Checked
from ctxsim.cli import check as check_room
from ctxsim.cli import run
from ctxsim.cli.options import defaults
from ctxsim.cli.running import split
from ctxsim.errors import CtxsimError, Stopped
from ctxsim.runs.doctor import Defect
from ctxsim.synthesis.scenario import Expectation


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (None, 0, ""), (SystemExit(3), 3, ""), (SystemExit(None), 0, ""), (SystemExit("text"), 1, ""),
        (CtxsimError("is wrong"), 1, "ctxsim: is wrong\n"), (click.UsageError("wrong."), 2, "ctxsim: wrong\n"),
        (OSError(errno.EISDIR, "Is a directory", "f"), 1, "ctxsim: f: Is a directory; name a file in it\n"),
        (OSError(errno.ENOTDIR, "No folder", "f"), 1, "ctxsim: f: No folder; a part of this path is a file\n"),
        (OSError(errno.ENOENT, "Nothing", "f"), 1, "ctxsim: f: Nothing; is the path right?\n"),
        (OSError(errno.EEXIST, "Exists", "f"), 1, "ctxsim: f: Exists; name a folder\n"),
        (OSError(errno.ENOSPC, "Full", "f"), 1, "ctxsim: f: Full; make room\n"),
        (OSError(errno.EROFS, "Read-only", "f"), 1, "ctxsim: f: Read-only; name another place, as with --out\n"),
        (OSError(errno.EACCES, "Denied"), 1, "ctxsim: Denied; name another place, as with --out\n"),
        (OSError(errno.EBUSY, "Busy"), 1, "ctxsim: Busy\n"), (OSError("plain"), 1, "ctxsim: plain\n"),
        (click.Abort(), 1, ""),
    ],
)  # fmt: skip
def test_errors_are_a_line_and_a_status(
    error: BaseException | None,
    status: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def main(*given: Any, **named: Any) -> None:
        if error is not None:
            raise error

    monkeypatch.setattr(command_line.cli, "main", main)
    assert run(["bench"]) == status
    found = capsys.readouterr()
    assert (found.out, found.err) == ("", said)


def test_ctrl_c_is_told_and_what_a_command_returns_is_its_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*given: Any, **named: Any) -> None:
        raise click.Abort from KeyboardInterrupt()

    monkeypatch.setattr(command_line.cli, "main", stopped)
    assert run([]) == 130 and capsys.readouterr().err == "Stopped.\n"
    for ended, status in ((7, 7), ("text", 0), (None, 0)):
        monkeypatch.setattr(command_line.cli, "main", lambda *given, ended=ended, **named: ended)
        assert run([]) == status


def test_a_process_ends_with_the_status_of_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    called: dict[str, Any] = {}
    for name, function in (("signal.signal", "handler"), ("gc.set_threshold", "gc"), ("gc.freeze", "freeze")):
        monkeypatch.setattr(name, lambda *given, function=function: called.update({function: given}))
    monkeypatch.setattr("ctxsim.safety.processes.end_soon", lambda seconds: called.update(end=seconds))
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)

    def stop() -> int:
        raise Stopped

    for ran, status in ((lambda: 5, 5), (stop, 143)):
        monkeypatch.setattr(command_line, "run", ran)
        with pytest.raises(SystemExit) as end:
            command_line.main()
        assert end.value.code == status
    assert called["handler"][0] == signal.SIGTERM and called["gc"] == (10_000, 10, 10) and called["freeze"] == ()
    assert called["end"] == 1.7
    with pytest.raises(Stopped):
        called["handler"][1](15, None)


def test_paths_are_those_typed_or_the_projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "ctxsim.toml").write_text("paths = ['logs']\n")
    monkeypatch.chdir(tmp_path)
    assert split((), ()) == (["logs"], []) and split((), ("one-prompt",)) == ([], ["one-prompt"])
    assert split(("mask", "nowhere", "fifo/x", "*.json"), ()) == (["mask", "nowhere", "fifo/x", "*.json"], [])


def test_a_project_has_defaults_of_bench_and_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    assert defaults() == {"bench": {"rules": ()}, "sweep": {"rules": ()}}
    (tmp_path / "ctxsim.toml").write_text(
        "goal = 'kept'\nestimator = 'words'\nmodel = 'm'\nmodels = 'own.toml'\nwindow = 9\nhead = 0\njobs = 2\n"
        "tokenizer = 't'\ncache = 'none'\npolicies = ['mask']\ngrids = ['mask:keep=1|2']\n"
    )
    shared = {"goal": "kept", "estimator": "words", "model": "m", "models": "own.toml", "window": 9, "head": 0,
              "jobs": 2, "rules": ("tokenizer=t", "cache=none")}  # fmt: skip
    assert defaults() == {
        "bench": shared | {"policies": ("mask",)}, "sweep": shared | {"grids": ("mask:keep=1|2",)}
    }  # fmt: skip


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is asked of `check`; then what it answers by target."""
    heard: list[Any] = []

    def check(kind: str, target: str, *on: str, again: bool, learn: bool) -> Checked:
        heard.append((kind, target, on, again, learn))
        bad = target.startswith("bad")
        return Checked(target, ("v1", "v2") if bad else (), ("f",) if bad else (), "append-only: yes" if bad else "")

    monkeypatch.setattr(check_room, "check", check)
    return heard


def test_each_target_is_checked_and_any_violation_is_status_1(checked: list[Any], tmp_path: Path) -> None:
    done = ctxsim("check", "vendor", "good", "bad", cwd=tmp_path)
    assert done.returncode == 1 and done.stdout.splitlines() == [
        "good: keeps the contract", "bad: 2 violations", "  append-only: yes"
    ]  # fmt: skip
    assert done.stderr.splitlines() == ["ctxsim: f", "v1", "v2"]
    assert checked == [("vendor", "good", (), False, False), ("vendor", "bad", (), False, False)]
    rows = ctxsim("check", "vendor", "bad", "good", "--format", "json", cwd=tmp_path)
    answer = json.loads(rows.stdout)
    assert rows.returncode == 1 and rows.stderr == "" and answer["ok"] is False
    assert [tuple(row.values()) for row in answer["tables"][0]["rows"]] == [
        ("bad", "violation", "v1"), ("bad", "violation", "v2"), ("bad", "finding", "f"), ("bad", "append-only", "yes")
    ]  # fmt: skip
    good = ctxsim("check", "vendor", "good", "--format", "json", cwd=tmp_path)
    assert good.returncode == 0 and json.loads(good.stdout)["ok"] is True


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("reader mine.py a b", [("reader", "mine.py", ("a", "b"), False, False)]),
        ("policy mask --scenario one-prompt --scenario x", [("policy", "mask", ("one-prompt", "x"), False, False)]),
        ("run a b --again --inputs logs", [("run", "a", ("logs",), True, False), ("run", "b", ("logs",), True, False)]),
        ("agent mine.toml --learn", [("agent", "mine.toml", (), False, True)]),
        ("policy papers", [("policy", name, (), False, False) for name in (
            "keep-all", "drop-all", "oracle-lossless", "oracle-lossless:aim=dollars", "mask")]),
    ],
)  # fmt: skip
def test_what_is_checked_is_handed_on(line: str, asked: list[Any], checked: list[Any], tmp_path: Path) -> None:
    assert ctxsim("check", *line.split(), cwd=tmp_path).returncode == 0
    assert checked == asked


@pytest.mark.parametrize(
    ("line", "said"),
    [
        *((f"vendor x {option}", "--version, --model, --window and --install are for settings")
          for option in ("--version 1", "--model m", "--window 9", "--install")),
        *((f"vendor x {option}", "--doctor and --scenario are for policies")
          for option in ("--doctor", "--scenario one-prompt", "--case x.jsonl")),
        ("run x --inputs a", "--again is for runs, and --inputs goes with it"),
        ("vendor x --again", "--again is for runs"),
        ("agent codex --learn", "--learn is for agents' files"),
        ("vendor x.toml --learn", "--learn is for agents' files"),
        ("policy mask fifo:budget=9 --doctor --case x --scenario defects/y", "--case is of one policy and one defect"),
        ("policy mask --doctor --case x", "--case is of one policy and one defect"),
        ("policy mask --case x --scenario defects/y", "--case is of one policy and one defect"),
    ],
)  # fmt: skip
def test_options_that_do_not_fit_are_told(line: str, said: str, checked: list[Any], tmp_path: Path) -> None:
    done = ctxsim("check", *line.split(), cwd=tmp_path)
    assert done.returncode == 2 and said in done.stderr and checked == []


def test_a_case_is_written_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from samples import conversation

    scenario: Any = SimpleNamespace(name="x", provider={"window": 9, "cache": "none", "prices": {"input": 1}})
    seen = (SimpleNamespace(who="pi", date="2026-01-02", source="there"),)
    defect = Defect(scenario, Expectation("Nothing is lost", "s", 0, "Keep it.", seen))  # type: ignore[arg-type]
    shown = defect, conversation("one"), "overflow, too long"
    monkeypatch.setattr("ctxsim.api.defects.shortest_case", lambda policy, name: shown)
    monkeypatch.setenv("COLUMNS", "300")
    line = ("check", "policy", "mask", "--doctor", "--scenario", "defects/x", "--case", "a b.jsonl")
    done = ctxsim(*line, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.splitlines() == [
        "a b.jsonl: 2 calls. Expected: nothing is lost", "The provider's answer to the last: overflow, too long",
        "What would mend it: Keep it.", "Reported of pi, 2026-01-02: there",
        "To see it: ctxsim replay 'a b.jsonl' --policy mask --provider window=9 --provider cache=none",
    ]  # fmt: skip
    assert ctxsim("transcripts", "check", "a b.jsonl", cwd=tmp_path).returncode == 0
