"""The locked packages that development and CI install, with the version and the hashes of each."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parents[1] / "requirements"

_PINNED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^\s;\\]+)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


class Locked(NamedTuple):
    """One package: its version, and the number of its files' hashes."""

    version: str
    hashes: int


def locked(name: str) -> dict[str, Locked]:
    """Return the packages of `requirements/NAME.txt` by name; of one with several versions the last."""
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    starts = [*_PINNED.finditer(text)]
    ends = [one.start() for one in starts[1:]] + [len(text)]
    return {
        one[1].lower(): Locked(one[2], len(_HASH.findall(text[one.start() : end])))
        for one, end in zip(starts, ends, strict=True)
    }
