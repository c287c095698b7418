"""What a task of a bench hands on: the rows of each of its transcripts, then what its source was.

Where there are fewer sources than processes, each process does a share of the policies, and the rows are put together
again, in order.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import msgspec

from ctxsim.results.frames import joined
from ctxsim.results.run_info import InputInfo, Recorder, Tables
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


One = TypeVar("One")

LEAST_POLICIES = 4
"""Of a share: what all policies have in common is done again for each."""

OF_ALL = ("needs", "items", "frontier")
"""Tables that don't depend on policies."""


class Share(NamedTuple):
    """Part `number`, from 0, of so many."""

    number: int
    of: int

    def among(self, all_of_them: Sequence[One]) -> Sequence[One]:
        """Return this share of some things: neighbours, as many as the other shares have, or one less."""
        count = len(all_of_them)
        return all_of_them[count * self.number // self.of : count * (self.number + 1) // self.of]


def shares(jobs: int, sources: int, policies: int) -> list[Share]:
    """Return the shares of each source: one where there are as many sources as processes."""
    wanted = -(-jobs // max(1, sources))
    count = max(1, min(wanted, policies // LEAST_POLICIES))
    return [Share(number, count) for number in range(count)]


def together(parts: Sequence[Iterator[Rows | Done]]) -> Iterator[Rows | Done]:
    """Yield what one process would have given, from all shares of one source.

    A share whose process was killed has no rows: then none are taken, and its error stands.
    """
    if len(parts) == 1:
        yield from parts[0]
        return
    for ones in zip(*parts, strict=False):
        done = [one for one in ones if isinstance(one, Done)]
        if done:
            worst = next((one for one in done if one.info.error), done[0])
            failed = tuple(sorted(set(chain.from_iterable(one.info.failures for one in done)))) or msgspec.UNSET
            yield msgspec.structs.replace(worst, info=msgspec.structs.replace(worst.info, failed=failed))
            return
        yield rows_together([one for one in ones if isinstance(one, Rows)])


def rows_together(ones: Sequence[Rows]) -> Rows:
    """Return the rows of one transcript under some policies and under others as those under all of them."""
    summaries = list(chain.from_iterable(one.summaries for one in ones))
    told = next((one.recorder for one in ones if one.recorder and one.recorder.fires_at), ones[0].recorder)
    tables = tables_together([one.tables for one in ones])
    return msgspec.structs.replace(ones[0], tables=tables, summaries=summaries, recorder=told)


def tables_together(ones: Sequence[Tables]) -> Tables:
    """Return the tables of one transcript under some policies and under others as those under all of them."""
    tables = {
        name: getattr(ones[0], name) if name in OF_ALL else joined([getattr(one, name) for one in ones])
        for name in Tables.__struct_fields__
    }
    return Tables(**tables)
