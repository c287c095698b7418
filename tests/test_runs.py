"""Runs that are stopped, killed, resumed, compared and printed for programs."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from samples import conversation
from test_references import ASK, TASK, chat

from ctxsim.bench import bench
from ctxsim.cli.replay import context_bar
from ctxsim.cli.terminal import safe
from ctxsim.errors import CtxsimError, InputError, UnknownName
from ctxsim.parts import FOLDER, read_part, write_part
from ctxsim.readers.ctxsim_jsonl import lines
from ctxsim.report.comparison import compare, parse_rule
from ctxsim.report.tables import SORTS, formatted, sorted_labels
from ctxsim.results import Run, read_run
from ctxsim.task import Rows, Setting
from ctxsim.transcript import Transcript

POLICIES = ("keep-all", "drop-all", "mask:keep=1", "token-budget:budget=300,retain=20", "summary:at=0.001,keep_last=2")
SOURCES = 24


def write(folder: Path, transcript: Transcript, name: str) -> None:
    named = msgspec.structs.replace(transcript, name=name)
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.jsonl").write_bytes(b"\n".join(lines(named)))


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs") / "logs"
    for n in range(SOURCES):
        chance = random.Random(n)
        turns = [
            part
            for m in range(chance.randrange(3, 12))
            for part in (ASK, ("tool_result", f"zebra_{n}{m}00 " + "word " * chance.randrange(400)))
        ]
        write(folder, chat(TASK, *turns, ("assistant", f"zebra_{n}000 zebra_{n}100")), f"log{n:02}")
    return folder


def command(logs: Path, out: Path, *more: str) -> list[str]:
    labels = [part for label in POLICIES for part in ("--policy", label)]
    return [sys.executable, "-m", "ctxsim", "bench", str(logs), "--out", str(out), *labels, *more]


def content(out: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in out.iterdir() if file.suffix in (".json", ".csv", ".parquet")}


@pytest.fixture(scope="module")
def undisturbed(logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    subprocess.run(command(logs, out), check=True, capture_output=True)
    assert not (out / FOLDER).exists()
    return out


# stopped and killed


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_killed_at_random_points_and_resumed_ends_with_the_same_bytes(
    logs: Path, undisturbed: Path, tmp_path: Path, jobs: int
) -> None:
    out, chance = tmp_path / "out", random.Random(jobs)
    kills = 0
    for _ in range(5):
        running = subprocess.Popen(
            command(logs, out, "--resume", "--jobs", str(jobs)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        try:
            running.wait(timeout=chance.uniform(0.5, 2.2))
            break
        except subprocess.TimeoutExpired:
            # The workers too: a machine that loses power asks nobody.
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
            kills += 1
            assert not (out / "run.json").exists() or content(out) == content(undisturbed)
    done = subprocess.run(command(logs, out, "--resume", "--jobs", str(jobs)), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert kills >= 1 and content(out) == content(undisturbed)
    assert not (out / FOLDER).exists() and not list(out.glob("*.part"))


def test_stopped_after_a_source_leaves_a_readable_run_and_goes_on(
    logs: Path, undisturbed: Path, tmp_path: Path
) -> None:
    setting = Setting("out", f"Recorded transcripts in {logs}", POLICIES)
    done = 0

    def count(info: object, total: int) -> None:
        nonlocal done
        done += 1
        assert total == SOURCES

    info = bench(setting, tmp_path / "out", paths=[str(logs)], progress=count, stopped=lambda: done >= 5)
    run = read_run(tmp_path / "out")
    assert not info.complete and not run.info.complete and len(run.info.inputs) == 5
    assert run.summary.transcript.nunique() == 5
    resumed = []
    whole = bench(
        setting, tmp_path / "out", paths=[str(logs)], resume=True, progress=lambda i, t: resumed.append(i.name)
    )
    assert whole.complete and len(resumed) == SOURCES
    mine, theirs = content(tmp_path / "out"), content(undisturbed)
    assert {name: mine[name] for name in mine if name != "run.json"} == {
        n: theirs[n] for n in theirs if n != "run.json"
    }


@pytest.mark.slow
def test_ctrl_c_leaves_a_partial_run(logs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    running = subprocess.Popen(command(logs, out), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not list((out / FOLDER).glob("0*")) and time.monotonic() < deadline:
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    run = read_run(out)
    if running.returncode == 0:
        pytest.skip("it was done before it could be stopped")
    assert running.returncode == 130 and "--resume" in errors
    assert 0 < len(run.info.inputs) < SOURCES and not run.info.complete


def test_resume_wants_the_same_settings(logs: Path, tmp_path: Path) -> None:
    setting = Setting("a", "a", ("keep-all",))
    bench(setting, tmp_path / "out", paths=[str(logs)], stopped=lambda: True)
    other = Setting("a", "a", ("drop-all",))
    with pytest.raises(InputError, match="can't be resumed"):
        bench(other, tmp_path / "out", paths=[str(logs)], resume=True)
    # Without --resume it begins anew.
    assert bench(other, tmp_path / "out", paths=[str(logs)]).complete


def test_a_bench_that_fails_before_anything_is_done_leaves_nothing(logs: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(
        "from dataclasses import dataclass\nfrom ctxsim.policies import Policy\n\n@dataclass\nclass Bad(Policy):\n"
        "    def before_call(self, view):\n        raise ValueError('no')\n"
    )
    setting = Setting("a", "a", (f"{tmp_path}/bad.py:Bad",))
    with pytest.raises(CtxsimError, match="raised ValueError"):
        bench(setting, tmp_path / "out", paths=[str(logs)])
    assert not (tmp_path / "out").exists()


def test_a_full_disk_loses_nothing_that_was_done(logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setting = Setting("a", "a", POLICIES)
    written = 0

    def full(path: Path, rows: object) -> None:
        nonlocal written
        written += 1
        if written > 7:
            path.with_name(path.name + ".tmp").write_bytes(b"half")
            raise OSError(28, "No space left on device", str(path))
        write_part(path, rows)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr("ctxsim.bench.write_part", full)
        with pytest.raises(CtxsimError, match="No space left on device; what is finished is kept, make room and go on"):
            bench(setting, tmp_path / "out", paths=[str(logs)])
    parts = [file for file in (tmp_path / "out" / FOLDER).iterdir() if file.name.isdigit()]
    assert len(parts) == 7 and all(list(read_part(part)) for part in parts)
    assert not (tmp_path / "out" / "run.json").exists() and not list((tmp_path / "out").glob("*.part"))
    assert bench(setting, tmp_path / "out", paths=[str(logs)], resume=True).complete


def test_parts_hold_rows_whole(tmp_path: Path) -> None:
    rows = [Rows(words=b"abc"), Rows(parent="é")]
    write_part(tmp_path / "0", rows)
    assert list(read_part(tmp_path / "0")) == rows


# comparing


@pytest.fixture(scope="module")
def pair(logs: Path, undisturbed: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    """The same run again, once as it was and once where a few transcripts are longer."""
    other = tmp_path_factory.mktemp("other")
    folder = other / "logs"
    for file in sorted(logs.iterdir()):
        folder.mkdir(exist_ok=True)
        text = file.read_text()
        (folder / file.name).write_text(text.replace("word word", "word word word word"))
    bench(Setting("b", "b", POLICIES), other / "out", paths=[str(folder)])
    return read_run(undisturbed), read_run(other / "out")


def test_the_same_run_has_no_change(undisturbed: Path) -> None:
    run = read_run(undisturbed)
    assert {change.verdict for change in compare(run, run)} == {"same"}


def test_change_and_noise_are_told_apart(pair: tuple[Run, Run]) -> None:
    found = {(change.policy, change.column): change for change in compare(*pair)}
    grown = found["keep-all", "tokens_sum"]
    assert grown.verdict == "changed" and grown.difference > 0 and grown.transcripts == SOURCES
    assert grown.interval is not None and grown.interval[0] > 0
    assert found["keep-all", "survival"].verdict == "same"
    verdicts = {change.verdict for change in found.values()}
    assert verdicts <= {"same", "changed", "noise"}


def test_rules() -> None:
    rule = parse_rule("cost_usd > +2%")
    assert (rule.column, rule.above, rule.value, rule.percent) == ("cost_usd", True, 2.0, True)
    assert parse_rule(" survival < -0.01 ").value == -0.01
    with pytest.raises(CtxsimError, match="is no rule"):
        parse_rule("cost_usd >> 2")
    with pytest.raises(UnknownName, match="cost_usd"):
        parse_rule("cost > 2%")


def test_rules_break_on_change_only(pair: tuple[Run, Run]) -> None:
    changes = {(change.policy, change.column): change for change in compare(*pair)}
    grown = changes["keep-all", "tokens_sum"]
    assert grown.percent is not None
    assert parse_rule(f"tokens_sum > {grown.percent - 0.5:.3f}%").breaks(grown)
    assert not parse_rule(f"tokens_sum > {grown.percent + 0.5:.3f}%").breaks(grown)
    assert not parse_rule("tokens_sum < -1%").breaks(grown)
    assert not parse_rule("tokens_peak > 0%").breaks(grown)
    assert not any(
        parse_rule("survival < 0").breaks(change) for change in changes.values() if change.verdict == "noise"
    )


def test_compare_exits_for_ci(undisturbed: Path, pair: tuple[Run, Run]) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "ctxsim", "compare", *arguments], capture_output=True, text=True)

    other = str(pair[1].folder)
    assert run(str(undisturbed), str(undisturbed), "--fail-if", "tokens_sum > 0%").returncode == 0
    failed = run(str(undisturbed), other, "--fail-if", "tokens_sum > +1%")
    assert failed.returncode == 1 and "keep-all (bound): tokens_sum +" in failed.stderr and "FAILS" in failed.stdout
    assert run(str(undisturbed), other, "--fail-if", "tokens_sum > +1000%").returncode == 0
    nonsense = run(str(undisturbed), other, "--fail-if", "nonsense")
    assert nonsense.returncode == 1 and nonsense.stderr.count("\n") == 1


# tables for programs


def test_formats_say_the_same(undisturbed: Path) -> None:
    run = read_run(undisturbed)
    rows = json.loads(formatted(run, "json"))
    assert [row["policy"] for row in rows] == list(run.info.policies)
    table = list(csv.DictReader(io.StringIO(formatted(run, "csv"))))
    assert [float(row["tokens_sum"]) for row in table] == [row["tokens_sum"] for row in rows]
    assert rows[0]["transcripts"] == SOURCES and rows[0]["cost_usd"] is None
    assert formatted(run, "markdown").count("\n") == len(rows) + 2


def test_sorting_puts_bounds_first_and_the_best_next(undisturbed: Path) -> None:
    run = read_run(undisturbed)
    for sort in SORTS:
        labels = sorted_labels(run, sort)
        assert sorted(labels) == sorted(run.info.policies)
        if sort != "run":
            assert set(labels[:2]) == set(run.info.bounds)
    tokens = (
        run.summary.assign(share=run.summary.tokens_sum / run.summary.tokens_full_sum).groupby("policy").share.mean()
    )
    order = [tokens[label] for label in sorted_labels(run, "tokens")[2:]]
    assert order == sorted(order)


# the terminal


def test_no_control_character_reaches_the_terminal(tmp_path: Path) -> None:
    assert safe("a\x1b[31mb\tc\n\u202ed\x9b") == "a\\x1b[31mb\tc\n\\u202ed\\x9b"
    assert safe("plain ünïcode 漢字 🙂") == "plain ünïcode 漢字 🙂"
    evil = conversation("zebra_one \x1b]0;owned\x07 " * 20, "ok", name="n\x1b[2Jame")
    write(tmp_path, evil, "evil")
    for arguments in (
        ["replay", "evil.jsonl", "--policy", "mask:keep=1", "--losses"],
        ["bench", "evil.jsonl"],
        ["transcripts", "check", "evil.jsonl"],
        ["bench", "no\x1b[31msuch"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "ctxsim", *arguments], cwd=tmp_path, capture_output=True, text=True
        )
        assert "\x1b" not in done.stdout + done.stderr, arguments


def test_the_context_bar() -> None:
    assert context_bar(0.5).plain == "█" * 12 + "░" * 12
    assert context_bar(7.0).plain == "█" * 24
