"""`-q` prints the result alone, `-v` says more, on every command; errors are told either way."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from command_line import ctxsim
from invented import write_logs

from ctxsim.cli import COMMANDS, cli


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one log of each kind, a stranger among them, and a broken one beside."""
    made = tmp_path_factory.mktemp("loudness")
    write_logs(made / "logs", count=1)
    (made / "logs" / "package.json").write_text('{"name": "x"}')
    (made / "broken.json").write_text('[{"role": "user", "content": "cut')
    return made


def every(command: click.Command, context: click.Context) -> Iterator[click.Command]:
    if not isinstance(command, click.Group):
        yield command
        return
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from every(found, context)


def test_both_belong_to_the_whole_command_line_and_no_command_has_its_own(folder: Path) -> None:
    found = list(every(cli, click.Context(cli)))
    assert len(found) > len(COMMANDS)
    for command in found:
        assert not [opt for param in command.params for opt in param.opts if opt in ("-q", "-v")], command
    assert [opt for param in cli.params for opt in param.opts if opt in ("-q", "-v")] == ["-q", "-v"]
    assert re.search(
        r"-q, --quiet +With any command, .*\n +-v, --verbose +With any command, ", ctxsim("-h", cwd=folder).stdout
    )


def test_they_stand_anywhere_before_two_dashes(folder: Path) -> None:
    line = ("transcripts", "check", "logs")
    said = [ctxsim(*line[:at], flag, *line[at:], cwd=folder) for at in range(4) for flag in ("-q", "--quiet")]
    assert {done.returncode for done in said} == {0} and {done.stderr for done in said} == {""}
    assert len({done.stdout for done in said}) == 1
    for flag in ("-v", "--verbose"):
        assert "in all: " in ctxsim(flag, *line, cwd=folder).stderr
    named = ctxsim(*line[:2], "--", "-q", cwd=folder)
    assert named.returncode == 1 and "-q: does not exist" in named.stderr


BENCH = "bench logs --policy mask:keep=1 --out run --force"

NOTES = re.compile(r"^(?:Provider|Recorded|Size|Head|Note|Results|written|left out|picture):|note\(s\)", re.M)


@pytest.mark.parametrize(
    "line",
    [
        BENCH,
        "replay logs/rollout-1.jsonl --policy mask:keep=1",
        "bill logs --index none --out b.png",
        "transcripts stats logs",
    ],
)
def test_quiet_is_the_result_alone(line: str, folder: Path) -> None:
    usual, quiet = ctxsim(*line.split(), cwd=folder), ctxsim(*line.split(), "-q", cwd=folder)
    assert usual.returncode == quiet.returncode == 0
    assert NOTES.search(usual.stdout + usual.stderr)
    assert not NOTES.search(quiet.stdout) and not quiet.stderr
    # What is left is what stands there otherwise, in its order.
    rest = iter(usual.stdout.splitlines())
    lines = [text for text in quiet.stdout.splitlines() if text]
    assert lines and all(text in rest for text in lines)


def test_errors_are_told_to_the_quiet(folder: Path) -> None:
    done = ctxsim("transcripts", "stats", "logs", "broken.json", "-q", cwd=folder)
    assert done.returncode == 1
    assert done.stderr.startswith("ctxsim: broken.json: is not complete JSON") and done.stderr.count("\n") == 1


def test_verbose_says_what_each_file_gave_what_was_fitted_and_times(folder: Path) -> None:
    done = ctxsim(*BENCH.split(), "-v", cwd=folder)
    told = done.stderr
    assert "logs/chat-1.json: 1 transcript, 6 calls, " in told and "logs/package.json: no call, " in told
    assert "logs/package.json: left out: is no transcript format" in told
    # The hidden head of an invented rollout is 1,000 tokens, less what its first text counts.
    assert re.search(
        r"^logs/rollout-1\.jsonl: fitted, 9\d\d tokens that the log doesn't hold, 1\.2\d+ tokens", told, re.M
    )
    times = re.findall(r"^(replayed|answer and table|pictures|in all): (\d+\.\d\d) s$", told, re.M)
    assert [name for name, _ in times] == ["replayed", "answer and table", "pictures", "in all"]
    seconds = [float(taken) for _, taken in times]
    assert seconds[-1] >= sum(seconds[:-1]) - 0.03
    assert ctxsim(*BENCH.split(), cwd=folder).stdout == done.stdout


def test_verbose_of_a_command_that_reads(folder: Path) -> None:
    told = ctxsim("transcripts", "stats", "logs", "-v", cwd=folder).stderr
    assert re.search(r"^logs/claude-1\.jsonl: 1 transcript, 6 calls, read in \d\.\d\d s$", told, re.M)
    assert "left out: logs/package.json: is no transcript format" in told
    assert re.search(r"^read: \d\.\d\d s$", told, re.M)


def test_verbose_of_one_conversation(folder: Path) -> None:
    told = ctxsim("replay", "logs/rollout-1.jsonl", "--policy", "keep-all", "-v", cwd=folder).stderr
    assert re.match(r"read: \d\.\d\d s\nlogs/rollout-1\.jsonl: fitted, 9\d\d tokens .*\nin all: \d\.\d\d s\n$", told)
