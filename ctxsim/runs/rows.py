"""What a task of a bench hands on: the rows of each of its transcripts, then what its source was."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from ctxsim.errors import CtxsimError, InputError, told
from ctxsim.policies import Spec
from ctxsim.results.columns import NeedRow
from ctxsim.results.frames import tables_of
from ctxsim.results.info import InputInfo, Tables
from ctxsim.simulator.measure import Columns, Measured, frontier_rows, measure, summarize
from ctxsim.simulator.measure.losses import item_rows, loss_rows, need_rows
from ctxsim.simulator.measure.measured import AsSent
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


@contextmanager
def told_in(lines: list[str], name: str, policy: str = "") -> Iterator[None]:
    """Recordings and policies are anybody's: what goes wrong inside is a line, and takes nothing else with it."""
    try:
        yield
    except InputError as error:
        lines.append(str(error))
    except CtxsimError as error:
        lines.append(f"{name}: {error}")
    except Exception as error:  # noqa: BLE001
        lines.append(": ".join(filter(None, (name, policy, told(error)))))


def rows_of(
    one: AsSent, specs: Sequence[Spec], failed: list[str], tell: Callable[[int, int], object] = lambda done, known: None
) -> Rows:
    """Return one transcript's rows under all policies; for each that can't run, add a line to `failed`."""
    basis, transcript, provider = one.basis(), one.transcript, one.provider
    needs = need_rows(transcript, basis.references)
    gathered: defaultdict[str, list[Any]] = defaultdict(list)
    gathered["needs"] += needs
    gathered["items"] += item_rows(transcript, basis.references, basis.counter)
    gathered["frontier"] += frontier_rows(basis)
    by_call: list[Columns] = []
    summaries = []
    unseen = one.size.unseen()
    calls = len(transcript.calls)
    for number, spec in enumerate(specs):
        before = number * calls
        tell(before, len(specs) * calls)
        with told_in(failed, transcript.name, spec.label):
            # A summary replays again: what it does isn't counted.
            with basis.telling(lambda done: tell(before + done, len(specs) * calls)):  # noqa: B023
                measured = measure(basis, spec)
            summary = summarize(basis, measured) | unseen
            by_call.append(measured.calls)
            for table, rows in rows_under(spec.label, measured, needs).items():
                gathered[table] += rows
            summaries.append(summary)
    tables = tables_of(gathered, by_call)
    return Rows(transcript.name, transcript.parent, provider, basis.references.words, tables, summaries)


def rows_under(policy: str, measured: Measured, needs: Sequence[NeedRow]) -> dict[str, Sequence[Any]]:
    """Return one transcript's rows under one policy, its calls apart, by table, given what those needed."""
    lost = loss_rows(policy, measured.losses.lost, needs)
    return {"events": measured.events, "losses": lost, "needles": measured.losses.needles}
