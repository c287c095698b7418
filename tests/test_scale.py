"""The same bytes wherever and however a run happens; nothing of a transcript where nobody wants it; no network."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pandas
import pytest
from test_references import ASK, chat
from test_runs import POLICIES, command, content, logs, undisturbed

from ctxsim.bench import bench
from ctxsim.cli.losses import BY
from ctxsim.errors import CtxsimError, InputError
from ctxsim.parts import FOLDER
from ctxsim.readers import sources
from ctxsim.readers.ctxsim_jsonl import lines
from ctxsim.report.comparison import compare
from ctxsim.report.losses import breakdown
from ctxsim.report.page import page_data, write_page
from ctxsim.report.tables import formatted
from ctxsim.results import read_run
from ctxsim.task import Setting

__all__ = ["logs", "undisturbed"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo", "LC_ALL": "C"},
        {"PYTHONHASHSEED": "77", "TZ": "America/New_York", "LC_ALL": "de_DE.UTF-8", "JOBS": "3"},
    ],
)
def test_the_same_bytes_for_any_hash_seed_zone_locale_folder_and_workers(
    logs: Path, undisturbed: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    jobs = environment.get("JOBS", "1")
    subprocess.run(
        command(logs, tmp_path / "out", "--jobs", jobs), check=True, capture_output=True, cwd=tmp_path,
        env={**os.environ, **environment},
    )  # fmt: skip
    assert content(tmp_path / "out") == content(undisturbed)


@pytest.mark.slow
def test_a_cluster_gives_the_same_bytes(logs: Path, undisturbed: Path, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        subprocess.run(
            command(logs, tmp_path / "out", "--cluster", cluster.scheduler_address), check=True, capture_output=True,
            cwd=tmp_path,
        )  # fmt: skip
    assert content(tmp_path / "out") == content(undisturbed)


@pytest.mark.slow
def test_a_lost_worker_takes_nothing_with_it(logs: Path, undisturbed: Path, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    out = tmp_path / "out"
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        running = subprocess.Popen(
            command(logs, out, "--cluster", cluster.scheduler_address), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, cwd=tmp_path,
        )  # fmt: skip
        with distributed.Client(cluster) as client:
            first = next(iter(client.run(os.getpid).values()))
            while not list(out.glob(f"{FOLDER}/[0-9]*")) and running.poll() is None:
                time.sleep(0.01)
            os.kill(first, signal.SIGKILL)
        assert running.poll() is None, "killed too late to matter"
        assert running.wait(timeout=120) == 0
    assert content(out) == content(undisturbed)


def test_a_full_disk_keeps_what_is_finished(logs: Path, undisturbed: Path, tmp_path: Path) -> None:
    """A run in a tmpfs too small for it stops in one line; with more room it goes on to the same bytes."""
    small = tmp_path / "small"
    small.mkdir()
    bench_here = " ".join(shlex.quote(part) for part in command(logs, small / "out", "--resume"))
    mounted = f"mount -t tmpfs -o size=60k tmpfs {small}"
    steps = (
        f"{mounted} || exit 97; {bench_here}; echo status $?; test ! -e {small}/out/run.json; echo absent $?; "
        f"ls {small}/out/{FOLDER} | grep -cv tmp; "
        f"mount -o remount,size=60m {small}; {bench_here} && cp -r {small}/out {tmp_path}/kept"
    )
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", steps], capture_output=True, text=True,
        env={**os.environ, "MPLCONFIGDIR": str(tmp_path)},
    )  # fmt: skip
    if done.returncode == 97 or "unshare" in done.stderr:
        pytest.skip("this machine lets nobody mount a tmpfs")
    assert "status 1" in done.stdout and "absent 0" in done.stdout, done.stdout + done.stderr
    assert "No space left on device" in done.stderr and "Traceback" not in done.stderr
    kept = int(done.stdout.split("absent 0\n")[1].split("\n")[0])
    assert kept >= 2, "the setting and at least one finished task"
    assert content(tmp_path / "kept") == content(undisturbed)


def test_a_run_in_many_files_reads_like_one(logs: Path, undisturbed: Path, tmp_path: Path,
                                            monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setattr("ctxsim.writer.ROW_GROUP", 20)
    monkeypatch.setattr("ctxsim.writer.PART_ROWS", 100)
    monkeypatch.setattr("ctxsim.results.HELD_ROWS", 10)
    out = tmp_path / "out"
    setting = Setting("logs", f"Recorded transcripts in {logs}", POLICIES)
    bench(setting, out, paths=[str(logs)])
    parts = sorted(out.glob("calls.parquet/part-*.parquet"))
    assert len(parts) > 5 and not list(out.rglob("*.part"))
    whole = pandas.read_parquet(undisturbed / "calls.parquet")
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    for read in (
        pandas.read_parquet(out / "calls.parquet"),
        duckdb.sql(f"from read_parquet('{out}/calls.parquet/*.parquet')").df(),
        polars.read_parquet(out / "calls.parquet").to_pandas(),
    ):
        assert read.astype(str).equals(whole.astype(str))
    many, one = read_run(out), read_run(undisturbed)
    assert page_data(many) == page_data(one)
    assert formatted(many, "csv") == formatted(one, "csv")
    assert {change.verdict for change in compare(one, many)} == {"same"}
    assert [breakdown(many, by) for by in BY] == [breakdown(one, by) for by in BY]
    # Another run in the same folder is one file again, and nothing of the many is left.
    monkeypatch.undo()
    bench(setting, out, paths=[str(logs)])
    assert content(out) == content(undisturbed)


@pytest.mark.slow
def test_no_cluster_is_one_line(logs: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(CtxsimError, match="no dask scheduler at"):
        bench(Setting("a", "a", POLICIES), tmp_path / "out", paths=[str(logs)], cluster="tcp://127.0.0.1:1")
    assert not (tmp_path / "out").exists()


def test_a_list_and_a_pattern_are_sources(logs: Path, tmp_path: Path) -> None:
    everything = [source.name for source in sources(str(logs))]
    assert [source.name for source in sources(f"{logs}/log*.jsonl")] == everything
    (tmp_path / "list.txt").write_text(f"{logs}/log03.jsonl\n\n{logs}/log01.jsonl\n")
    listed = [source.name for source in sources(f"@{tmp_path}/list.txt")]
    assert listed == [f"{logs}/log03.jsonl", f"{logs}/log01.jsonl"]
    with pytest.raises(InputError, match="matches nothing"):
        list(sources(f"{logs}/none*.json"))
    with pytest.raises(InputError, match="no list of paths"):
        list(sources("@nothing-here"))


def test_without_text_no_word_of_a_transcript_is_in_the_results(tmp_path: Path) -> None:
    secrets = [
        "zebra_secret_one",
        "quaint velvet harpsichord melodies drift",
        "src/hidden/vault_9f3.py",
        "peculiar_tool",
    ]
    result = "\n".join([*secrets[:3], "more " * 200])
    made = chat(
        ("user", "please find " + secrets[1]), ASK, ("tool_result", result), ASK, ("tool_result", "ok"),
        ("assistant", " ".join(secrets[:3])),
    )  # fmt: skip
    tools = [msgspec.structs.replace(item, tool="peculiar_tool" if item.tool else "") for item in made.items]
    named = msgspec.structs.replace(made, name="t", items=tuple(tools))
    (tmp_path / "t.jsonl").write_bytes(b"\n".join(lines(named)))
    policies = ("keep-all", "mask:keep=1", "token-budget:budget=1,retain=60", "summary:at=0.0001,keep_last=1")
    for text in (True, False):
        out = tmp_path / f"out{text}"
        bench(Setting("t", "t", policies, text=text), out, paths=[str(tmp_path / "t.jsonl")])
        write_page(read_run(out), out / "report.html")
        found = " ".join(file.read_text() for file in out.iterdir() if file.suffix in (".json", ".csv", ".html"))
        found += " ".join(pandas.read_parquet(file).to_csv() for file in out.glob("*.parquet"))
        words = [line for secret in secrets for line in (secret, secret.split(" ")[-1])]
        assert [word for word in words if word in found] == (words if text else [])
    before, after = (read_run(tmp_path / f"out{text}").summary for text in (True, False))
    pandas.testing.assert_frame_equal(before.drop(columns="chance_rate"), after.drop(columns="chance_rate"))


def test_the_command_line_works_with_the_network_cut(tmp_path: Path) -> None:
    cut = ["unshare", "--user", "--map-root-user", "--net"]
    if subprocess.run([*cut, "true"], capture_output=True).returncode:
        pytest.skip("this machine lets nobody cut the network")
    arguments = [sys.executable, "-m", "ctxsim", "bench", "--scenario", "documented-53k", "--policy", "keep-all"]
    done = subprocess.run([*cut, *arguments], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
