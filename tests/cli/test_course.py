"""How far a run is, in words."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace
from typing import Any

import click
import pytest

from ctxsim.cli import progress, reading
from ctxsim.cli.loudness import detail, note, stage, taken
from ctxsim.cli.progress import _Course
from ctxsim.results import InputInfo


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """A clock that stands still unless it is moved."""
    now = {"s": 100.0}
    for module in ("progress", "loudness", "reading"):
        monkeypatch.setattr(f"ctxsim.cli.{module}.perf_counter", lambda: now["s"])
    return now


def done(name: str, calls: int, transcripts: int = 1) -> InputInfo:
    return InputInfo(name, "", transcripts, calls)


def test_words_say_sources_calls_their_rate_and_the_farthest(clock: dict[str, float]) -> None:
    heard: list[tuple[str, object]] = []
    course = _Course("logs", lambda course, finished: heard.append((str(course), finished)))
    course.within("a/one.jsonl", 0, 0)
    course.within("a/two.jsonl", 1, 4)
    clock["s"] += 2
    first = done("a/two.jsonl", 3_000)
    course.finished(first, 2)
    course.within("a/one.jsonl", 3, 4)
    clock["s"] += 2
    last = done("a/one.jsonl", 1)
    course.finished(last, 2)
    assert heard == [
        ("first source, one.jsonl 0%", None), ("first source, two.jsonl 25%", None),
        ("1 of 2 sources, 3,000 calls, 1,500 calls/s, one.jsonl 0%", first),
        ("1 of 2 sources, 3,000 calls, 1,500 calls/s, one.jsonl 75%", None),
        ("2 of 2 sources, 3,001 calls, 750 calls/s", last),
    ]  # fmt: skip
    # Of a run of which nobody sees the course nothing is shown.
    quiet = _Course("logs")
    quiet.finished(done("a", 0), 1)
    assert (quiet.rate, str(quiet)) == ("", "1 of 1 sources, 0 calls")


def shown(arguments: list[str], clock: dict[str, float], steps: list[tuple[float, Any]]) -> None:
    """Follow a run of three sources; each step is told so many seconds after the one before."""
    with click.Context(click.Command("bench")) as context:
        taken(context, arguments)
        with progress.progress("logs") as course:
            for seconds, step in steps:
                clock["s"] += seconds
                if isinstance(step, InputInfo):
                    course.finished(step, 3)
                else:
                    course.within(*step)


STEPS: list[tuple[float, Any]] = [
    (29.9, ("a", 1, 2)), (0.1, ("a", 2, 2)), (20.0, done("a", 60, 2)), (40.0, done("b", 0, 0)), (99.0, done("c", 1)),
]  # fmt: skip


def test_a_log_has_a_line_each_half_minute_but_none_for_the_end(
    clock: dict[str, float], capsys: pytest.CaptureFixture[str]
) -> None:
    shown([], clock, STEPS)
    assert capsys.readouterr().err.splitlines() == [
        "logs: first source, a 100%", "logs: 2 of 3 sources, 60 calls, 1 calls/s"
    ]  # fmt: skip
    shown(["-q"], clock, STEPS)
    assert capsys.readouterr().err == ""


def test_each_file_says_what_it_gave_with_v(clock: dict[str, float], capsys: pytest.CaptureFixture[str]) -> None:
    shown(["-v"], clock, STEPS)
    assert capsys.readouterr().err.splitlines() == [
        "a: 2 transcripts, 60 calls, 50.00 s", "b: no call, 40.00 s", "c: 1 transcript, 1 call, 99.00 s",
        "in all: 189.00 s",
    ]  # fmt: skip


def test_a_terminal_has_a_bar(clock: dict[str, float], monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    shown([], clock, STEPS)
    assert "logs" in stream.getvalue() and "3/3" in stream.getvalue() and "\x1b" in stream.getvalue()


def test_notes_details_and_stages_go_by_how_loud_a_command_is(
    clock: dict[str, float], capsys: pytest.CaptureFixture[str]
) -> None:
    said = {}
    for arguments in ([], ["-q"], ["-v"]):
        with click.Context(click.Command("bench")) as context:
            assert taken(context, ["a", *arguments, "--", "-q"]) == ["a", "--", "-q"]
            note("a note")
            note("an error", err=True)
            detail("a\ndetail")
            with stage("stage"):
                clock["s"] += 1.5
            found = capsys.readouterr()
            said[" ".join(arguments)] = (found.out, found.err)
    assert said == {
        "": ("a note\n", "an error\n"), "-q": ("", ""), "-v": ("a note\n", "an error\na detail\nstage: 1.50 s\n"),
    }  # fmt: skip
    with pytest.raises(click.UsageError, match="give one of them"), click.Context(click.Command("bench")) as context:
        taken(context, ["--quiet", "--verbose"])
    capsys.readouterr()
    note("outside of a command")
    assert capsys.readouterr().out == "outside of a command\n"


def test_reading_takes_what_is_read_and_not_what_is_done_with_it(
    clock: dict[str, float], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(source: Any) -> Any:
        for number in (1, 2):
            clock["s"] += number
            yield SimpleNamespace(name="a", calls=(1,), notes=())

    monkeypatch.setattr(reading, "sources", lambda *paths: [SimpleNamespace(name="a", named=True)])
    monkeypatch.setattr(reading, "read_source", read)
    with click.Context(click.Command("bench")) as context, pytest.raises(SystemExit):
        taken(context, ["-v"])
        found = reading.Reading(["a"])
        for _ in found:
            clock["s"] += 10
        found.finish()
    assert capsys.readouterr().err.splitlines()[:2] == ["a: 2 transcripts, 2 calls, read in 3.00 s", "read: 3.00 s"]
