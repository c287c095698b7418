"""Runs that a command line asks for: in which order, told how, and with which status they end.

Those of `ctxsim.cli.bench` and `ctxsim.cli.sweep`; and what `ctxsim.cli.reading` remembers.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from command_line import ctxsim

from ctxsim.cli import bench as bench_room
from ctxsim.cli import running
from ctxsim.cli import sweep as sweep_room
from ctxsim.cli.running import run_all
from ctxsim.errors import InputError, NotATranscript, Stopped
from ctxsim.results import InputInfo
from ctxsim.synthesis import load_scenario

SAID: dict[str, Any] = {
    "goal": "dollars", "form": "table", "columns": None, "out": None, "estimator": None, "models": None, "model": None,
    "window": None, "rules": (), "head": "fitted", "across": False, "sample": None, "resume": False,
}  # fmt: skip


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """What is told of each run, in order; nothing is drawn."""
    told: list[Any] = []
    monkeypatch.chdir(tmp_path)
    for name in ("keys", "fits", "recorders", "providers", "recorded", "results"):
        monkeypatch.setattr(f"ctxsim.cli.output.tell_{name}", lambda *given, name=name: told.append(name))
    monkeypatch.setattr(
        "ctxsim.cli.output.tell_what_was_left_out", lambda info: told.append("left out") or len(info.inputs[0].notes)
    )  # fmt: skip
    monkeypatch.setattr(running, "show_run", lambda command, run, table, goal, form, columns: told.append(
        (command, table, goal, form, columns)))  # fmt: skip
    monkeypatch.setattr("ctxsim.report.charts.plot", lambda run, command, goal: told.append(("drawn", command, goal)))
    return told


def made(heard: list[Any], complete: bool = True, bad: int = 0, sample: Any = None) -> Any:
    def make(what: Any, **given: Any) -> Any:
        heard.append((what, given["out"]))
        info = SimpleNamespace(complete=complete, inputs=(InputInfo("a", "", 1, 1, ("x",) * bad),), sample=sample)
        return SimpleNamespace(info=info, transcripts=1_200)

    return make


def ran(make: Any, command: str = "bench", paths: Any = (), scenarios: Any = (), **said: Any) -> int:
    with click.Context(click.Command(command)):
        try:
            run_all(command, make, "table", paths, scenarios, ["mask"], SAID | said)  # type: ignore[arg-type]
        except SystemExit as end:
            assert isinstance(end.code, int)
            return end.code
    return 0


EACH = ["keys", "fits", "recorders", "providers", "recorded", ("bench", "table", "dollars", "table", None)]


def test_pictures_are_drawn_for_a_reader_of_the_first_lines(heard: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*given: Any) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(running, "show_run", closed)
    assert ran(made(heard), paths=["logs"]) == 0
    assert ("drawn", "bench", "dollars") in heard


def test_scenarios_run_first_and_recordings_together(heard: list[Any]) -> None:
    scenarios = ["one-prompt", "defects/task-lost", "at/own.toml"]
    assert ran(made(heard), paths=["logs/one-prompt.json", "b"], scenarios=scenarios) == 0
    asked = [one for one in heard if isinstance(one, tuple) and isinstance(one[1], Path)]
    assert asked == [
        (load_scenario("one-prompt"), Path("results/one-prompt.mask")),
        (load_scenario("defects/task-lost"), Path("results/task-lost.mask")),
        ("at/own.toml", Path("results/own.mask")),
        (("logs/one-prompt.json", "b"), Path("results/one-prompt-recorded.mask")),
    ]  # fmt: skip
    assert heard[1:10] == [*EACH, ("drawn", "bench", "dollars"), "results", "left out"]
    heard.clear()
    ran(made(heard), "sweep", ["logs"], out="there")
    assert heard[0] == (("logs",), Path("there")) and ("drawn", "sweep", "dollars") in heard
    heard.clear()
    ran(made(heard), "sweep", ["logs"])
    assert heard[0][1] == Path("results/logs-sweep.mask")
    heard.clear()
    ran(made(heard), scenarios=["a", "b"], out="there")
    assert [one[1] for one in heard if isinstance(one, tuple) and isinstance(one[1], Path)] == [
        Path("there/a"), Path("there/b")
    ]  # fmt: skip


def test_programs_get_rows_alone(heard: list[Any]) -> None:
    ran(made(heard), scenarios=["a"], form="json", columns=("usd",), goal="kept")
    assert [one for one in heard[1:] if one[0] != "drawn"] == [
        "keys", "fits", ("bench", "table", "kept", "json", ("usd",)), "left out"
    ]  # fmt: skip


def test_what_was_left_out_of_any_is_status_1_and_a_stop_ends_all(
    heard: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert ran(made(heard, bad=1), scenarios=["a", "b"]) == 1
    assert len([one for one in heard if one == "left out"]) == 2
    heard.clear()
    assert ran(made(heard, complete=False), scenarios=["a", "b"]) == 130
    assert len([one for one in heard if one == "left out"]) == 1
    assert capsys.readouterr().err == "Stopped: 1 source done and written; go on with --resume\n"


@pytest.mark.parametrize(("wanted", "drawn", "said"), [
    (None, None, ""), (5, "drawn", ""), (5_000, None, "--sample 5,000: there are 1,200 transcripts, all of them ran\n"),
])  # fmt: skip
def test_a_sample_of_all_is_told(
    wanted: int | None, drawn: Any, said: str, heard: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    ran(made(heard, sample=drawn), scenarios=["a"], sample=wanted)
    assert capsys.readouterr().err == said


def test_a_run_that_somebody_stops_ends_the_command(heard: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(what: Any, **given: Any) -> Any:
        raise Stopped

    with pytest.raises(Stopped):
        ran(stop, scenarios=["a"])

    def interrupted(what: Any, *, watch: Any, **given: Any) -> Any:
        import signal

        signal.raise_signal(signal.SIGINT)
        assert watch.stopped()
        raise Stopped

    assert ran(interrupted, scenarios=["a"]) == 130


def test_a_stopped_run_starts_again_unless_it_goes_on(
    heard: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(running, "RunFolder", lambda folder: SimpleNamespace(stopped=True))
    ran(made(heard), scenarios=["a"])
    told = "results/a.mask holds a stopped run, which starts again; --resume would continue it\n"
    assert capsys.readouterr().err == told
    ran(made(heard), scenarios=["a"], resume=True)
    assert capsys.readouterr().err == ""


def test_bench_and_sweep_say_what_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[Any] = []
    for room in (bench_room, sweep_room):
        monkeypatch.setattr(room, "run_all", lambda *given: asked.append(given))
    (tmp_path / "logs").mkdir()
    for line in (
        "bench",
        "bench logs --policy mask:keep=3 --policy papers",
        "bench --scenario one-prompt",
        "sweep logs --policy mask:keep=1|2",
    ):
        assert ctxsim(*line.split(), cwd=tmp_path).returncode == 0, line
    assert [(one[0], one[3], one[4], one[5]) for one in asked[:3]] == [
        ("bench", [], ["documented-53k", "fifty-turns"], []), ("bench", ["logs"], [], ["mask:keep=3", "papers"]),
        ("bench", [], ["one-prompt"], []),
    ]  # fmt: skip
    assert asked[1][6]["policies"] == ("mask:keep=3", "papers") and asked[3][6]["grids"] == ("mask:keep=1|2",)
    assert asked[3][5][0].startswith("mask-") and asked[3][3] == ["logs"]
    none = ctxsim("sweep", "--policy", "mask:keep=1|2", cwd=tmp_path)
    assert none.returncode == 1 and "sweep needs transcripts or --scenario NAME" in none.stderr


def test_what_is_read_and_what_is_not_is_remembered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from ctxsim.cli import reading

    found = {"a": ["one", "two"], "b": NotATranscript("b", "is none"), "c": InputError("c", "is cut"), "d": ["three"],
             "e": NotATranscript("e", "is none")}  # fmt: skip

    def read(source: Any) -> Any:
        if isinstance(found[source.name], Exception):
            raise found[source.name]  # type: ignore[misc]
        for name in found[source.name]:  # type: ignore[attr-defined]
            yield SimpleNamespace(name=name, calls=(1,), notes=())

    monkeypatch.setattr(
        reading, "sources", lambda *paths: [SimpleNamespace(name=name, named=name == "e") for name in found]
    )
    monkeypatch.setattr(reading, "read_source", read)
    one = reading.Reading(["x"])
    assert [each.name for each in one] == ["one", "two", "three"]
    assert (one.errors, one.left_out) == (["c: is cut", "e: is none"], ["b: is none"])
