"""Readers: one file per recorded format, found by looking at the content, never at the file's name."""

from collections.abc import Iterator

import msgspec

from ctxsim.errors import CtxsimError, NotATranscript
from ctxsim.readers.assembly.numbers import plausible
from ctxsim.readers.paths import SUFFIXES, bare, sources
from ctxsim.readers.reader import ORDER, FolderReader, Reader, detect, of_user, registered_formats, stumbled
from ctxsim.readers.source import Sample, Source
from ctxsim.transcript import Transcript

__all__ = [
    "ORDER", "SUFFIXES", "FolderReader", "Reader", "bare", "detect", "read", "read_source",
    "registered_formats", "sources",
]  # fmt: skip


def read_source(source: Source) -> Iterator[Transcript]:
    """Return the transcripts of one source, with numbers that can be. Raises InputError if it can't be read."""
    yield from source.read_by(_read)


def _read(source: Source) -> Iterator[Transcript]:
    reader = None
    try:
        sample = Sample(source)
        reader = detect(sample)
        for transcript in reader.read(source, sample):
            unnamed = not transcript.format and of_user(reader)
            yield plausible(msgspec.structs.replace(transcript, format=reader.NAME) if unnamed else transcript)
    except (CtxsimError, BrokenPipeError):
        raise
    # A file is anybody's: whatever a reader stumbles over, the other files are read.
    except Exception as error:
        raise stumbled(source, reader, error) from error


def read(path: str) -> Iterator[Transcript]:
    """Return the transcripts of a file, a folder or standard input, in order; what else a folder holds is left out.

    Raises InputError.
    """
    for source in sources(path):
        try:
            yield from read_source(source)
        except NotATranscript:
            if source.named:
                raise
