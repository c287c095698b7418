"""Finished tasks on disk: what was done is kept, whatever happens to the process, and a run can go on from there.

Each task's rows are one file, written under a temporary name and renamed; the run's tables are made from them in order.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from ctxsim import __version__
from ctxsim.bench.task import Done, Rows, Setting, specs_of
from ctxsim.errors import InputError
from ctxsim.results.files import SUFFIX, replacing

FOLDER = "parts"
SETTING = "setting"

_LENGTH_BYTES = 8


class Parts:
    """The folder of finished tasks inside a run's folder."""

    def __init__(self, run: Path, setting: Setting, what: Iterable[str], resume: bool) -> None:
        """Begin or go on. Raises InputError if what is there was made with other settings or for other sources."""
        self.folder = run / FOLDER
        self.question = question(setting, what)
        stored = self.folder / SETTING
        if resume and stored.is_file():
            if stored.read_text() != self.question:
                raise InputError(run, "can't be resumed: its policies, options, sources or version are others")
        else:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
            with replacing(stored) as temporary:
                temporary.write_text(self.question)

    def path(self, number: int) -> Path:
        """Where a task's rows are, or will be."""
        return self.folder / f"{number:08}"

    def done(self, number: int) -> bool:
        """Whether a task is finished."""
        return self.path(number).is_file()

    def __enter__(self) -> Parts:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """After a failure finished tasks stay for `--resume`; a run that finished none leaves nothing behind."""
        if error is None or any(file.suffix != SUFFIX and file.name != SETTING for file in self.folder.iterdir()):
            return
        self.clear()
        if not any(self.folder.parent.iterdir()):
            self.folder.parent.rmdir()

    def clear(self) -> None:
        """Remove them: the run's tables hold everything."""
        shutil.rmtree(self.folder, ignore_errors=True)


def write_part(path: Path, rows: Iterable[Rows | Done]) -> None:
    """Write a task's rows, transcript by transcript, under a temporary name, and rename the file."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        for one in rows:
            data = msgspec.msgpack.encode(one)
            file.write(len(data).to_bytes(_LENGTH_BYTES, "big"))
            file.write(data)


def read_part(path: Path) -> Iterator[Rows | Done]:
    """Return a finished task's rows, one transcript at a time."""
    decoder: msgspec.msgpack.Decoder[Rows | Done] = msgspec.msgpack.Decoder(Rows | Done)
    with path.open("rb") as file:
        while length := file.read(_LENGTH_BYTES):
            yield decoder.decode(file.read(int.from_bytes(length, "big")))


def question(setting: Setting, what: Iterable[str]) -> str:
    """Return the digest of what a run is asked: version, policies, options and the names of its sources."""
    # However a label was typed.
    opened = msgspec.structs.replace(setting, policies=tuple(spec.label for spec in specs_of(setting)))
    digest = hashlib.sha256(msgspec.json.encode((__version__, opened)))
    for name in what:
        digest.update(name.encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest()
