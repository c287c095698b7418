"""The corpora of measurements: recordings, identified by their hashes, or conversations generated from seeds."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import msgspec

from ctxsim.errors import InputError
from ctxsim.readers import read_source, sources
from ctxsim.readers.formats.ctxsim_jsonl import lines
from ctxsim.synthesis import load_scenario, synthesize
from ctxsim.transcript import Transcript

PINNED = Path(__file__).with_name("corpus.tsv")
"""The path and SHA-256 of each recording on which the committed ratios were measured."""


def generated(turns: int, seed: int) -> Transcript:
    """Return a coding agent's conversation of `turns` turns with six calls each."""
    scenario = load_scenario("fifty-turns")
    made = msgspec.structs.replace(
        scenario.synthesis, seed=seed, parameters={**scenario.synthesis.parameters, "turns": turns}
    )
    return synthesize(msgspec.structs.replace(scenario, synthesis=made))


def write(folder: Path, transcript: Transcript, name: str) -> None:
    """Write a transcript in ctxsim's own format."""
    named = msgspec.structs.replace(transcript, name=name)
    (folder / f"{name}.jsonl").write_bytes(b"\n".join(lines(named)) + b"\n")


def of_turns(folder: Path, turns: int) -> Path:
    """Return a folder with one generated conversation, which is made if the folder doesn't exist."""
    if not folder.exists():
        folder.mkdir()
        write(folder, generated(turns, 3), "t")
    return folder


def of_megabytes(folder: Path, megabytes: float, turns: int = 50) -> Path:
    """Return a new folder of generated transcripts of about this size: five different ones, repeated."""
    folder.mkdir()
    base = [generated(turns, seed) for seed in range(5)]
    size = number = 0
    while size < megabytes * 1_000_000:
        write(folder, base[number % 5], f"t{number:05}")
        size += (folder / f"t{number:05}.jsonl").stat().st_size
        number += 1
    return folder


def recordings(folder: Path) -> Iterator[Transcript]:
    """Yield every transcript of a folder that can be read."""
    for source in sources(str(folder)):
        try:
            yield from read_source(source)
        except InputError:
            continue


def told(folder: Path) -> list[str]:
    """Return the path and SHA-256 of each file of a folder, in the order of paths."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [f"{path.relative_to(folder).as_posix()}\t{sha256(path.read_bytes()).hexdigest()}" for path in files]


def pinned(folder: Path) -> bool:
    """Return whether a folder holds exactly the recordings on which the committed ratios were measured."""
    return told(folder) == PINNED.read_text(encoding="utf-8").splitlines()
