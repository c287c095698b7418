"""No run is overwritten in silence: a folder that holds another one, or the documented reference, is refused."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from ctxsim import __version__
from ctxsim.errors import InputError
from ctxsim.runs.task import Setting, specs_of

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


def question(setting: Setting, sources: Iterable[str]) -> str:
    """Return the digest of what a run is asked: version, policies, options and the names of its sources."""
    # However a label was typed.
    opened = msgspec.structs.replace(setting, policies=tuple(spec.label for spec in specs_of(setting)))
    digest = hashlib.sha256(msgspec.json.encode((__version__, opened)))
    for name in sources:
        digest.update(name.encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest()
