"""Where transcripts are read from: a file, compressed or not, a folder, or standard input."""

import codecs
import gzip
import io
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain, count, pairwise
from pathlib import Path, PurePath
from typing import Any, BinaryIO, cast

import msgspec

from ctxsim.errors import InputError
from ctxsim.readers.source.limits import Pace, check_expansion, most_bytes, read_all, too_large
from ctxsim.readers.source.values import json_values
from ctxsim.transcript import Transcript

PARQUET, SQLITE, ZIP = b"PAR1", b"SQLite format 3\0", b"PK\x03\x04"
"""First bytes of such files. Code that reads them is imported only for such a file."""

GZIP, ZSTANDARD, SKIPPABLE = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x2a\x4d\x18"
"""First bytes of compressed data: names don't say it, nor does a place in an archive. The last are the second to fourth
byte of a frame that Zstandard skips.
"""

DECOMPRESSED_AT_ONCE = 1 << 18
"""Bytes. Lines are then found in memory, without a call of Python's gzip for each."""

SKIPPED = "skipped, not JSON"
"""Part of the note on the skipped lines of a cut or damaged file."""

UNREAD = "aren't read"
"""Part of the note on sessions that a source holds in a form of its newer versions."""


class Record(msgspec.Struct, frozen=True):
    """One JSON value of a source, the line that it stands in, counted from 1, and its place for error messages."""

    line: int
    value: Any
    where: str


@dataclass(eq=False)
class Source:
    """Bytes with a name for messages. Each `open` starts from the beginning."""

    name: str
    path: Path | None = None
    data: bytes | None = field(default=None, repr=False)
    named: bool = False
    """Whether the user named the source; else it was found in a folder or an archive."""
    refused: InputError | None = None
    """The error that `open` raises, if the source can't or must not be opened."""
    column: str = ""
    """The column of a table that holds the conversations, where the user named one."""
    reader: str = ""
    """The reader that the user named: a format, or the user's own file."""
    _checked = False

    def __post_init__(self) -> None:
        # A file name that isn't UTF-8, or not one line, is shown with ? and opened by its path.
        self.name = "?".join(self.name.encode("utf-8", "replace").decode("utf-8").splitlines())

    def open(self) -> BinaryIO:
        """Return the decompressed bytes as a stream, UTF-16 as UTF-8.

        Raises InputError if the source can't or must not be opened.
        """
        if self.refused is not None:
            raise self.refused
        try:
            kept = self.kept()
            start = starts(kept, 4)
            if start.startswith(GZIP):
                self._check(kept, _gzip(kept))
                return cast(BinaryIO, io.BufferedReader(cast(Any, _gzip(kept)), DECOMPRESSED_AT_ONCE))
            if start == ZSTANDARD or start[1:] == SKIPPABLE:
                self._check(kept, _zstandard(kept))
                return io.BufferedReader(_zstandard(kept))
            if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                return io.BufferedReader(_FromUTF16(_stream(kept)), DECOMPRESSED_AT_ONCE)
            return _stream(kept)
        except OSError as error:
            raise InputError(self.name, f"cannot be read: {error.strerror or error}") from error

    def kept(self) -> Path | bytes:
        """Return the file, or the bytes of what is in memory; compressed if they are."""
        if self.data is not None:
            return self.data
        assert self.path is not None
        return self.path

    @property
    def held(self) -> tuple[Path | None, str]:
        """The user's file or folder that holds it, None if there is none, and its name in that; '' if it is all."""
        return self.path, ""

    @property
    def place(self) -> PurePath:
        """The file's path."""
        return PurePath(self.path or self.name)

    def near(self, places: Iterable[PurePath]) -> bool:
        """Return whether there is a file at any of some places, each given as `place` gives this one's."""
        return self.path is not None and any(Path(place).exists() for place in places)

    def files_in(self, folder: PurePath) -> dict[str, str]:
        """Return the names of the sources in a folder, given as `place` gives this one's, by their files' own names."""
        beside = sorted(Path(folder).glob("*")) if self.path is not None else []
        return {path.name: str(path) for path in beside if path.is_file()}

    def _check(self, kept: Path | bytes, stream: Any) -> None:
        """Decompress a file once, keeping nothing, to check its expanded size. Damage is reported when it is read."""
        if self._checked:
            return
        expanded, compressed = 0, len(kept) if isinstance(kept, bytes) else kept.stat().st_size
        with stream, suppress(EOFError, OSError, zlib.error):
            while piece := stream.read(DECOMPRESSED_AT_ONCE):
                expanded += len(piece)
                check_expansion(expanded, compressed, self.name)
        self._checked = True

    def read_by(self, read: Callable[["Source"], Iterator[Transcript]]) -> Iterator[Transcript]:
        """Return the transcripts that a reader gives for this source."""
        return read(self)

    def content(self) -> bytes:
        """Return everything. For documents only: JSONL is streamed by `records`."""
        with self.open() as stream, self.readable():
            return read_all(stream, self.name)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Return non-empty lines with their numbers, split at line feeds only; `//` comment lines are left out."""
        limit = most_bytes()
        pace = Pace(self.name)
        with self.open() as stream, self.readable():
            for number in count(1):
                line = stream.readline(limit + 1)
                if not line:
                    return
                pace.took(len(line))
                if len(line) > limit:
                    raise too_large(f"{self.name}:{number}")
                line = line.removeprefix(b"\xef\xbb\xbf").strip() if number == 1 else line.strip()
                if line and not line.startswith(b"//"):
                    yield number, line

    def records(self, notes: list[str], session: bool = False) -> Iterator[Record]:
        """Return the JSON values of a JSONL file in order.

        Two values glued on one line are two records; that is noted. A line that isn't JSON is skipped and noted with
        its number, a torn last line too; so is invalid UTF-8, with its byte. Of the log of a `session`, whose first
        lines are unlike all others, a copy that was appended to it is left out. Raises InputError if no line is JSON.
        """
        good = False
        glued = 0
        bad: list[tuple[int, str]] = []
        for number, line in _once(self.lines(), notes) if session else self.lines():
            try:
                values = json_values(line)
            except ValueError as error:
                bad.append((number, str(error)))
                continue
            glued += len(values) > 1
            good = True
            yield from (Record(number, value, f"{self.name}:{number}") for value in values)
        if bad and not good:
            raise InputError(f"{self.name}:{bad[0][0]}", f"is not JSON: {bad[0][1]}")
        notes += [f"{glued} line(s) with more than one record, separated"] if glued else []
        notes += [f"line {number} {SKIPPED}: {why}" for number, why in bad[:5]]
        notes += [f"{len(bad) - 5} more lines {SKIPPED}"] if len(bad) > 5 else []

    @contextmanager
    def readable(self) -> Iterator[None]:
        """Return a context that turns the errors of decompression and of the file system into InputError."""
        try:
            yield
        except (EOFError, OSError, zlib.error, zipfile.BadZipFile, NotImplementedError) as error:
            raise InputError(self.name, f"cannot be read: {error}") from error


class _Decompressed(gzip.GzipFile):
    """A gzip file that is read piece by piece, so that of a torn file all readable bytes come before the error."""

    def readinto(self, buffer: Any) -> int:
        return self.readinto1(buffer)


class _FromUTF16(io.RawIOBase):
    """UTF-16 text, as Windows PowerShell 5 redirects a command's output to a file, as the bytes of UTF-8."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-16")("replace")

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._stream.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        # Two bytes become at most three; four, after up to three that were left over, at most four.
        data = b""
        while not data and (piece := self._stream.read(max(1, len(buffer) // 2 - 4))):
            data = self._decoder.decode(piece).encode()
        data = data or self._decoder.decode(b"", final=True).encode()
        buffer[: len(data)] = data
        return len(data)


def _once(lines: Iterator[tuple[int, bytes]], notes: list[str]) -> Iterator[tuple[int, bytes]]:
    """Yield numbered lines. Where the first two, which differ, come again, leave out all that repeat the beginning."""
    known: list[int] = []
    copied = again = 0
    for (number, line), (_, following) in pairwise(chain(lines, [(0, b"")])):
        key = hash(line)
        goes_on = copied and known[copied : copied + 1] == [key]
        copied = copied + 1 if goes_on else int(known[:2] == [key, hash(following)] and line != following)
        again += bool(copied)
        if not copied:
            known.append(key)
            yield number, line
    if again:
        notes.append(f"{again} line(s) left out that repeat the log's beginning: it was appended to itself")


def _stream(kept: Path | bytes) -> BinaryIO:
    return io.BytesIO(kept) if isinstance(kept, bytes) else kept.open("rb")


def starts(kept: Path | bytes, most: int) -> bytes:
    """Return the first bytes of a file, or of bytes. Raises OSError."""
    with _stream(kept) as stream:
        return stream.read(most)


def _gzip(kept: Path | bytes) -> _Decompressed:
    return _Decompressed(fileobj=io.BytesIO(kept)) if isinstance(kept, bytes) else _Decompressed(kept)


def _zstandard(kept: Path | bytes) -> Any:
    import pyarrow

    where = pyarrow.py_buffer(kept) if isinstance(kept, bytes) else str(kept)
    return pyarrow.input_stream(where, compression="zstd")
