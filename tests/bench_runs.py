"""Benches of small invented logs: what to run, and what a run left."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import not_drawn

from ctxsim.readers.formats.ctxsim_jsonl import lines
from ctxsim.transcript import Transcript

POLICIES = ("keep-all", "drop-all", "mask:keep=1", "token-budget:budget=300,retain=20", "summary:at=0.001,keep_last=2")
SOURCES = 24


def write(folder: Path, transcript: Transcript, name: str) -> None:
    """A transcript under this name in a folder, in our own format."""
    named = msgspec.structs.replace(transcript, name=name)
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.jsonl").write_bytes(b"\n".join(lines(named)))


def arguments(logs: Path, out: Path, *more: str) -> list[str]:
    """What to tell `ctxsim` to bench them."""
    labels = [part for label in POLICIES for part in ("--policy", label)]
    return ["bench", str(logs), "--out", str(out), *labels, *more]


def command(logs: Path, out: Path, *more: str) -> list[str]:
    """The same for a process of its own, which draws no charts."""
    return [sys.executable, not_drawn.__file__, *arguments(logs, out, *more)]


def content(out: Path) -> dict[str, bytes]:
    """The result files of a run, pictures aside."""
    return {file.name: file.read_bytes() for file in out.iterdir() if file.suffix in (".json", ".csv", ".parquet")}
