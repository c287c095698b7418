"""What each format's file has, and which formats there are: found by looking into `formats/`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Protocol, runtime_checkable

from ctxsim.errors import InputError, NotATranscript
from ctxsim.readers import formats
from ctxsim.readers.source import Sample, Source
from ctxsim.transcript import Transcript

ORDER = ("trajectories", "anthropic-messages", "openai-chat")
"""General formats are asked last, in this order: their messages stand inside most others."""


@runtime_checkable
class Reader(Protocol):
    """What each format's file has: a module with these is a format."""

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


@runtime_checkable
class FolderReader(Reader, Protocol):
    """A format whose conversation is spread over a folder: such a folder is one source, `sample.folder` is its path,
    and the walk does not go into it.
    """

    def owns(self, folder: Path) -> bool:
        """Whether a folder as a whole is one source of this format."""
        ...


@cache
def registered_formats() -> dict[str, Reader]:
    """Return all formats by name, in the order in which they are asked."""
    found = {module.NAME: module for module in modules() if isinstance(module, Reader)}
    special = sorted(name for name in found if name not in ORDER)
    return {name: found[name] for name in (*special, *ORDER)}


def modules() -> Iterator[ModuleType]:
    """Return the modules of `formats/` and of its packages; those that are no format are parts of one."""
    for info in pkgutil.walk_packages(formats.__path__, f"{formats.__name__}."):
        yield importlib.import_module(info.name)


@cache
def _folder_formats() -> tuple[FolderReader, ...]:
    return tuple(reader for reader in registered_formats().values() if isinstance(reader, FolderReader))


def owner(folder: Path) -> FolderReader | None:
    """Return the format that reads a folder as one source, if there is one."""
    return next((reader for reader in _folder_formats() if reader.owns(folder)), None)


def detect(sample: Sample) -> Reader:
    """Return the format of a sample. Raises InputError, saying what was seen, if there is none."""
    if sample.folder and (found := owner(sample.folder)):
        return found
    if not sample.start.strip():
        raise InputError(sample.source.name, "is empty")
    for reader in registered_formats().values():
        if reader.matches(sample):
            return reader
    raise NotATranscript(sample.source.name, f"is no transcript format that ctxsim knows: {_seen(sample)}")


def _seen(sample: Sample) -> str:
    if sample.members:
        return "a zip archive"
    if sample.database:
        return "an SQLite database with tables " + (", ".join(sorted(sample.tables)[:12]) or "(none)")
    if not sample.records:
        return f"a table with columns {', '.join(sample.columns[:12])}" if sample.columns else "not JSON"
    first = sample.records[0]
    if isinstance(first, dict):
        return "JSON object with keys " + (", ".join(list(first)[:12]) or "(none)")
    return f"JSON {type(first).__name__}"
