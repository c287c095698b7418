"""No run is overwritten in silence: a folder that holds another one, or the documented reference, is refused."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ctxsim.errors import InputError

REFERENCE = "REFERENCE"
"""The file that marks a run which others are compared with."""


class _Asked(msgspec.Struct):
    title: str = ""
    question: str = ""
    policies: tuple[str, ...] = ()


def is_reference(folder: Path) -> bool:
    """Return whether a folder holds a documented reference."""
    return (folder / REFERENCE).is_file()


def refuse_another(folder: Path, question: str) -> None:
    """Return if a run may be written here: nothing is there, or a run of the same question.

    Raises InputError for the documented reference, for another run, and for what is no run.
    """
    if is_reference(folder):
        raise InputError(folder, "is a documented reference; give another --out, or --force to replace it")
    try:
        found = msgspec.json.decode((folder / "run.json").read_bytes(), type=_Asked)
    except FileNotFoundError:
        return
    except msgspec.DecodeError:
        found = _Asked()
    if found.question != question:
        held = f" ({found.title}; {len(found.policies)} policies)" if found.title else ""
        raise InputError(folder, f"holds another run{held}; give another --out, or --force to replace it")
