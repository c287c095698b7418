"""Where transcripts are read from: a file, compressed or not, a member of an archive, a folder, or standard input."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

import msgspec

from ctxsim.errors import InputError
from ctxsim.readers.limits import most_bytes, read_all, too_large

T = TypeVar("T")

SAMPLE_RECORDS = 40
_SURROGATE = re.compile("[\ud800-\udfff]")
SAMPLE_BYTES = 1 << 20


class Record(msgspec.Struct, frozen=True):
    """One JSON value of a JSONL file and the line that it stands in, counted from 1."""

    line: int
    value: Any


class Source:
    """Bytes with a name that people recognise. Opening it again starts from the beginning."""

    def __init__(
        self,
        name: str,
        path: Path | None = None,
        data: bytes | None = None,
        named: bool = False,
        member: str | None = None,
    ) -> None:
        # A file name that isn't UTF-8 is shown with ? and opened by its path.
        self.name = name.encode("utf-8", "replace").decode("utf-8")
        self.path = path
        self.member = member
        self.named = named
        """Whether the user named it; else it was found in a folder or an archive."""
        self._data = data

    def open(self) -> BinaryIO:
        """Return the decompressed bytes as a stream."""
        if self._data is not None:
            return io.BytesIO(self._data)
        assert self.path is not None
        if self.member is not None:
            return io.BytesIO(_member(self.path, self.member, self.name))
        suffix = self.path.suffix
        try:
            if suffix == ".gz":
                return cast(BinaryIO, gzip.open(self.path))
            if suffix == ".zst":
                import pyarrow

                return io.BufferedReader(pyarrow.input_stream(str(self.path), compression="zstd"))
            return self.path.open("rb")
        except OSError as error:
            raise InputError(self.name, f"cannot be read: {error.strerror or error}") from error

    def content(self) -> bytes:
        """Return everything. For documents only: JSONL is streamed by `records`."""
        with self.open() as stream, self._readable():
            return read_all(stream, self.name)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Return non-empty lines with their numbers, split at line feeds only; `//` comment lines are left out."""
        limit = most_bytes()
        with self.open() as stream, self._readable():
            for number in count(1):
                line = stream.readline(limit + 1)
                if not line:
                    return
                if len(line) > limit:
                    raise too_large(f"{self.name}:{number}")
                line = line.removeprefix(b"\xef\xbb\xbf").strip() if number == 1 else line.strip()
                if line and not line.startswith(b"//"):
                    yield number, line

    def records(self, notes: list[str]) -> Iterator[Record]:
        """Return the JSON values of a JSONL file in order.

        Two values glued on one line are two records. A line that isn't JSON is skipped and noted with its number, a
        torn last line too; so is invalid UTF-8, with its byte. Raises InputError if no line at all is JSON.
        """
        good = False
        bad: list[tuple[int, str]] = []
        for number, line in self.lines():
            try:
                values = _values(line)
            except ValueError as error:
                bad.append((number, str(error)))
                continue
            for value in values:
                good = True
                yield Record(number, value)
        if bad and not good:
            raise InputError(f"{self.name}:{bad[0][0]}", f"is not JSON: {bad[0][1]}")
        for number, why in bad[:5]:
            notes.append(f"line {number} skipped, not JSON: {why}")
        if len(bad) > 5:
            notes.append(f"{len(bad) - 5} more lines skipped, not JSON")

    def _readable(self) -> _Readable:
        return _Readable(self.name)


class _Readable:
    """Turns what decompression and the file system can raise into one line for people."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        unreadable = EOFError | OSError | zipfile.BadZipFile | NotImplementedError
        if isinstance(error, unreadable) and not isinstance(error, BrokenPipeError):
            raise InputError(self.name, f"cannot be read: {error}") from error


def _values(line: bytes) -> list[Any]:
    """Return the JSON values on one line. Raises ValueError with the reason, and the byte of invalid UTF-8."""
    try:
        return [msgspec.json.decode(line)]
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as first:
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"invalid UTF-8 at byte {error.start}") from None
        decoder = json.JSONDecoder()
        values, position = [], 0
        try:
            while position < len(text):
                value, position = decoder.raw_decode(text, position)
                values.append(_clean(value))
                while position < len(text) and text[position].isspace():
                    position += 1
        except (json.JSONDecodeError, RecursionError):
            raise ValueError(str(first)) from None
        return values


def _with_lone_surrogates(text: str) -> Any:
    """Decode JSON that holds half an emoji: such text is recorded, and no tokenizer can read it."""
    return _clean(json.loads(text))


def _clean(value: Any) -> Any:
    """The value with each lone surrogate in its texts as U+FFFD."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_clean(entry) for entry in value]
    return {_clean(key): _clean(entry) for key, entry in value.items()} if isinstance(value, dict) else value


class Sample:
    """What detection looks at: the first records of a JSONL file, or a whole JSON document.

    `document` is None for JSONL; `records` of a document is the document alone, so a JSONL file of one line is found
    by its record too. `members` are the names in a zip archive.
    """

    def __init__(self, source: Source) -> None:
        self.source = source

    @cached_property
    def folder(self) -> Path | None:
        """The folder that is this source as a whole, or None."""
        path = self.source.path
        return path if path is not None and path.is_dir() else None

    @cached_property
    def start(self) -> bytes:
        """The first 4 KB; empty for a folder."""
        if self.folder:
            return b""
        with self.source.open() as stream, self.source._readable():
            return stream.read(4096)

    @cached_property
    def members(self) -> tuple[str, ...]:
        """Names in a zip archive, or ()."""
        if not self.start.startswith(b"PK\x03\x04"):
            return ()
        try:
            with self.source.open() as stream, zipfile.ZipFile(cast(Any, stream)) as archive:
                return tuple(archive.namelist())
        except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            raise InputError(self.source.name, f"is a damaged zip archive: {error}") from error

    @cached_property
    def jsonl(self) -> bool:
        """Whether the first line is a JSON value by itself and something follows it."""
        lines = self.source.lines()
        first = next(lines, None)
        if first is None:
            return False
        try:
            values = _values(first[1])
        except ValueError:
            return False
        return len(values) > 1 or next(lines, None) is not None

    @cached_property
    def document(self) -> Any:
        """The whole file as one JSON value; None if it's JSONL, an archive or not JSON. Raises InputError if cut."""
        if self.members or self.jsonl:
            return None
        data = self.source.content().removeprefix(b"\xef\xbb\xbf")
        start = data.lstrip()[:1]
        if start not in (b"{", b"["):
            return None
        try:
            return msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            try:
                return _with_lone_surrogates(data.decode("utf-8"))
            except (json.JSONDecodeError, RecursionError):
                pass
            except UnicodeDecodeError as bad:
                line = data.count(b"\n", 0, bad.start) + 1
                raise InputError(f"{self.source.name}:{line}", f"invalid UTF-8 at byte {bad.start}") from None
            raise InputError(self.source.name, f"is not complete JSON: {error}") from None
        except RecursionError:
            raise InputError(self.source.name, "is nested too deeply to be a transcript") from None

    @cached_property
    def records(self) -> list[Any]:
        """The first JSON values of the file."""
        if not self.jsonl:
            return [] if self.document is None else [self.document]
        values: list[Any] = []
        size = 0
        for _, line in self.source.lines():
            size += len(line)
            try:
                values += _values(line)
            except ValueError:
                continue
            if len(values) >= SAMPLE_RECORDS or size > SAMPLE_BYTES:
                break
        return values


def convert(value: Any, kind: type[T], where: str) -> T:
    """Return a decoded JSON value as `kind`. Raises InputError naming the field that doesn't fit."""
    try:
        return msgspec.convert(value, kind, strict=False)
    except (msgspec.ValidationError, RecursionError) as error:
        raise InputError(where, str(error)) from None


def time_s(value: Any) -> float | None:
    """Return an ISO 8601 time, or milliseconds since 1970, as epoch seconds; None if it is neither.

    A time without a zone is taken as UTC: it must not mean another time on another machine.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value / 1000
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        return None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def compact_json(value: Any) -> str:
    """Return a JSON value as text without spaces, keys in their recorded order, non-ASCII as is."""
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode("utf-8")


def standard_input() -> Source:
    """Return what is piped in, as one source."""
    return Source("standard input", data=read_all(sys.stdin.buffer, "standard input"))


def archive_members(path: Path) -> Iterator[Source]:
    """Return the members of a zip archive as sources, read one at a time; a damaged archive as one that can't be."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = sorted(info.filename for info in archive.infolist() if not info.is_dir())
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError):
        yield Source(str(path), path, named=True)
        return
    for name in names:
        yield Source(f"{path}!{name}", path, member=name)


def _member(path: Path, name: str, shown: str) -> bytes:
    from ctxsim.readers.archive import member_bytes

    with _Readable(shown), zipfile.ZipFile(path) as archive:
        return member_bytes(archive, archive.getinfo(name))
