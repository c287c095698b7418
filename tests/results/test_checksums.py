"""Checksums of a finished run: a bit that flips in any of its files is one line, whatever the command."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow
import pyarrow.parquet
import pytest
from command_line import ctxsim

from ctxsim.errors import InputError
from ctxsim.results import RunInfo, read_run
from ctxsim.results.checksums import sealed, sums
from ctxsim.results.run import UNCHECKED

FLIPS = 65


def flipped(data: bytes, chance: random.Random) -> bytes:
    """The same bytes but for one bit."""
    changed = bytearray(data)
    changed[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def test_every_flipped_bit_is_noticed(undisturbed: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(undisturbed, run)
    chance = random.Random(35)
    files = [run / "run.json", *(run / name for name in sums(run))]
    assert len(files) == 13
    for number in range(FLIPS):
        file = files[number % len(files)]
        whole = file.read_bytes()
        file.write_bytes(flipped(whole, chance))
        with pytest.raises(InputError) as raised:
            read_run(run)
        assert "\n" not in str(raised.value) and str(file) in str(raised.value)
        file.write_bytes(whole)
    assert read_run(run).transcripts


def test_a_key_of_the_checksums_that_is_misspelt_makes_no_older_run(undisturbed: Path, tmp_path: Path) -> None:
    text = (undisturbed / "run.json").read_bytes()
    for key in (b'"files": {', b'"digest": "', b'"schema": ', b'"columns": {'):
        shutil.copytree(undisturbed, tmp_path / "run", dirs_exist_ok=True)
        assert text.count(key) == 1
        (tmp_path / "run" / "run.json").write_bytes(text.replace(key, b'"x' + key[2:]))
        with pytest.raises(InputError, match=r"run\.json: has changed since the run was written"):
            read_run(tmp_path / "run")


def test_a_file_that_is_missing_or_was_added_is_told(undisturbed: Path, tmp_path: Path) -> None:
    shutil.copytree(undisturbed, tmp_path / "less")
    (tmp_path / "less" / "calls.csv").unlink()
    with pytest.raises(InputError, match=r"calls\.csv is missing"):
        read_run(tmp_path / "less")
    shutil.copytree(undisturbed, tmp_path / "more")
    (tmp_path / "more" / "items.csv").write_text("transcript\n")
    with pytest.raises(InputError, match=r"items\.csv: has changed"):
        read_run(tmp_path / "more")


def test_an_older_run_is_compared_with_a_note(undisturbed: Path, tmp_path: Path) -> None:
    shutil.copytree(undisturbed, tmp_path / "older")
    info = json.loads((tmp_path / "older" / "run.json").read_bytes())
    del info["files"], info["digest"]
    (tmp_path / "older" / "run.json").write_text(json.dumps(info))
    done = ctxsim("compare", "older", str(undisturbed), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, f"older: {UNCHECKED}\n")


@pytest.mark.skipif(os.name != "posix", reason="pipes with a name, devices")
@pytest.mark.parametrize("kind", ["pipe", "device", "link", "huge"])
@pytest.mark.parametrize("name", ["run.json", "calls.csv", "calls.parquet"])
def test_what_is_no_file_of_the_folder_is_told_and_nobody_waits(
    name: str, kind: str, undisturbed: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(undisturbed, run)
    if name == "calls.parquet":
        info = json.loads((run / "run.json").read_bytes())
        del info["files"], info["digest"]
        (run / "run.json").write_text(json.dumps(info))
    (run / name).rename(tmp_path / "outside")
    if kind == "pipe":
        os.mkfifo(run / name)
    elif kind == "huge":
        with (run / name).open("wb") as file:
            file.truncate(200_000_000)
    else:
        (run / name).symlink_to({"device": "/dev/zero", "link": tmp_path / "outside"}[kind])
    with pytest.raises(InputError, match=rf"{name}: (is a|is larger|has changed|is damaged)"):
        read_run(run)


def _set(table: str, column: str, value: Any, kind: Any = None) -> Callable[[Path], object]:
    """Put a value into a column of a run, of its own type or another."""

    def change(run: Path) -> None:
        path = run / f"{table}.parquet"
        old = pyarrow.parquet.read_table(path)
        at = old.schema.get_field_index(column)
        field = old.schema.field(at) if kind is None else pyarrow.field(column, kind)
        pyarrow.parquet.write_table(old.set_column(at, field, pyarrow.array([value] * len(old), field.type)), path)

    return change


def _said(**told: Any) -> Callable[[Path], object]:
    return lambda run: (run / "run.json").write_bytes(
        msgspec.json.encode(json.loads((run / "run.json").read_bytes()) | told)
    )


@pytest.mark.parametrize(
    "change",
    [
        _said(providers=[]), _said(providers=[{"window": "x"}]), _said(providers=[{"rate_limit": {}}]),
        _said(providers=[{"prices": {"source": 1}}]), _said(providers=[{"window": 2**63}]),
        _set("summary", "provider", 99), _set("summary", "provider", -1),
        _set("summary", "cost_usd", "1", pyarrow.string()), _set("summary", "tokens_sum", 1e300, pyarrow.float64()),
        _set("summary", "calls", None, pyarrow.int64()), _set("summary", "cost_usd", float("inf")),
        _set("items", "used_by", "a b"), _set("items", "used_by", "1" * 5_000),
    ],
)  # fmt: skip
def test_a_run_that_is_sealed_and_holds_what_no_run_has_is_told(
    change: Callable[[Path], object], undisturbed: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(undisturbed, run)
    change(run)
    info = msgspec.json.decode((run / "run.json").read_bytes(), type=RunInfo)
    (run / "run.json").write_bytes(sealed(msgspec.structs.replace(info, files=sums(run))))
    with pytest.raises(InputError, match=r"run.*(damaged|another column)"):
        read_run(run).table("items")
        read_run(run).frame()
