"""Atomic writing: a file is written under a temporary name in its folder and then renamed, so it is never partial."""

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ctxsim.errors import InputError
from ctxsim.plugins.files import opened, small_file

MOST_BYTES = 100_000_000
"""Largest `run.json` that is read."""


def of_run(path: Path, folder: Path) -> Path:
    """Return the path of a run's file. Raises InputError if it is no regular file or links out of the run's folder."""
    if not path.resolve().is_relative_to(folder.resolve()):
        raise InputError(path, "is a link that leads out of the run's folder")
    opened(path).close()
    return path


def description(folder: Path) -> bytes:
    """Return the text of a run's `run.json`. Raises InputError, and the system's OSError."""
    return small_file(of_run(folder / "run.json", folder), MOST_BYTES)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk, if the file system can say so."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        with suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)


PICTURES = (".png", ".svg", ".pdf")
PAGES = (".html", ".htm", "")


def refuse_other(path: Path | None, forms: Sequence[str]) -> None:
    """Raise InputError for a file whose name ends in none of these forms; None is no file."""
    if path is not None and path.suffix.lower() not in forms:
        named = ", ".join(filter(None, forms))
        raise InputError(path, f"can't be written in this form; name a file that ends in {named}")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to; then rename that file to `path`, in place of what was there.

    If the block raises, the temporary file is removed and what was there stays. Each has another temporary name, in the
    same folder, so that renaming is one step. Raises InputError for a device, which renaming would replace too.
    """
    if path.parent == Path("/dev"):
        raise InputError(path, "is a device; name a file")
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        yield temporary
        temporary.replace(path)
    except BaseException as error:
        # An error of the removal must not hide the first one.
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename == os.fspath(temporary):
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
        raise


def write_file(path: Path, data: str | bytes) -> Path:
    """Write a whole file as `replacing` does, texts as UTF-8, and return its path."""
    with replacing(path) as temporary:
        temporary.write_bytes(data.encode() if isinstance(data, str) else data)
    return path
