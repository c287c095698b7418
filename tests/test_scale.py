"""The same bytes wherever and however a run happens; nothing of a transcript where nobody wants it; no network."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import not_drawn
import pytest
from bench_runs import POLICIES, arguments, content
from command_line import ctxsim, process
from samples import turns

from ctxsim.errors import CtxsimError
from ctxsim.readers import read
from ctxsim.results.folder import WORK
from ctxsim.runs.conduct import conduct
from ctxsim.runs.task import Setting
from ctxsim.transcript import Compaction, problems
from evidence.many import cut, make


@pytest.mark.slow
def test_the_same_bytes_for_any_hash_seed_zone_locale_folder_and_workers(
    logs: Path, undisturbed: Path, tmp_path: Path
) -> None:
    environment = {"PYTHONHASHSEED": "77", "TZ": "America/New_York", "LC_ALL": "de_DE.UTF-8"}
    done = process(*arguments(logs, tmp_path / "out", "--jobs", "2"), cwd=tmp_path, **environment)
    assert done.returncode == 0, done.stderr
    assert content(tmp_path / "out") == content(undisturbed)


@pytest.mark.slow
def test_a_lost_worker_takes_nothing_with_it(logs: Path, undisturbed: Path, tmp_path: Path, scheduler: str) -> None:
    from distributed import Client

    out, ended = tmp_path / "out", threading.Event()
    asked = [sys.executable, "-m", "distributed.cli.dask_worker", scheduler, "--no-nanny", "--nthreads", "1"]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}

    def kill_one() -> bool:
        while not list(out.glob(f"{WORK}/[0-9]*")) and not ended.is_set():
            time.sleep(0.01)
        workers[0].kill()
        return not ended.is_set()

    with (
        ThreadPoolExecutor(1) as pool,
        subprocess.Popen(asked, **quiet) as one,
        subprocess.Popen(asked, **quiet) as two,
    ):
        workers = (one, two)
        try:
            with Client(scheduler) as client:
                client.wait_for_workers(2, timeout=60)
            killed = pool.submit(kill_one)
            done = ctxsim(*arguments(logs, out, "--jobs", scheduler), cwd=tmp_path)
        finally:
            ended.set()
            for worker in workers:
                worker.kill()
    assert killed.result(), "killed too late to matter"
    assert done.returncode == 0, done.stderr
    assert content(out) == content(undisturbed)


@pytest.mark.slow
def test_no_cluster_is_one_line(logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("ctxsim.runs.workers.CLUSTER_S", 1.0)
    with pytest.raises(CtxsimError, match="no dask scheduler at"):
        conduct(Setting("a", "a", POLICIES), tmp_path / "out", paths=[str(logs)], cluster="tcp://127.0.0.1:1")
    assert not (tmp_path / "out").exists()


def test_the_command_line_works_with_the_network_cut(tmp_path: Path) -> None:
    cut = ["unshare", "--user", "--map-root-user", "--net"]
    if subprocess.run([*cut, "true"], capture_output=True).returncode:
        pytest.skip("this machine lets nobody cut the network")
    asked = [sys.executable, not_drawn.__file__, "bench", "--scenario", "text-only", "--policy", "keep-all"]
    done = subprocess.run([*cut, *asked], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_many_transcripts_are_made_of_few_the_same_each_time(logs: Path, tmp_path: Path) -> None:
    made = [make(logs, tmp_path / name, 9) for name in ("a", "b")]
    files = sorted((tmp_path / "a").iterdir())
    assert len(files) == 9 and made[0] == made[1]
    assert [file.read_bytes() for file in files] == [(tmp_path / "b" / file.name).read_bytes() for file in files]
    # Each is replayable, and has a name of its own.
    transcripts = list(read(str(tmp_path / "a")))
    assert len({one.name for one in transcripts}) == 9 and not any(map(problems, transcripts))
    assert made[0][0] == sum(len(one.calls) for one in transcripts)


def test_a_cut_transcript_keeps_what_was_said_of_its_calls() -> None:
    whole = msgspec.structs.replace(
        turns(3), compactions=(Compaction(2, 3), Compaction(5, 11)), cleared=((2, 2), (6, 2)), parent="p"
    )
    made = cut(whole, 4)
    assert (len(made.calls), made.items[-1].place, problems(made)) == (4, whole.calls[3].end - 1, [])
    assert (made.compactions, made.cleared, made.parent) == (whole.compactions[:1], whole.cleared[:1], None)
