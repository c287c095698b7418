"""Checksums of a finished run: a bit that flips in any of its files is one line, whatever the command."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest
from command_line import ctxsim

from ctxsim.errors import InputError
from ctxsim.results import read_run
from ctxsim.results.checksums import sums
from ctxsim.results.run import UNCHECKED

FLIPS = 260


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


@pytest.mark.parametrize("name", ["run.json", "calls.parquet", "needs.parquet", "calls.csv"])
@pytest.mark.parametrize(
    "line", ["check run run", "compare good run", "compare run good", "report run", "report run --only losses"]
)
def test_whatever_the_command_it_is_a_line(name: str, line: str, undisturbed: Path, tmp_path: Path) -> None:
    shutil.copytree(undisturbed, tmp_path / "run")
    shutil.copytree(undisturbed, tmp_path / "good")
    file = tmp_path / "run" / name
    file.write_bytes(flipped(file.read_bytes(), random.Random(1)))
    done = ctxsim(*line.split(), cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n"), done.stdout) == (1, 1, ""), done.stderr
    assert f"run/{name}" in done.stderr and "run bench again" in done.stderr


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
