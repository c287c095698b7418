"""Checksums of a finished run: `run.json` holds the SHA-256 of every table, and of itself with an empty `digest`."""

import hashlib
from pathlib import Path

import msgspec

from ctxsim.errors import InputError
from ctxsim.results.files import of_run
from ctxsim.results.run_info import TABLES, RunInfo


def sums(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of a run's tables, by its path in the folder. Raises OSError, and
    InputError for a path that is no regular file or leads out of the folder.

    The path of a table's only file is the table's, even if the file still lies in a folder, as while it is written.
    """
    found = {}
    for table in TABLES:
        for path in (folder / f"{table}.csv", folder / f"{table}.parquet"):
            inside = sorted(path.iterdir()) if path.is_dir() else [path] if path.exists() else []
            for file in inside:
                name = path.name if len(inside) == 1 else f"{path.name}/{file.name}"
                with of_run(file, folder).open("rb") as stream:
                    found[name] = hashlib.file_digest(stream, "sha256").hexdigest()
    return found


def sealed(info: RunInfo) -> bytes:
    """Return the text of `run.json`, with its own checksum in its last field."""
    text = msgspec.json.format(msgspec.json.encode(msgspec.structs.replace(info, digest="")), indent=2) + b"\n"
    before, _, after = text.rpartition(b'""')
    return before + b'"' + hashlib.sha256(text).hexdigest().encode() + b'"' + after


def verify(folder: Path, text: bytes, info: RunInfo) -> None:
    """Raise InputError if `run.json` or a file of the tables isn't what was written.

    Runs of versions that wrote no checksum pass: `RunInfo.files` is empty then.
    """
    if not info.files and not info.digest:
        return
    own = hashlib.sha256(text.replace(info.digest.encode("utf-8", "replace"), b"", 1)).hexdigest()
    if own != info.digest:
        raise _changed(folder / "run.json")
    try:
        there = sums(folder)
    except OSError as error:
        raise InputError(folder, f"cannot be read: {error.strerror or error}") from None
    for name in sorted(info.files.keys() | there.keys()):
        if name not in there:
            raise InputError(folder, f"is no finished run: {name} is missing")
        if info.files.get(name) != there[name]:
            raise _changed(folder / name)


def _changed(path: Path) -> InputError:
    return InputError(path, "has changed since the run was written: its SHA-256 differs; run bench again")
