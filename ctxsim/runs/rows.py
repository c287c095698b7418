"""What a task of a bench hands on: the rows of each of its transcripts, then what its source was."""

from typing import Any

import msgspec

from ctxsim.results.info import InputInfo, Recorder, Tables
from ctxsim.simulator.provider import Provider


class Rows(msgspec.Struct, frozen=True, tag=True):
    """What one transcript gives under all policies. `summaries` are all columns of its summary rows that don't depend
    on the other transcripts of the run; `words` the references' hashes, to compare transcripts by.
    """

    transcript: str
    parent: str | None
    provider: Provider
    words: bytes
    tables: Tables
    summaries: list[dict[str, Any]]
    recorder: Recorder | None = None
    """Who recorded it, if that is an agent that we know."""
    number: int = 0
    """Which of its source's transcripts with calls it is, from 0."""


class Sizes(msgspec.Struct, frozen=True, tag=True):
    """Of a source's transcripts that have calls, in order: the tokens that keep-all sends, and the dollars that it pays
    where prices are known. `calls` are those of all.
    """

    sizes: tuple[tuple[int, float | None], ...]
    calls: int


class Done(msgspec.Struct, frozen=True, tag=True):
    """A source is finished: what it was, and a hash of the names beside it, by which readers find sessions' parents."""

    info: InputInfo
    beside: str = ""
