"""The same bytes wherever and however a run happens; nothing of a transcript where nobody wants it; no network."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pandas
import pytest
from test_references import ASK, chat
from test_runs import POLICIES, command, content, logs, undisturbed

from ctxsim.bench import bench
from ctxsim.errors import CtxsimError, InputError
from ctxsim.readers import sources
from ctxsim.readers.ctxsim_jsonl import lines
from ctxsim.report.page import write_page
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
