"""Real recordings, where they are: CTXSIM_CORPUS, or ../shared/transcripts beside the project."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from ctxsim.errors import InputError
from ctxsim.readers import read_source, sources
from ctxsim.readers.source import Source
from ctxsim.transcript import Transcript

BESIDE = Path(__file__).parents[2] / "shared" / "transcripts"
FOLDER = Path(os.environ.get("CTXSIM_CORPUS") or BESIDE)
APART = ("claude-code-by-date", "mini-swe-agent-verified")
"""Folders of hundreds of sessions of one agent."""
here = pytest.mark.skipif(not FOLDER.is_dir(), reason="no recordings here: set CTXSIM_CORPUS to a folder of them")
"""Marks a test that needs them; elsewhere it is skipped, and says so."""


def some_sources(folder: Path = FOLDER, apart: int = 16) -> Iterator[Source]:
    """Every source of a folder, but of those that lie in folders of hundreds each so manieth, or none."""
    for number, source in enumerate(sources(str(folder))):
        if not set(APART) & set(Path(source.name).parts) or (apart and number % apart == 0):
            yield source


def recorded(folder: Path = FOLDER, every: int = 1) -> Iterator[Transcript]:
    """Every recording of a folder that is read to its end, one source after another; or of every so many sources."""
    for source in islice(some_sources(folder, 0), 0, None, every):
        yield from whole(source)[0]


_READ: dict[str, tuple[list[Transcript], str]] = {}
"""By source: many tests of one process look at them, and nobody changes them."""


def whole(source: Source) -> tuple[list[Transcript], str]:
    """The transcripts of a source, or none and why it was refused."""
    if source.name not in _READ:
        try:
            _READ[source.name] = list(read_source(source)), ""
        except InputError as error:
            _READ[source.name] = [], str(error)
    return _READ[source.name]
