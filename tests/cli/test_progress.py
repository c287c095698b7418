"""How far a run is, in lines: for logs, where nobody sees a bar."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bench_runs import POLICIES
from click.testing import CliRunner
from not_drawn import not_drawn

from ctxsim.cli import cli, progress
from ctxsim.runs.conduct import Watch, conduct
from ctxsim.runs.task import Setting
from ctxsim.simulator.measure import measured


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_source_under_way_tells_how_far_it_is(
    jobs: int, few_logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rising to no more than all of its policy-calls, also from other processes."""
    monkeypatch.setattr(measured, "TOLD_CALLS", 2)
    heard: dict[str, list[tuple[int, int]]] = {}
    conduct(
        Setting("b", "b", POLICIES), tmp_path / "out", paths=[str(few_logs)], jobs=jobs,
        watch=Watch(within=lambda name, done, known: heard.setdefault(name, []).append((done, known))),
    )  # fmt: skip
    assert len(heard) == len(list(few_logs.iterdir()))
    for words in heard.values():
        done = [one for one, _ in words]
        assert done == sorted(done) and done[0] == 0 and done[-1] <= words[0][1]
        assert len({known for _, known in words}) == 1
        assert len(set(done)) >= len(POLICIES) - 1, "each policy is a step"


def test_sources_finish_under_the_name_they_ran_under_though_results_keep_none(few_logs: Path, tmp_path: Path) -> None:
    heard: set[str] = set()
    finished: list[str] = []
    info = conduct(
        Setting("b", "b", POLICIES, text=False), tmp_path / "out", paths=[str(few_logs)],
        watch=Watch(lambda info, _: finished.append(info.name), lambda name, done, known: heard.add(name)),
    )  # fmt: skip
    assert len(finished) == len(list(few_logs.iterdir())) and set(finished) == heard
    assert not {one.name for one in info.inputs} & heard


def test_lines_say_sources_calls_and_the_share_of_the_one_under_way(
    few_logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "TOLD_S", 0.0)
    with not_drawn():
        done = CliRunner().invoke(cli, ["bench", str(few_logs), "--policy", "keep-all", "--out", str(tmp_path / "out")])
    lines = [line for line in done.stderr.splitlines() if line.startswith("logs: ")]
    assert re.fullmatch(r"logs: first source, \S+ 0%", lines[0])
    total = len(list(few_logs.iterdir()))
    # That it is done is told by its table.
    last = rf"logs: {total - 1} of {total} sources, [\d,]+ calls, [\d,]+ calls/s, \S+ \d+%"
    assert re.fullmatch(last, lines[-1]) and len(set(lines)) == len(lines), "no line comes twice"


def test_reading_is_told_in_lines_or_by_each_source_itself(few_logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "TOLD_S", 0.0)
    line = ["transcripts", "stats", str(few_logs)]
    usual, more = (CliRunner().invoke(cli, [*flags, *line]).stderr.splitlines() for flags in ((), ("-v",)))
    assert [text.split(",")[0] for text in usual] == [f"reading: {n} of 4 sources" for n in (1, 2, 3)]
    assert [len([text for text in more if file.name in text]) for file in few_logs.iterdir()] == [1] * 4
