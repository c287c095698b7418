"""Readers: one file per recorded format, found by looking at the content, never at the file's name."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from glob import glob
from pathlib import Path
from typing import Any, Protocol, cast

from ctxsim.errors import InputError, NotATranscript
from ctxsim.readers.source import Sample, Source, archive_members, standard_input
from ctxsim.transcript import Transcript

__all__ = ["Reader", "detect", "formats", "read", "read_source", "sources"]

ORDER = ("anthropic-messages", "openai-chat")
"""General formats are asked last, in this order: their messages stand inside most others."""


class Reader(Protocol):
    """What each format's file has."""

    NAME: str
    TITLE: str
    DOCS: str
    VERSIONS: str
    READS: str
    NOT_READ: str

    def matches(self, sample: Sample) -> bool:
        """Whether the content is of this format."""
        ...

    def read(self, source: Source, sample: Sample) -> Iterator[Transcript]:
        """Return the transcripts of a source."""
        ...

    # A format whose conversation is spread over a folder also has `owns(folder: Path) -> bool`: such a folder is one
    # source, `sample.folder` is its path, and the walk does not go into it.


@cache
def formats() -> dict[str, Reader]:
    """Return all formats by name, in the order in which they are asked."""
    found: dict[str, Reader] = {}
    for info in pkgutil.iter_modules(__path__):
        module: Any = importlib.import_module(f"{__name__}.{info.name}")
        if hasattr(module, "NAME"):
            found[module.NAME] = cast(Reader, module)
    special = sorted(name for name in found if name not in ORDER)
    return {name: found[name] for name in (*special, *ORDER)}


def detect(sample: Sample) -> Reader:
    """Return the format of a sample. Raises InputError, saying what was seen, if there is none."""
    if sample.folder:
        return next(reader for reader in _folder_readers() if cast(Any, reader).owns(sample.folder))
    if not sample.start.strip():
        raise InputError(sample.source.name, "is empty")
    for reader in formats().values():
        if reader.matches(sample):
            return reader
    raise NotATranscript(sample.source.name, f"is no transcript format that ctxsim knows: {_seen(sample)}")


def _seen(sample: Sample) -> str:
    if sample.members:
        return "a zip archive"
    if not sample.records:
        return "not JSON"
    first = sample.records[0]
    if isinstance(first, dict):
        return "JSON object with keys " + (", ".join(list(first)[:12]) or "(none)")
    return f"JSON {type(first).__name__}"


def read_source(source: Source) -> Iterator[Transcript]:
    """Return the transcripts of one source. Raises InputError if it can't be read."""
    sample = Sample(source)
    yield from detect(sample).read(source, sample)


SUFFIXES = (".json", ".jsonl", ".gz", ".zst", ".eval", ".traj", ".zip")


def _folder_readers() -> list[Reader]:
    return [reader for reader in formats().values() if hasattr(reader, "owns")]


def _walk(folder: Path) -> Iterator[Path]:
    """Return files, and folders that are one source as a whole, in sorted order."""
    if any(cast(Any, reader).owns(folder) for reader in _folder_readers()):
        yield folder
        return
    for entry in sorted(folder.iterdir()):
        if entry.is_dir() and not entry.is_symlink():
            yield from _walk(entry)
        elif entry.is_file() and entry.suffix in SUFFIXES:
            yield entry


def sources(*paths: str) -> Iterator[Source]:
    """Return what paths on the command line mean: `-`, a file, an archive, or a folder, walked in sorted order.

    `@file` is a list of such paths, a line each; what has * or ? or [ in it and isn't there is a pattern. What several
    of them mean comes once. Raises InputError if one means nothing.
    """
    seen = set()
    for path in paths:
        for source in _sources(path):
            key = (source.path.resolve() if source.path else source.name, source.member)
            if key not in seen:
                seen.add(key)
                yield source


def _sources(path: str) -> Iterator[Source]:
    if path == "-":
        yield standard_input()
        return
    root = Path(path)
    if path.startswith("@") and not root.exists():
        yield from _listed(path[1:])
        return
    if set(path) & set("*?[") and not root.exists():
        # A pattern may begin anywhere, so there is no folder to ask.
        matching = sorted(glob(path, recursive=True))  # noqa: PTH207
        if not matching:
            raise InputError(path, "matches nothing")
        for one in matching:
            yield from _sources(one)
        return
    if not root.exists():
        raise InputError(path, "does not exist")
    if not root.is_dir() and not root.is_file():
        # A pipe can be read only once.
        yield Source(path, data=root.read_bytes(), named=True)
        return
    found = [root] if root.is_file() else _walk(root)
    any_found = False
    for file in found:
        any_found = True
        if file.suffix == ".zip":
            yield from archive_members(file)
        else:
            yield Source(str(file), file, named=file == root)
    if not any_found:
        raise InputError(path, f"has no files with the endings {', '.join(SUFFIXES)}")


def _listed(path: str) -> Iterator[Source]:
    """The sources of a list of paths, one a line; relative ones are relative to where the command runs."""
    try:
        names = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"@{path}", f"is no list of paths: {error}") from None
    for name in filter(None, map(str.strip, names)):
        yield from _sources(name)


def read(path: str) -> Iterator[Transcript]:
    """Return the transcripts of a file, a folder or standard input, in order. Raises InputError."""
    for source in sources(path):
        yield from read_source(source)
