"""`ctxsim.bench`, `sweep` and `compare`: runs as values."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

import ctxsim
from ctxsim.errors import CtxsimError, LabelError


def test_a_bench_replaces_another_run_only_if_it_is_told_to(tmp_path: Path) -> None:
    for _ in range(2):  # the same run may be made again
        ctxsim.bench("documented-53k", "keep-all", out=tmp_path)
    with pytest.raises(CtxsimError, match=r"holds another run .* overwrite=True"):
        ctxsim.bench("documented-53k", "drop-all", out=tmp_path)
    assert ctxsim.bench("documented-53k", "drop-all", out=tmp_path, overwrite=True).labels == ["keep-all", "drop-all"]


def test_a_run_without_a_folder_goes_when_it_is_dropped() -> None:
    run = ctxsim.bench("documented-53k", ["keep-all"])
    folder = run.folder
    assert (folder / "run.json").is_file()
    del run
    gc.collect()
    assert not folder.exists()


def test_a_sweep_runs_every_setting_and_the_bounds(tmp_path: Path) -> None:
    run = ctxsim.sweep("documented-53k", ["token-budget:budget=30000..50000@3", "mask:keep=1|3"], out=tmp_path / "run")
    assert [one.partition(":")[0] for one in run.labels] == [
        "keep-all", "drop-all", "oracle-lossless", *["token-budget"] * 3, *["mask"] * 2
    ]  # fmt: skip
    assert run.frame().equals(run.summary) and len(run.frame()) == 8
    with pytest.raises(LabelError):
        ctxsim.sweep("documented-53k", "token-budget:budget=1..2@x")


def test_two_runs_are_compared(tmp_path: Path) -> None:
    small, large = (
        ctxsim.bench("fifty-turns", ["token-budget"], window=window, out=tmp_path / f"{window}")
        for window in (100_000, 200_000)
    )
    found = ctxsim.compare(small, large.folder, fail_if=["tokens_sum > +2%"])
    rows = found.frame()
    assert set(rows.policy) == set(small.labels) and len(rows) == len(list(found)) and not found.broken
    assert rows.verdict.notna().all()
    two = ctxsim.compare(small, policies=("keep-all", small.labels[1]), fail_if=["tokens_sum < -1%"])
    assert [change.column for change in two.broken] == ["tokens_sum"]
    with pytest.raises(CtxsimError, match="needs two runs"):
        ctxsim.compare(small)
