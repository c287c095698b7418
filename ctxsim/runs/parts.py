"""Finished tasks on disk: they are kept whatever happens to the process, and a run can be resumed from them.

Each task's rows are one file (a part) that ends in its own checksum, written under a temporary name and renamed. The
run's tables are made from the parts in order. Parts hold tables in Arrow's memory format. A part that is damaged, or
whose source has changed, is removed.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO

import msgspec

from ctxsim.errors import InputError
from ctxsim.results import TABLES
from ctxsim.results.files import replacing, write_file
from ctxsim.results.folder import MARKER, RunFolder, remove
from ctxsim.results.frames import arrow_schema
from ctxsim.runs.rows import Done, Rows

MADE_WITH = "setting"

_LENGTH_BYTES = 8
_SUM_BYTES = hashlib.sha256().digest_size


def fingerprint(texts: Iterable[str]) -> str:
    """Return a hash of texts in their order."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest()


class Parts(AbstractContextManager["Parts"]):
    """The finished tasks of a run. `contents` gives, by task, a hash of what its source holds now.

    `made_with` is a hash of what all parts depend on.
    """

    def __init__(self, out: RunFolder, made_with: str, contents: Sequence[Callable[[], str]], resume: bool) -> None:
        """Begin or, with `resume`, go on. Raises InputError if existing parts were made with something else."""
        self.folder = out.work
        self._out = out
        self._whole: set[int] = set()
        stored = self.folder / MADE_WITH
        if not (resume and out.marked and stored.is_file()):
            out.begin()
            write_file(stored, made_with)
        elif stored.read_bytes() != made_with.encode():
            changed = "ctxsim, the options, a policy's file, the list of sources or --jobs changed"
            raise InputError(out.folder, f"can't be resumed: {changed}; run without --resume")
        for file in sorted(self.folder.iterdir()):
            if file.name in (MADE_WITH, MARKER):
                continue
            number = int(file.name) if file.name.isdecimal() else -1
            info = _info(file) if 0 <= number < len(contents) and file == self.path(number) else None
            if info is not None and info.info.sha256 + info.beside == contents[number]():
                self._whole.add(number)
            else:
                # A part that is damaged or of a changed source, or a file that is no part.
                remove(file)

    def path(self, number: int) -> Path:
        """Return the path of a task's part, whether or not it exists yet."""
        return self.folder / f"{number:08}"

    def done(self, number: int) -> bool:
        """Whether a task was finished before, by a run that this one goes on with."""
        return number in self._whole

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Keep finished tasks for `--resume` after a failure; without any, remove the folder of unfinished work."""
        if error is None or not self.folder.is_dir() or any(file.name.isdecimal() for file in self.folder.iterdir()):
            return
        self._out.clear()


def write_part(path: Path, rows: Iterable[Rows | Done]) -> None:
    """Write a task's rows, transcript by transcript, and their checksum, under a temporary name; rename the file."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.writelines(part_pieces(rows))


def packed(one: Rows | Done) -> bytes:
    """Return a result of a task as bytes, with tables in Arrow's memory format."""
    return msgspec.msgpack.encode(one, enc_hook=lambda batch: memoryview(batch.serialize()))


def unpacked(data: bytes) -> Rows | Done:
    """Return the object whose bytes `packed` returned. Raises msgspec.DecodeError for other bytes."""
    one = _DECODER.decode(data)
    if not isinstance(one, Rows):
        return one
    import pyarrow

    schemas = {name: arrow_schema(row) for name, (row, _) in TABLES.items() if name != "summary"}
    if one.tables.keys() != schemas.keys():
        raise msgspec.ValidationError(f"the tables are not {', '.join(schemas)}")
    # Each table keeps alive only the bytes that it was read from.
    read = {name: pyarrow.ipc.read_record_batch(batch, schemas[name]) for name, batch in one.tables.items()}
    return msgspec.structs.replace(one, tables=read)


_DECODER: msgspec.msgpack.Decoder[Rows | Done] = msgspec.msgpack.Decoder(Rows | Done)


def part_pieces(rows: Iterable[Rows | Done]) -> Iterator[bytes]:
    """Yield the bytes of a task's part, transcript by transcript, and their checksum last."""
    digest = hashlib.sha256()
    for one in rows:
        data = packed(one)
        for piece in (len(data).to_bytes(_LENGTH_BYTES, "big"), data):
            digest.update(piece)
            yield piece
    yield digest.digest()


def read_part(path: Path) -> Iterator[Rows | Done]:
    """Yield a finished task's rows, one transcript at a time, and then its Done."""
    with path.open("rb") as file:
        for data in _pieces(file, path.stat().st_size):
            yield unpacked(data)


def _pieces(file: BinaryIO, size: int) -> Iterator[bytes]:
    while (left := size - _SUM_BYTES - file.tell()) > 0:
        # The length may be damaged.
        yield file.read(min(int.from_bytes(file.read(_LENGTH_BYTES), "big"), left))


def _info(path: Path) -> Done | None:
    """Return a part's Done; None if the part is damaged."""
    digest, data = hashlib.sha256(), b""
    try:
        with path.open("rb") as file:
            for data in _pieces(file, path.stat().st_size):
                digest.update(len(data).to_bytes(_LENGTH_BYTES, "big") + data)
            whole = file.read() == digest.digest()
        return msgspec.msgpack.decode(data, type=Done) if whole else None
    except (OSError, msgspec.DecodeError):
        return None
