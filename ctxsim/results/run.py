"""A run's folder: what is in it, and reading it back, of each table no more than is asked for.

    run.json        what was run: policies, provider, tokenizer and vocabulary hash, inputs and their hashes
    calls           one row per call and policy
    events          one row per edit: the audit trail
    items           one row per recorded item, with the beginning of its text
    needs           one row per reference that a call needed
    losses          one row per need and policy that had lost it
    frontier        the least tokens and dollars at each survival, per transcript
    needles         one row per use of a planted fact and policy, if any were planted
    summary         one row per transcript and policy

Every table is a Parquet file, or, beyond a million rows, a folder of that name with one file per million. Those that
people open in a spreadsheet are CSV too. `run.json` holds no time, host, path of this machine or job count, so that
equal inputs give equal bytes.
"""

from __future__ import annotations

import typing
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, reduce
from operator import and_
from pathlib import Path
from typing import Any

import msgspec

from ctxsim.errors import CtxsimError, InputError, unknown
from ctxsim.results.columns import CallRow, Event, FrontierRow, ItemRow, LossRow, NeedleRow, NeedRow, Shown, SummaryRow

if typing.TYPE_CHECKING:
    import pandas

BOUND = " (bound)"
"""What stands behind the name of a bound."""

OBSERVED = "observed:"
"""What the label of a real agent begins with."""

SCHEMA_VERSION = 4


TABLES: dict[str, tuple[type[msgspec.Struct], bool]] = {
    "calls": (CallRow, True),
    "events": (Event, False),
    "items": (ItemRow, False),
    "needs": (NeedRow, False),
    "losses": (LossRow, False),
    "frontier": (FrontierRow, True),
    "needles": (NeedleRow, True),
    "summary": (SummaryRow, True),
}
"""Each table's row, and whether it is written as CSV too."""


class Tables(msgspec.Struct, frozen=True):
    """What one transcript gives under all policies, by table, but for the summary: Arrow record batches.

    Their types are not named here: whoever only reads a run's description need not wait for Arrow.
    """

    calls: Any
    events: Any
    items: Any
    needs: Any
    losses: Any
    frontier: Any
    needles: Any


class InputInfo(msgspec.Struct, frozen=True):
    """One source of transcripts. `sha256` is of the file's bytes; for a scenario, of its transcript as JSON."""

    name: str
    sha256: str
    transcripts: int
    calls: int
    notes: tuple[str, ...] = ()
    error: str | None = None
    failed: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """What could not be replayed, a line each: a policy on a transcript, or all of one. There are no rows of it."""
    keys: dict[str, int] | msgspec.UnsetType = msgspec.UNSET
    """How many likely keys its transcripts hold, by who issued them; not looked for in a run without text."""

    @property
    def failures(self) -> tuple[str, ...]:
        """The same, also where nothing failed."""
        return self.failed or ()


class RunInfo(msgspec.Struct, frozen=True):
    """What a run was made from."""

    name: str
    title: str
    ctxsim: str
    tokenizers: dict[str, str]
    policies: tuple[str, ...]
    shown: dict[str, str]
    """Long labels in a shorter form that opens the same."""
    bounds: tuple[str, ...]
    limits: dict[str, dict[str, float]]
    """By policy, the tokens that its parameters mean requests to stay under, by name."""
    providers: tuple[dict[str, Any], ...]
    inputs: tuple[InputInfo, ...]
    detectors: tuple[str, ...]
    complete: bool = True
    """False if the run was stopped: what was finished by then is in it, and `--resume` goes on."""
    scenario: dict[str, Any] | None = None
    secrets_kept: bool | msgspec.UnsetType = msgspec.UNSET
    """True where likely keys were left in the tables."""
    question: str = ""
    """The digest of what was asked: policies, options, names of sources, version."""
    schema: int = SCHEMA_VERSION
    columns: dict[str, dict[str, str]] = {}


def columns(row: type[msgspec.Struct]) -> dict[str, str]:
    """Return each column of a row type with its kind of number and unit, as `counted, tokens`."""
    described = {}
    for name, annotation in typing.get_type_hints(row, include_extras=True).items():
        meta = annotation.__metadata__[0].extra_json_schema
        described[name] = ", ".join(filter(None, (meta["kind"], meta["unit"])))
    return described


def shown_columns() -> dict[str, str]:
    """Return the columns of calls that tables show in total, with their headings."""
    hints = typing.get_type_hints(CallRow, include_extras=True)
    marks = ((name, mark) for name, hint in hints.items() for mark in hint.__metadata__)
    return {name: mark.heading for name, mark in marks if isinstance(mark, Shown)}


class Run:
    """A finished run, read back: of each table no more than is asked for."""

    def __init__(self, folder: Path, info: RunInfo) -> None:
        self.folder = folder
        self.info = info
        self._last: tuple[str, Any] = ("", None)
        """The policy that was asked for last, with its rows."""

    def shown(self, label: str) -> str:
        """Return a label as tables and pictures show it: without defaults where it is long, bounds marked."""
        return self.info.shown.get(label, label) + (BOUND if label in self.info.bounds else "")

    def table(self, name: str, **values: Sequence[str]) -> pandas.DataFrame:
        """Return a table's rows whose columns have one of the given values: `transcript=["a", "b"]`."""
        import pyarrow.dataset

        wanted = [pyarrow.dataset.field(column).isin(list(among)) for column, among in values.items()]
        # Read ahead it would hold half of the table.
        with self._readable(name):
            scanner = pyarrow.dataset.dataset(self._files(name), format="parquet").scanner(
                filter=reduce(and_, wanted) if wanted else None, batch_readahead=1, fragment_readahead=1,
                use_threads=False,
            )  # fmt: skip
            return scanner.to_table().to_pandas()

    def batches(self, name: str, columns: Sequence[str]) -> Iterator[pandas.DataFrame]:
        """Yield a table piece by piece, in order."""
        import pyarrow.parquet

        for file in self._files(name):
            with self._readable(name), pyarrow.parquet.ParquetFile(file, pre_buffer=False) as parquet:
                for batch in parquet.iter_batches(columns=list(columns)):
                    yield batch.to_pandas()

    @cached_property
    def totals(self) -> pandas.DataFrame:
        """By policy, sums over all calls of the columns that tables show in total; missing where no call has one."""
        names = list(shown_columns())
        sums = [batch.groupby("policy")[names].sum(min_count=1) for batch in self.batches("calls", ["policy", *names])]
        return reduce(lambda a, b: a.add(b, fill_value=0), sums)

    def rows(self, name: str) -> int:
        """Return how many rows a table has."""
        import pyarrow.parquet

        with self._readable(name):
            return sum(pyarrow.parquet.read_metadata(file).num_rows for file in self._files(name))

    def _files(self, name: str) -> list[Path]:
        path = self.folder / f"{name}.parquet"
        return sorted(path.iterdir()) if path.is_dir() else [path]

    @contextmanager
    def _readable(self, name: str) -> Iterator[None]:
        """What a damaged table can raise is told in a line, with its file."""
        import pyarrow

        try:
            yield
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            raise InputError(self.folder / f"{name}.parquet", f"is damaged, run bench again: {error}") from None

    def _same_columns(self, name: str, row: type[msgspec.Struct]) -> None:
        import pyarrow.parquet

        with self._readable(name):
            files = self._files(name)
            if not files:
                raise InputError(self.folder / f"{name}.parquet", "holds no file; run bench again")
            for file in files:
                if tuple(pyarrow.parquet.read_schema(file).names) != row.__struct_fields__:
                    raise InputError(file, "has other columns than this version writes; run bench again")

    def of(self, label: str) -> pandas.DataFrame:
        """Return the summary rows of one policy, in the order of the transcripts; empty for one that wasn't run."""
        if self._held is not None:
            return self._held.get(label, self.summary[:0])
        if self._last[0] != label:
            self._last = ("", None)
            self._last = (label, self.table("summary", policy=[label]))
        return self._last[1]

    @cached_property
    def _held(self) -> dict[Any, pandas.DataFrame] | None:
        """The summary by policy, if that isn't too much to hold."""
        return dict(iter(self.summary.groupby("policy", sort=False))) if self.rows("summary") <= HELD_ROWS else None

    @cached_property
    def _summaries(self) -> dict[str, int]:
        """By policy, how many transcripts have a row under it."""
        found: Counter[str] = Counter()
        for batch in self.batches("summary", ["policy"]):
            found.update(batch.policy.value_counts().to_dict())
        return {label: found[label] for label in self.info.policies if found[label]}

    @cached_property
    def labels(self) -> list[str]:
        """The policies that have rows of every transcript: what is pooled over all can be told of these alone."""
        return [label for label, rows in self._summaries.items() if rows == self.transcripts]

    @cached_property
    def partial(self) -> dict[str, int]:
        """By policy, the transcripts that have rows, where it failed on others: no figure is told of it."""
        return {label: rows for label, rows in self._summaries.items() if rows < self.transcripts}

    @cached_property
    def ended_early(self) -> dict[str, int]:
        """By real agent, how many calls it made, where it ended before the conversation did."""
        made = {label: int(self.of(label).calls.sum()) for label in self.labels if label.startswith(OBSERVED)}
        return {label: calls for label, calls in made.items() if calls < self.calls}

    @cached_property
    def calls(self) -> int:
        """How many calls the transcripts have."""
        return int(self.of(self.labels[0]).calls.sum())

    @property
    def caveats(self) -> tuple[str, ...]:
        """What its figures leave out, a line each: what a stopped run hasn't come to, policies that failed, agents that
        ended early.
        """
        stopped = (
            f"Stopped: figures are of the {len(self.info.inputs):,} sources that were done; bench --resume goes on."
        )
        return (
            *(() if self.info.complete else (stopped,)),
            *(
                f"Left out: {self.info.shown.get(label, label)}, which failed on {self.transcripts - rows:,} of "
                f"{self.transcripts:,} transcripts."
                for label, rows in self.partial.items()
            ),
            *(
                f"{label} ended after {calls:,} of {self.calls:,} calls: its figures are of these, it is no candidate."
                for label, calls in self.ended_early.items()
            ),
        )

    def label(self, policy: str) -> str:
        """Return a policy that figures can be told of. Raises UnknownName for one that the run hasn't, and CtxsimError
        for one that failed on some transcripts.
        """
        if policy in self.partial:
            some = f"{self.partial[policy]:,} of {self.transcripts:,}"
            raise CtxsimError(f"{policy} has rows of {some} transcripts: it failed on the others, as run.json says")
        if policy not in self.labels:
            raise unknown("policy", policy, self.labels)
        return policy

    def knows(self, column: str) -> bool:
        """Return whether the summary of any policy knows a column."""
        return any(batch[column].notna().any() for batch in self.batches("summary", [column]))

    @cached_property
    def transcripts(self) -> int:
        """How many transcripts have rows."""
        return max(self._summaries.values(), default=0)

    @cached_property
    def summary(self) -> pandas.DataFrame:
        """The whole summary."""
        return self.table("summary")


HELD_ROWS = 1_000_000
"""Of a summary up to so many rows all policies are held in memory, of a longer one no two."""


def read_run(folder: str | Path) -> Run:
    """Return a finished run. Raises InputError if the folder holds none, an empty one or another version's."""
    folder = Path(folder)
    try:
        info = msgspec.json.decode((folder / "run.json").read_bytes(), type=RunInfo)
    except FileNotFoundError as error:
        raise InputError(folder, f"is no finished run: {Path(error.filename).name} is missing") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(folder / "run.json", f"is damaged, run bench again: {error}") from None
    except OSError as error:
        raise InputError(folder, f"cannot be read: {error.strerror or error}") from None
    if info.schema != SCHEMA_VERSION:
        raise InputError(folder, f"has schema {info.schema}, this version reads {SCHEMA_VERSION}; run bench again")
    for name in TABLES:
        if not (folder / f"{name}.parquet").exists():
            raise InputError(folder, f"is no finished run: {name}.parquet is missing")
    run = Run(folder, info)
    for name, (row, _) in TABLES.items():
        run._same_columns(name, row)
    if not run.labels:
        raise InputError(folder, "holds no replayed call")
    return run
