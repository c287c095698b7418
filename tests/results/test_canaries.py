"""Without text: of canaries in every field of every format, in names of files and folders, none is in any file."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import corpus
import pandas
import pytest
from invented import write_logs
from mutants import Seed, seeds, write
from not_drawn import plot
from pages import words_of

from ctxsim.report.page import write_page
from ctxsim.results import read_run
from ctxsim.results.folder import WORK
from ctxsim.runs.conduct import Watch, conduct
from ctxsim.runs.task import Setting

CANARY = "yellowcanary"
FOUND = Path(__file__).parents[1] / "found"
POLICIES = ("keep-all", "drop-all", "mask:keep=1", "summary:at=0.0001,keep_last=1", "max-result-chars:chars=20")


def with_canaries(value: Any, chance: random.Random, share: float) -> Any:
    """A document with a canary in some of its texts, and under some of its keys."""
    if isinstance(value, dict):
        made = {key: with_canaries(one, chance, share) for key, one in value.items()}
        return {**made, f"{CANARY} key {chance.random()}": CANARY} if chance.random() < share else made
    if isinstance(value, list):
        return [with_canaries(one, chance, share) for one in value]
    return f"{value} {CANARY}" if isinstance(value, str) and chance.random() < share else value


def sung(seed: Seed, chance: random.Random, share: float) -> Seed:
    """A seed with canaries in its documents and its names."""
    files = {}
    for name, data in seed.files.items():
        lines = data.split(b"\n")
        for at, line in enumerate(lines):
            try:
                lines[at] = json.dumps(with_canaries(json.loads(line), chance, share)).encode()
            except (ValueError, RecursionError):
                continue
        # Files that formats find by their names keep them.
        files[name if len(seed.files) > 1 else f"{CANARY}-{name}"] = b"\n".join(lines)
    return Seed(next(iter(files)) if len(files) == 1 else f"{CANARY}-{seed.name}", files)


def everything(out: Path) -> str:
    """All that a run's folder says: names, texts, tables."""
    found = [str(path.relative_to(out)) for path in out.rglob("*")]
    found += [path.read_bytes().decode("utf-8", "replace") for path in out.rglob("*") if path.is_file()]
    found += [pandas.read_parquet(path).to_csv() for path in out.glob("*.parquet")]
    found += [words_of(path) for path in out.glob("*.html")]
    return " ".join(found)


def sung_in(said: str) -> list[str]:
    """What stands around each canary that was found."""
    return [said[max(0, found.start() - 80) : found.end() + 40] for found in re.finditer(CANARY, said)][:5]


def hunted(found: list[Seed], folder: Path, text: bool) -> tuple[int, str]:
    """Bench the seeds with canaries, leave it before the end too; how many transcripts it had, and all it says."""
    chance = random.Random(11)
    for number, seed in enumerate(found):
        for share in (0.02, 1.0):
            write(sung(seed, chance, share), folder / f"{CANARY} logs" / f"{CANARY}{number}-{share}")
    out = folder / "out"
    setting = Setting(CANARY, f"Recorded transcripts in {CANARY}", POLICIES, text=text)
    paths = [str(folder / f"{CANARY} logs")]
    done: list[object] = []
    watch = Watch(lambda info, total: done.append(info), stopped=lambda: len(done) > 1)
    conduct(setting, out, paths=paths, watch=watch)
    assert (out / WORK).is_dir()
    unfinished = everything(out)
    conduct(setting, out, paths=paths, resume=True)
    run = read_run(out)
    write_page(run, out / "report.html")
    # Of a picture its name alone can be read here.
    plot(run, "bench")
    return run.transcripts, unfinished + everything(out)


def test_no_canary_sings_without_text(tmp_path: Path) -> None:
    found = [seed for seed in seeds(FOUND, 99) if not seed.archive]
    assert hunted(found[:3], tmp_path / "loud", True)[1].count(CANARY) > 100
    transcripts, said = hunted(found, tmp_path / "quiet", False)
    assert transcripts > 5
    assert not sung_in(said)


@corpus.here
@pytest.mark.corpus
@pytest.mark.slow
def test_no_canary_of_any_recorded_format_sings(tmp_path: Path) -> None:
    transcripts, said = hunted([seed for seed in seeds(corpus.FOLDER, 1) if not seed.archive], tmp_path, False)
    assert transcripts > 30
    assert not sung_in(said)


def test_figures_are_the_same_without_text(tmp_path: Path) -> None:
    write_logs(tmp_path / "logs", 1)
    for text in (True, False):
        conduct(Setting("t", "t", POLICIES, text=text), tmp_path / f"{text}", paths=[str(tmp_path / "logs")])
    # Names are numbers there, and chance isn't told without the words of others.
    named = ["chance_rate", "transcript", "root", "project", "version"]
    before, after = (read_run(tmp_path / f"{text}").summary.drop(columns=named) for text in (True, False))
    pandas.testing.assert_frame_equal(before, after)
