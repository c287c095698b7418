"""The protocol of a reader, and the registry of formats, built from the files in `formats/`."""

import ast
import importlib
import re
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from functools import cache, partial
from inspect import signature
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar, cast, runtime_checkable

import msgspec

from ctxsim.errors import CtxsimError, LabelError, NotATranscript, ReaderFailed, TooLong, told, unknown
from ctxsim.plugins import forgotten_by, installed, loaded
from ctxsim.plugins.files import load_file
from ctxsim.plugins.limit import limited
from ctxsim.readers import formats
from ctxsim.readers.source import Sample, Source, under
from ctxsim.transcript import Transcript

T = TypeVar("T")

ORDER = ("trajectories", "openai-chat", "anthropic-messages")
"""General formats, tried in this order after the formats whose marks are found: most logs hold such messages."""


@runtime_checkable
class Reader(Protocol):
    """The protocol of a format: a module with these attributes and functions."""

    NAME: str
    TITLE: str
    VERSIONS: str
    READS: str
    NOT_READ: str

    def matches(self, sample: Sample) -> bool:
        """Whether the content is of this format."""
        ...

    def read(self, source: Source, sample: Sample) -> Iterator[Transcript]:
        """Return the transcripts of a source."""
        ...


@runtime_checkable
class FolderReader(Reader, Protocol):
    """A format whose conversation is spread over a folder: such a folder is one source, `sample.folder` is its path,
    and the walk does not go into it.
    """

    def owns(self, folder: Path) -> bool:
        """Whether a folder as a whole is one source of this format."""
        ...


class _File(NamedTuple):
    """A format that isn't imported yet: its module's name, its `MARKS`, and whether it has a function `owns`."""

    module: str
    marks: tuple[str, ...]
    owns: bool


@cache
def _files() -> dict[str, _File]:
    """Return all built-in formats by name, the general ones last. Their source text is searched; none is imported."""
    package = Path(formats.__file__ or "").parent
    found = {}
    for file in sorted(package.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if name := re.search(r'^NAME = "([^"]+)"', text, re.MULTILINE):
            parts = file.relative_to(package).with_suffix("").parts
            module = ".".join((formats.__name__, *(part for part in parts if part != "__init__")))
            marks = re.search(r"^MARKS = (\(.*?\))$", text, re.MULTILINE | re.DOTALL)
            told = tuple(ast.literal_eval(marks[1])) if marks else ()
            found[name[1]] = _File(module, told, "\ndef owns(" in text)
    special = sorted(name for name in found if name not in ORDER)
    return {name: found[name] for name in (*special, *ORDER)}


def _opened(file: _File) -> Reader:
    return cast(Reader, importlib.import_module(file.module))


@cache
def _installed() -> dict[str, Reader]:
    """Return the readers of other packages by name: modules under the entry-point group `ctxsim.readers`."""
    return {
        point.name: load_reader_module(loaded("reader", point.name, point.value, point.load), point.value)
        for point in installed("ctxsim.readers")
    }


def load_reader_module(module: Any, where: str) -> Reader:
    """Return a module as a reader. Raises LabelError if `matches` or `read` is missing or takes other arguments."""
    missing = [name for name in ("matches", "read") if not callable(getattr(module, name, None))]
    if missing:
        raise LabelError(f"{where} is no reader: it has no function {' and no '.join(missing)}(...)")
    for name, takes in (("matches", ("sample",)), ("read", ("source", "sample"))):
        try:
            signature(getattr(module, name)).bind(*takes)
        except TypeError as error:
            said = f"its {name} must take ({', '.join(takes)}); docs/formats.md shows a reader"
            raise LabelError(f"{where} is no reader: {said}") from error
    usual = {"NAME": where, "TITLE": where, "VERSIONS": "", "READS": "", "NOT_READ": ""}
    for name in usual:
        setattr(module, name, getattr(module, name, usual[name]))
    return cast(Reader, module)


def load_reader(name: str) -> Reader:
    """Return the reader of a format's name or of a user's `.py` file. Raises UnknownName or LabelError."""
    if name.endswith(".py"):
        return load_reader_module(load_file("reader", name), name)
    known = registered_formats()
    if name not in known:
        raise unknown("format", name, known)
    return known[name]


@cache
def registered_formats() -> dict[str, Reader]:
    """Return all formats by name: those of other packages, then the built-in ones, the general ones last."""
    return {**_installed(), **{name: _opened(file) for name, file in _files().items()}}


@cache
def _folder_formats() -> tuple[FolderReader, ...]:
    own = (reader for reader in _installed().values() if isinstance(reader, FolderReader))
    return (*own, *(cast(FolderReader, _opened(file)) for file in _files().values() if file.owns))


forgotten_by(_installed.cache_clear, registered_formats.cache_clear, _folder_formats.cache_clear)


def documentation(reader: Reader) -> str:
    """Return where a format is documented: the first address behind `Documentation:` in its docstring, or ''."""
    told = re.search(r"Documentation:\s+([^\s,;]+)", reader.__doc__ or "")
    return told[1].rstrip(".") if told else ""


def owner(folder: Path) -> FolderReader | None:
    """Return the format that reads a folder as one source, or None."""
    return next((reader for reader in _folder_formats() if reader.owns(folder)), None)


def detect(sample: Sample) -> Reader:
    """Return the format of a sample. Raises InputError, which says what the sample holds, if no format matches.

    Other packages' formats are tried first, then those with a mark in the sample, the general ones, and all others: so
    few formats are imported for most recordings. If none matches, those with a mark are asked again without the lines
    of one type, which may be new in an agent's logs: `sample.records` lacks them if one does then. Half must be left.
    """
    if sample.source.reader:
        return load_reader(sample.source.reader)
    if sample.folder and (owning := owner(sample.folder)):
        return owning
    if not sample.start.strip():
        raise NotATranscript(sample.source.name, "is empty")
    files = _files()
    marked = [file for name, file in files.items() if name not in ORDER and not sample.marks.isdisjoint(file.marks)]
    every = map(_opened, dict.fromkeys((*marked, *(files[name] for name in ORDER), *files.values())))
    if found := _taking(chain(_installed().values(), every), sample):
        return found
    kinds = [str(under(record, "type")) for record in sample.records]
    for kind in dict.fromkeys(kinds):
        less = copy(sample)
        less.records = [record for record, one in zip(sample.records, kinds, strict=True) if one != kind]
        if 2 * len(less.records) >= len(kinds) and (found := _taking(map(_opened, marked), less)):
            sample.records = less.records
            return found
    seen = f"is no transcript format that ctxsim knows: {_seen(sample)}; see: ctxsim list formats"
    raise NotATranscript(sample.source.name, seen)


def _taking(readers: Iterable[Reader], sample: Sample) -> Reader | None:
    """Return the first reader that a sample matches, or None."""
    for reader in readers:
        try:
            if held_to_time(reader, partial(reader.matches, sample)):
                return reader
        except CtxsimError:
            raise
        except (Exception, SystemExit, TooLong) as error:
            raise stumbled(sample.source, reader, error) from error
    return None


def of_user(reader: Reader) -> bool:
    """Return whether a reader is not one of ctxsim's own."""
    return not getattr(reader, "__name__", "ctxsim.").startswith("ctxsim.")


def held_to_time(reader: Reader, ask: Callable[[], T]) -> T:
    """Return `ask()`, one call into a reader. Raises TooLong if it takes too long in a user's one."""
    if not of_user(reader):
        return ask()
    with limited():
        return ask()


def transcripts_of(reader: Reader, source: Source, sample: Sample) -> Iterator[Transcript]:
    """Yield the transcripts of a source. Raises ReaderFailed if the reader, a user's one, gives anything else, or a
    transcript in which something has another type than its field.
    """
    found: Iterable[Any] = reader.read(source, sample)
    if not isinstance(found, Iterable):
        raise ReaderFailed(source.name, f"the reader {reader.NAME} gives {found!r} instead of transcripts")
    for one in found:
        if not isinstance(one, Transcript):
            raise ReaderFailed(source.name, f"the reader {reader.NAME} gives {one!r:.40} instead of a Transcript")
        if of_user(reader):
            try:
                one = msgspec.convert(msgspec.to_builtins(one), Transcript)
            # A TypeError: of no type that JSON knows.
            except (msgspec.ValidationError, TypeError) as error:
                raise ReaderFailed(source.name, f"the reader {reader.NAME} gives a wrong value: {error}") from None
        yield one


def stumbled(source: Source, reader: Reader | None, error: BaseException) -> ReaderFailed:
    """Return an error in a reader, or before one was found (None), as an error that says whose defect it is."""
    whose = f"the reader {reader.NAME}" if reader is not None and of_user(reader) else "ctxsim's reader"
    return ReaderFailed(source.name, f"can't be read, by a mistake of {whose}: {told(error)}")


def _seen(sample: Sample) -> str:
    if sample.members:
        return "a zip archive"
    if sample.database:
        return "an SQLite database with tables " + (", ".join(sorted(sample.tables)[:12]) or "(none)")
    if sample.columns:
        return f"a table with columns {', '.join(sample.columns[:12])}"
    if not sample.records:
        commented = sample.start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"["))
        return "JSON with comments or trailing commas" if commented else "not JSON"
    if isinstance(sample.first, dict):
        torn = "a torn first line, then " if sample.torn else ""
        return f"{torn}JSON object with keys " + (", ".join(list(sample.first)[:12]) or "(none)")
    return f"JSON {type(sample.first).__name__}"
