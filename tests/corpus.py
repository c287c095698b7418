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
"""Folders of hundreds of sessions, which have tests of their own."""
here = pytest.mark.skipif(not FOLDER.is_dir(), reason="no recordings here: set CTXSIM_CORPUS to a folder of them")
"""Marks a test that needs them; elsewhere it is skipped, and says so."""


def recorded(folder: Path = FOLDER, every: int = 1) -> Iterator[Transcript]:
    """Every recording of a folder that is read to its end, one source after another; or of every so many sources."""
    found = (source for source in sources(str(folder)) if not set(APART) & set(Path(source.name).parts))
    for source in islice(found, 0, None, every):
        yield from _whole(source)


_READ: dict[str, list[Transcript]] = {}
"""By source: many tests of one process look at them, and nobody changes them."""


def _whole(source: Source) -> list[Transcript]:
    if source.name not in _READ:
        try:
            _READ[source.name] = list(read_source(source))
        except InputError:
            _READ[source.name] = []
    return _READ[source.name]
