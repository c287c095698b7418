"""The results of a task of a bench: the rows of each of its transcripts, then a Done for its source.

If there are fewer sources than processes, each process does a share of the policies, and the rows are merged in order.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import msgspec

from ctxsim.results.frames import joined
from ctxsim.results.run_info import InputInfo, Recorder, Tables
from ctxsim.simulator.provider import Provider


class Rows(msgspec.Struct, frozen=True, tag=True):
    """The rows of one transcript under all policies. `summaries` are its summary rows, without the columns that depend
    on the other transcripts of the run; `words` are hashes of its results' words, to compare transcripts by.
    """

    transcript: str
    parent: str | None
    provider: Provider
    words: bytes
    tables: Tables
    summaries: list[dict[str, Any]]
    recorder: Recorder | None = None
    """The agent that recorded the transcript, if ctxsim knows it."""
    number: int = 0
    """The transcript's index among those of its source that have calls, from 0."""


class Done(msgspec.Struct, frozen=True, tag=True):
    """The end of a source's results: its description, and a hash of the names by which readers find parents.

    `sizes`, if the task was to take them: of its transcripts that have calls, in order, the tokens that keep-all sends,
    and its dollars (None if prices aren't known).
    """

    info: InputInfo
    beside: str = ""
    sizes: tuple[tuple[int, float | None], ...] = ()


One = TypeVar("One")

LEAST_POLICIES = 4
"""Fewest policies of a share, since each share repeats the work that all policies have in common."""

OF_ALL = ("needs", "items", "frontier")
"""Tables that don't depend on policies."""


class Share(NamedTuple):
    """Part `number`, from 0, of `of` parts."""

    number: int
    of: int

    def among(self, all_of_them: Sequence[One]) -> Sequence[One]:
        """Return this share of a sequence: neighbouring elements. Sizes of shares differ by at most one."""
        count = len(all_of_them)
        return all_of_them[count * self.number // self.of : count * (self.number + 1) // self.of]


WHOLE = Share(0, 1)
"""All of them."""


def shares(jobs: int, sources: int, policies: int) -> list[Share]:
    """Return the shares of each source: only one if there are as many sources as processes."""
    wanted = -(-jobs // max(1, sources))
    count = max(1, min(wanted, policies // LEAST_POLICIES))
    return [Share(number, count) for number in range(count)]


def together(parts: Sequence[Iterator[Rows | Done]]) -> Iterator[Rows | Done]:
    """Yield the results that a single process would have given, from all shares of one source.

    A share whose process was killed has no rows; then no rows of any share are taken, and its error is kept.
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
    """Return the rows of one transcript under all policies, from its rows under some of them each."""
    summaries = list(chain.from_iterable(one.summaries for one in ones))
    told = next((one.recorder for one in ones if one.recorder and one.recorder.fires_at), ones[0].recorder)
    tables = tables_together([one.tables for one in ones])
    return msgspec.structs.replace(ones[0], tables=tables, summaries=summaries, recorder=told)


def tables_together(ones: Sequence[Tables]) -> Tables:
    """Return the tables of one transcript under all policies, from its tables under some of them each."""
    return {name: one if name in OF_ALL else joined([each[name] for each in ones]) for name, one in ones[0].items()}
