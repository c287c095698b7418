"""`ctxsim bench` as a stranger runs it: from another directory, piped, on bad files."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from zipfile import ZipFile

import pandas
import pytest
from bench_runs import content
from command_line import Done, ctxsim
from project import ROOT

from ctxsim.results import read_run

CHAT = [{"role": "system", "content": "s"}, {"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]


@pytest.fixture(scope="module")
def default_bench(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("bench")
    done = ctxsim("bench", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return folder / "results", done.stdout


def test_bench_without_arguments_runs_both_scenarios(default_bench: tuple[Path, str]) -> None:
    results, printed = default_bench
    for name in ("documented-53k", "fifty-turns"):
        files = {file.name for file in (results / name).iterdir() if file.suffix != ".png"}
        assert files == {
            "run.json", "calls.parquet", "calls.csv", "events.parquet", "items.parquet", "needs.parquet",
            "losses.parquet", "frontier.csv", "frontier.parquet", "needles.csv", "needles.parquet", "summary.csv",
            "summary.parquet",
        }  # fmt: skip
    assert re.search(r"keep-all \(bound\) [^\n]* call 7: rate limit", printed)
    assert printed.count("\nTake ") == 2
    assert "Provider: window 200,000" in printed and "[scenario documented-53k]" in printed
    assert max(map(len, printed.splitlines())) <= 200
    tables = [line for line in printed.splitlines() if not line.startswith(("Provider", "Results"))]
    assert max(map(len, tables)) <= 100


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_the_committed_run_is_what_a_fresh_run_gives(
    jobs: str, default_bench: tuple[Path, str], tmp_path: Path
) -> None:
    fresh = default_bench[0] / "documented-53k"
    if jobs != "1":
        fresh = tmp_path / "fresh"
        done = ctxsim("bench", "--scenario", "documented-53k", "--jobs", jobs, "--out", "fresh", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    reference = ROOT / "results" / "documented-53k"
    for name in ("calls.csv", "summary.csv"):
        same = (fresh / name).read_bytes() == (reference / name).read_bytes()
        assert same, f"{name} differs; run `ctxsim bench` and look at it"
    # Bytes of Parquet differ by the library's version, and so do their checksums.
    told = [json.loads((run / "run.json").read_bytes()) for run in (fresh, reference)]
    for info in told:
        del info["digest"]
        info["files"] = {name: of for name, of in info["files"].items() if name.endswith(".csv")}
    assert told[0] == told[1], "run.json differs; run `ctxsim bench` and look at it"


def test_a_scenario_is_that_though_a_folder_has_its_name(tmp_path: Path) -> None:
    (tmp_path / "text-only").mkdir()
    line = ("bench", "--policy", "mask", "--out", "out")
    done = ctxsim(*line, "--scenario", "text-only", cwd=tmp_path)
    assert (done.returncode, "[scenario text-only]" in done.stdout) == (0, True), done.stderr
    assert "text-only: has no files" in ctxsim(*line, "text-only", cwd=tmp_path).stderr


def test_run_json_names_no_path_of_the_machine_and_no_time() -> None:
    text = (ROOT / "results" / "documented-53k" / "run.json").read_text()
    assert str(ROOT) not in text and not re.search(r"\d\d:\d\d:\d\d", text)
    columns = json.loads(text)["columns"]["calls"]
    assert columns["tokens_sent"] == "counted, tokens" and columns["tokens_estimated"] == "estimated, tokens"


def test_charts_are_drawn(tmp_path: Path) -> None:
    line = "bench --scenario documented-53k --policy mask --out out"
    assert ctxsim(*line.split(), cwd=tmp_path, drawn=True).returncode == 0
    charts = {file.stem: file.read_bytes()[:4] for file in (tmp_path / "out").glob("*.png")}
    assert charts == dict.fromkeys(("token-growth", "estimates", "survival-dollars"), b"\x89PNG")


def test_a_stranger_is_left_out_and_a_bad_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "package.json").write_text('{"name": "x", "version": "1"}')
    (tmp_path / "logs" / "b.json").write_text(json.dumps(CHAT))
    done = ctxsim("bench", "logs", cwd=tmp_path)
    assert done.returncode == 0
    assert "package.json" in done.stderr and "left out: is no transcript format" in done.stderr
    inputs = json.loads((tmp_path / "results" / "logs" / "run.json").read_text())["inputs"]
    assert {one["name"]: one["transcripts"] for one in inputs} == {"logs/b.json": 1, "logs/package.json": 0}
    assert ctxsim("bench", "logs/package.json", cwd=tmp_path).returncode == 1, "one that is named is a mistake"
    (tmp_path / "logs" / "a.json").write_text('[{"role": "user", "content": "cut')
    done = ctxsim("bench", "logs", "--force", cwd=tmp_path)
    assert done.returncode == 1
    assert "a.json: is not complete JSON" in done.stderr and "Traceback" not in done.stderr
    rows = pandas.read_csv(tmp_path / "results" / "logs" / "summary.csv")
    assert set(rows.transcript) == {str(Path("logs") / "b.json")}


def test_standard_input(tmp_path: Path) -> None:
    done = ctxsim("bench", "-", "--policy", "keep-all", "--out", "out", cwd=tmp_path, stdin=json.dumps(CHAT))
    assert done.returncode == 0, done.stderr
    assert pandas.read_csv(tmp_path / "out" / "summary.csv").calls.tolist() == [1]


def test_empty_transcripts_make_a_table(tmp_path: Path) -> None:
    empty = [{"role": "user", "content": ""}, {"role": "assistant", "content": "hello"}]
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.json").write_text(json.dumps(empty))
    assert ctxsim("bench", "logs", cwd=tmp_path).returncode == 0
    (tmp_path / "logs" / "b.json").write_text(json.dumps(CHAT))
    assert ctxsim("bench", "logs", "--force", cwd=tmp_path).returncode == 0


def test_a_damaged_archive_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.zip").write_bytes(b"PK\x03\x04 not really")
    with ZipFile(tmp_path / "logs" / "b.zip", "w") as archive:
        archive.writestr("one.json", json.dumps(CHAT))
    done = ctxsim("bench", "logs", cwd=tmp_path)
    assert done.returncode == 1 and "a.zip: is a damaged zip archive" in done.stderr
    assert "Traceback" not in done.stderr
    assert "one.json" in (tmp_path / "results" / "logs" / "summary.csv").read_text()


def test_a_file_name_that_is_not_utf8(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (Path(str(folder)) / "n\udcffm.json").write_text(json.dumps(CHAT))
    done = ctxsim("bench", "logs", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_an_output_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    done = ctxsim("bench", "--scenario", "documented-53k", "--out", "file/x", cwd=tmp_path)
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "file" in done.stderr


def test_another_run_is_not_overwritten_but_the_same_question_may_be_asked_again(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(CHAT))

    def bench_to_out(*arguments: str) -> Done:
        return ctxsim("bench", "a.json", "--out", "out", *arguments, cwd=tmp_path)

    assert bench_to_out("--policy", "mask").returncode == 0
    before = content(tmp_path / "out")
    assert bench_to_out("--policy", "mask").returncode == 0
    for other in (("--policy", "fifo:budget=20"), ("--policy", "mask", "--window", "9000")):
        refused = bench_to_out(*other)
        assert refused.returncode == 1 and refused.stderr.count("\n") == 1
        assert "holds another run (Recorded transcripts in a.json; 2 policies)" in refused.stderr
        assert "--force" in refused.stderr and content(tmp_path / "out") == before
    assert bench_to_out("--policy", "fifo:budget=20", "--force").returncode == 0
    assert content(tmp_path / "out") != before
    assert read_run(tmp_path / "out").info.policies == ("keep-all", "fifo:budget=20"), "keep-all is in every bench"
    # A file of somebody else is no run, and stays too.
    (tmp_path / "out" / "run.json").write_text("[]")
    assert bench_to_out("--policy", "fifo:budget=20").returncode == 1


def test_the_documented_reference_stays_as_it_is(tmp_path: Path) -> None:
    held = tmp_path / "results" / "documented-53k"
    held.parent.mkdir()
    shutil.copytree(ROOT / "results" / "documented-53k", held)
    before = {file.name: file.read_bytes() for file in held.iterdir()}
    arguments = ("bench", "--scenario", "documented-53k")
    done = ctxsim(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Results: results/documented-53k-own/" in done.stdout
    for line in ("bench --scenario documented-53k --out", "report", "report --only pictures"):
        refused = ctxsim(*line.split(), str(held), cwd=tmp_path)
        assert refused.returncode == 1 and "documented reference" in refused.stderr, line
    assert {file.name: file.read_bytes() for file in held.iterdir()} == before
