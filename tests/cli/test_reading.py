"""Read all, tell the errors: the same for every command that reads recordings."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from time import sleep
from types import SimpleNamespace
from typing import Any

import pytest
from command_line import ctxsim
from invented import claude_code, codex, write_logs

from ctxsim.cli import run
from ctxsim.readers.source import Source
from ctxsim.runs import processes


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damaged")
    write_logs(folder / "logs")
    (folder / "logs" / "a\x1bcut.json").write_text('[{"role": "user", "content": "cut')
    (folder / "logs" / "package.json").write_text('{"name": "x", "version": "1"}')
    return folder


@pytest.mark.parametrize(
    "line",
    [
        "transcripts check logs", "transcripts stats logs", "transcripts convert logs --out all.jsonl", "validate logs",
        "validate logs --estimates --estimator chars", "calibrate logs", "calibrate logs --against usage",
        "bill logs --index none", "compactions logs",
    ],
)  # fmt: skip
def test_one_unreadable_file_is_told_and_the_others_are_done(line: str, damaged: Path) -> None:
    done = ctxsim(*line.split(), cwd=damaged)
    assert done.returncode == 1
    assert done.stderr.count("ctxsim: logs/a\\x1bcut.json: is not complete JSON") == 1, done.stderr
    assert done.stderr.count("left out: logs/package.json") == 1
    assert done.stdout or (damaged / "all.jsonl").is_file()


@pytest.mark.parametrize("command", ["advise", "bill", "forecast"])
def test_without_any_session_on_the_machine_one_line_says_so(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert run([command]) == 1
    assert "finds no sessions of agents" in capfd.readouterr().err


def test_an_interrupt_is_one_line_and_status_130(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*given: object, **said: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ctxsim.cli.bill.bill", interrupted)
    assert run(["bill"]) == 130
    assert capfd.readouterr().err.strip().splitlines()[-1] == "Stopped."


def test_a_forecast_names_the_agents_that_a_change_leaves_out(tmp_path: Path) -> None:
    for number in range(20):
        lines: Any = (claude_code if number < 10 else codex)(number)
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (tmp_path / f"{number:02}.jsonl").write_text(text.replace("2026-01-05", f"2026-01-{number + 5:02}"))
    done = ctxsim("forecast", ".", cwd=tmp_path)
    assert "Since 15 January 2026 gpt-5 is used more than before" in done.stdout, done.stderr
    assert "All sessions of Claude Code are before it." in " ".join(done.stdout.split())


@pytest.fixture(scope="module")
def two() -> Iterator[processes.Pool]:
    """Two processes for several commands: they start where the first one runs."""
    with processes.Pool(2) as pool:
        yield pool
        pool.kill()


@pytest.mark.parametrize(
    "line",
    ["transcripts check logs", "transcripts stats logs", "validate logs", "bill logs --index none", "compactions logs",
     "transcripts check logs -v", "transcripts check logs --tokenizer tiktoken:o200k_base",
     "transcripts stats logs --tokenizer tiktoken:o200k_base"],
)  # fmt: skip
def test_two_processes_print_the_same_as_one(
    line: str, damaged: Path, two: processes.Pool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(damaged)
    started: list[int] = []

    def pool(jobs: int) -> AbstractContextManager[Any]:
        started.append(jobs)
        return nullcontext(SimpleNamespace(submit=two.submit, kill=lambda: None))

    monkeypatch.setattr(processes, "Pool", pool)
    printed = []
    for jobs in (1, 2):
        monkeypatch.setattr(processes, "fitting", lambda sources, bytes_each=0, jobs=jobs: jobs)
        assert run(line.split()) == 1
        out, err = capfd.readouterr()
        # With -v, seconds differ.
        printed.append((out, re.sub(r"\d+\.\d\d s", "", err)))
    assert started == [2] and printed[0] == printed[1]


def test_a_killed_process_is_one_line(
    damaged: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(damaged)
    monkeypatch.setattr(processes, "fitting", lambda sources, bytes_each=0: 2)
    monkeypatch.setattr("ctxsim.api.bill._extract", killed)
    assert run(["bill", "logs", "--index", "none"]) == 1
    assert capfd.readouterr().err.strip().endswith("a process that read recordings was killed; is there enough memory?")


def test_after_one_of_several_is_killed_one_alone_reads_the_rest(tmp_path: Path) -> None:
    sources = [Source(str(number), path=tmp_path / str(number)) for number in range(9)]
    assert list(processes.each(killed_once, sources, 2)) == [source.name for source in sources]
    assert len(list(tmp_path.iterdir())) == 1


def killed_once(source: Source) -> str:
    assert source.path is not None
    if source.name == "4" and not source.path.exists():
        source.path.touch()
        killed(source)
    return source.name


def test_what_is_given_up_ends_quietly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed: list[object] = []
    monkeypatch.setattr("threading.excepthook", failed.append)
    found = processes.each(slept, [Source("a", path=tmp_path / "a")] * 40, 2)
    next(found)
    found.close()  # type: ignore[attr-defined]
    assert not failed


def slept(source: object) -> None:
    sleep(0.1)


def killed(source: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_what_no_other_process_can_read_is_read_in_this_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "Pool", None)
    one = Source("a", path=tmp_path / "a")
    assert list(processes.each(str, [one, one], 1)) == list(processes.each(str, [one, one], 0)) == [str(one)] * 2
    for other in (Source("stdin", data=b""), Source("a", path=tmp_path / "a", reader="mine.py")):
        assert list(processes.each(lambda source: source.name, [one, other], 2)) == ["a", other.name]
