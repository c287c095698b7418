"""Readers of recorded formats, one file or package each. A file's content decides its format, never its name."""

from collections.abc import Iterator
from functools import partial

import msgspec

from ctxsim.errors import CtxsimError, NotATranscript, TooLong
from ctxsim.readers.assembly.numbers import plausible
from ctxsim.readers.paths import SUFFIXES, bare, sources
from ctxsim.readers.reader import (
    ORDER,
    FolderReader,
    Reader,
    detect,
    held_to_time,
    of_user,
    registered_formats,
    stumbled,
    transcripts_of,
)
from ctxsim.readers.source import Sample, Source
from ctxsim.transcript import Transcript

__all__ = [
    "ORDER", "SUFFIXES", "FolderReader", "Reader", "bare", "detect", "read", "read_source",
    "registered_formats", "sources",
]  # fmt: skip


def read_source(source: Source) -> Iterator[Transcript]:
    """Yield one source's transcripts; impossible numbers become missing. Raises InputError if it can't be read."""
    yield from source.read_by(_read)


def _read(source: Source) -> Iterator[Transcript]:
    reader, empty = None, True
    try:
        sample = Sample(source)
        reader = detect(sample)
        found = transcripts_of(reader, source, sample)
        while transcript := held_to_time(reader, partial(next, found, None)):
            empty = False
            unnamed = not transcript.format and of_user(reader)
            yield plausible(msgspec.structs.replace(transcript, format=reader.NAME) if unnamed else transcript)
        if empty:
            raise NotATranscript(source.name, "holds no conversation")
    except (CtxsimError, BrokenPipeError):
        raise
    # Files are untrusted input: an error in a reader must not keep the other files from being read.
    except (Exception, SystemExit, TooLong) as error:
        raise stumbled(source, reader, error) from error


def read(path: str) -> Iterator[Transcript]:
    """Yield the transcripts of a file, a folder or standard input, in order. A folder's other files are skipped.

    Raises InputError.
    """
    for source in sources(path):
        try:
            yield from read_source(source)
        except NotATranscript:
            if source.named:
                raise
