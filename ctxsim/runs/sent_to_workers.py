"""Tasks for processes on other machines: what is sent and what is returned are bytes, not objects of ctxsim.

A source is sent as its files and their names, a setting as labels and numbers, the user's own code as source text. The
worker writes the files to their paths under a temporary folder, and empty files for their neighbours, since readers
look for parents beside a session. It returns the bytes of a part.
"""

import os
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import msgspec

from ctxsim.errors import InputError, NotATranscript
from ctxsim.readers import SUFFIXES
from ctxsim.readers.source import Source
from ctxsim.readers.source.database import written_beside
from ctxsim.readers.source.limits import SOURCE_BYTES
from ctxsim.readers.source.placed import Copies, Placed
from ctxsim.runs.identity import own_code, refuse_other_code
from ctxsim.runs.own_process import end_apart
from ctxsim.runs.parts import part_pieces
from ctxsim.runs.task import Common, Task, files_below, names_beside, results_of
from ctxsim.synthesis import Scenario


class Carried(msgspec.Struct, frozen=True):
    """A source. Paths are those of the machine that it is from; they are bytes, since names need not be text.

    `files` are the contents of the files at its path, by path. `data` is its content if no file holds it: standard
    input. `hidden` is the start of its path that labels don't show, `shown` what labels show instead. `beside` is the
    hash of the names beside it.
    """

    name: str
    named: bool
    column: str = ""
    reader: str = ""
    path: bytes | None = None
    files: dict[bytes, bytes] = {}
    data: bytes | None = None
    refused: tuple[str, str, bool] | None = None
    hidden: str = ""
    shown: str = ""
    beside: str = ""


class Shared(msgspec.Struct, frozen=True):
    """What all tasks of a bench have in common. `names` are the paths of its sources and of files beside them."""

    code: str
    common: Common
    names: tuple[bytes, ...]


class Job(msgspec.Struct, frozen=True):
    """What else a worker gets of one task: a source or a scenario, and which of its results are wanted."""

    source: Carried | None
    scenario: Scenario | None
    drawn: tuple[int, ...] | None
    sizing: bool


def shared(tasks: Sequence[Task]) -> bytes:
    """Return, encoded, what all tasks have in common."""
    sources = [task.what for task in tasks if isinstance(task.what, Source)]
    paths = {source.path.absolute() for source in sources if source.path is not None}
    names = {os.fsencode(path) for path in paths if path.is_file()}
    # Readers may look for other files in a source's folder and in the one above.
    for folder in {folder for path in paths for folder in (path.parent, path.parent.parent)}:
        with suppress(OSError), os.scandir(folder) as entries:
            names.update(
                os.fsencode(one.path) for one in entries if Path(one.name).suffix in SUFFIXES and one.is_file()
            )
    return msgspec.msgpack.encode(Shared(own_code(), tasks[0].common, tuple(sorted(names))))


def job(task: Task) -> bytes:
    """Return, encoded, what a worker needs of one task besides what is shared."""
    source, scenario = (carried(task.what), None) if isinstance(task.what, Source) else (None, task.what)
    return msgspec.msgpack.encode(Job(source, scenario, task.drawn, task.sizing))


def carried(source: Source) -> Carried:
    """Return a source with its content or, if it can't be read, with the error that reading it raises here."""
    path = source.path.absolute() if source.path is not None else None
    hidden, shown = (source.root, source.shown) if isinstance(source, Placed) else ("", "")
    if path is not None and source.path != path and not hidden:
        hidden = f"{Path.cwd()}/"
    made = Carried(
        source.name, source.named, source.column, source.reader, None if path is None else os.fsencode(path),
        hidden=hidden, shown=shown, beside=names_beside(source),
    )  # fmt: skip
    try:
        files, data = _content(source)
    except InputError as error:
        return msgspec.structs.replace(made, refused=(error.where, error.what, isinstance(error, NotATranscript)))
    return msgspec.structs.replace(made, files=files, data=data)


def _content(source: Source) -> tuple[dict[bytes, bytes], bytes | None]:
    path = source.path
    if source.refused is not None or path is None:
        with source.open() as stream, source.readable():
            return {}, stream.read()
    whole = files_below(path) if path.is_dir() else [path, *written_beside(path)]
    try:
        if sum(one.stat().st_size for one in whole) > SOURCE_BYTES:
            raise MemoryError
        return {os.fsencode(one.absolute()): one.read_bytes() for one in whole}, None
    except OSError as error:
        raise InputError(source.name, f"cannot be read: {error.strerror or error}") from error
    except MemoryError:
        raise InputError(source.name, "is too large to be sent") from None


def part(asked: bytes, common: bytes) -> bytes:
    """Do a task in a worker, and return the bytes of its part. Raises CtxsimError if the worker's code differs."""
    place = _place(common)
    one = msgspec.msgpack.decode(asked, type=Job)
    try:
        with nullcontext(one.scenario) if one.source is None else place.put(one.source) as what:
            assert what is not None
            task = Task(what, place.common, drawn=one.drawn, sizing=one.sizing)
            return b"".join(part_pieces(results_of(task)))
    finally:
        # A worker outlives the bench; the processes of the bench's policies must not.
        end_apart()


class _Place:
    """The folder in which a worker puts the files of one bench, and what the bench's tasks have in common."""

    def __init__(self, shared: Shared) -> None:
        self.common = shared.common
        self._copies = Copies()
        for name in shared.names:
            path = self._here(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()

    def _here(self, path: bytes) -> Path:
        return Path(self._copies.name + os.fsdecode(path))

    @contextmanager
    def put(self, one: Carried) -> Iterator[Source]:
        """Yield the source with its files in their places; then empty its own file and remove the others."""
        root = self._copies.name + one.hidden
        refused = None
        if one.refused is not None:
            where, what, no_transcript = one.refused
            refused = (NotATranscript if no_transcript else InputError)(where, what)
        path = None if one.path is None else self._here(one.path)
        told: dict[str, Any] = {"path": path, "data": one.data, "named": one.named, "refused": refused}
        source = Placed(one.name, root, one.shown, self._copies, **told)
        source.column, source.reader, source.beside = one.column, one.reader, one.beside
        for name, data in one.files.items():
            file = self._here(name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        try:
            yield source
        finally:
            if path is not None and path.is_dir():
                shutil.rmtree(path)
            for name in one.files:
                file = self._here(name)
                if file == path:
                    file.write_bytes(b"")
                else:
                    file.unlink(missing_ok=True)


_LOCK = threading.Lock()

_last: tuple[bytes, _Place] | None = None
"""The Shared that this process got last, encoded, and its folder, which is removed with it."""


def _place(common: bytes) -> _Place:
    global _last
    with _LOCK:
        if _last is None or _last[0] != common:
            # Other fields may not decode if the versions differ.
            refuse_other_code(msgspec.msgpack.decode(common)["code"])
            _last = common, _Place(msgspec.msgpack.decode(common, type=Shared))
        return _last[1]
