"""A finished run, read back. Only the requested columns and rows are read; columns that it lacks are missing values."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, reduce
from itertools import product
from operator import and_
from pathlib import Path
from typing import Annotated, Any, Self

import msgspec

from ctxsim.errors import CtxsimError, InputError, UnknownName, nearest, unknown
from ctxsim.plugins.labels import BOUND
from ctxsim.results.checksums import verify
from ctxsim.results.files import description, of_run
from ctxsim.results.frames import Frame, arrow_schema
from ctxsim.results.run_info import OBSERVED, SCHEMA_VERSION, TABLES, WHERE_ASKED, RunInfo, is_as_set, is_nothing

NO_AGENT = "as-set is keep-all here: none of the transcripts is of an agent that we know."


class Run:
    """A finished run, read back. Only the requested columns and rows of its tables are read."""

    def __init__(self, folder: Path, info: RunInfo) -> None:
        self.folder = folder
        self.info = info
        self._last: tuple[str, Any] = ("", None)
        """The label last given to `of`, with its summary rows."""

    @classmethod
    def read(cls, folder: str | Path) -> Self:
        """Return a finished run.

        Raises InputError if the folder holds none, an empty one or another version's, or if a file of it has changed
        since.
        """
        folder = Path(folder)
        try:
            text = description(folder)
            info = msgspec.json.decode(text, type=RunInfo)
            msgspec.convert(info.providers, tuple[_Provider, ...])
        except FileNotFoundError as error:
            raise InputError(folder, NO_RUN.format(Path(error.filename).name)) from None
        except NotADirectoryError:
            raise InputError(folder, "is a file; name the folder that bench or sweep wrote") from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InputError(folder / "run.json", f"is damaged, run bench again: {error}") from None
        except OSError as error:
            raise InputError(folder, f"cannot be read: {error.strerror or error}") from None
        if info.schema != SCHEMA_VERSION:
            raise InputError(folder, f"has schema {info.schema}, this version reads {SCHEMA_VERSION}; run bench again")
        for name in TABLES:
            if name not in WHERE_ASKED and not (folder / f"{name}.parquet").exists():
                raise InputError(folder, NO_RUN.format(f"{name}.parquet"))
        verify(folder, text, info)
        run = cls(folder, info)
        if not run.lacking or not run.labels:
            raise InputError(folder, "holds no replayed call")
        return run

    def shown(self, label: str) -> str:
        """Return a label as tables and pictures show it: a long one without defaults, a bound marked."""
        return self.info.shown.get(label, label) + (BOUND if label in self.info.bounds else "")

    def table(self, name: str, *columns: str, **values: str | Sequence[str]) -> Frame:
        """Return `columns` (default: all) of rows with one of `values`, as `policy=["a", "b"]`. Raises UnknownName."""
        import pyarrow.dataset

        if name not in TABLES:
            raise unknown("table", name, TABLES)
        known = TABLES[name][0].__struct_fields__
        if others := [column for column in (*columns, *values) if column not in known]:
            raise unknown(f"column of {name}", others[0], known)
        columns = columns or known
        if name not in self._written:
            return _decoded(arrow_schema(TABLES[name][0]).empty_table())[list(columns)]
        there = [column for column in columns if column not in self.lacking[name]]
        among = {column: [one] if isinstance(one, str) else list(one) for column, one in values.items()}
        wanted = [
            pyarrow.dataset.field(column).isin(these) if these else pyarrow.dataset.scalar(False)
            for column, these in among.items()
        ]
        # Reading ahead would hold half of the table in memory.
        with self._readable(name):
            scanner = pyarrow.dataset.dataset(self._files(name), format="parquet").scanner(
                columns=there, filter=reduce(and_, wanted) if wanted else None, batch_readahead=1, fragment_readahead=1,
                use_threads=False,
            )  # fmt: skip
            found = _decoded(scanner.to_table())
        return self._completed(found, columns)

    def batches(self, name: str, columns: Sequence[str]) -> Iterator[Frame]:
        """Yield these columns of a table piece by piece, in order."""
        import pyarrow.parquet

        there = [column for column in columns if column not in self.lacking[name]]
        for file in self._files(name):
            with self._readable(name), pyarrow.parquet.ParquetFile(file, pre_buffer=False) as parquet:
                for batch in parquet.iter_batches(columns=there):
                    yield self._completed(_decoded(batch), columns)

    def rows(self, name: str) -> int:
        """Return how many rows a table has."""
        import pyarrow.parquet

        with self._readable(name):
            return sum(pyarrow.parquet.read_metadata(file).num_rows for file in self._files(name))

    @property
    def _written(self) -> list[str]:
        return [name for name in TABLES if name not in WHERE_ASKED or (self.folder / f"{name}.parquet").exists()]

    def _files(self, name: str) -> list[Path]:
        path = self.folder / f"{name}.parquet"
        return [of_run(one, self.folder) for one in (sorted(path.iterdir()) if path.is_dir() else [path])]

    @contextmanager
    def _readable(self, name: str) -> Iterator[None]:
        """Turn any error that a damaged table can raise into an InputError with its path."""
        import pyarrow

        try:
            yield
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            raise InputError(self.folder / f"{name}.parquet", f"is damaged, run bench again: {error}") from None

    @cached_property
    def lacking(self) -> dict[str, list[str]]:
        """By table, the columns that the version which wrote the run didn't have: they are missing in all rows."""
        import pyarrow.parquet

        found: dict[str, list[str]] = {}
        for name in self._written:
            row, wanted = TABLES[name][0], arrow_schema(TABLES[name][0])
            with self._readable(name):
                schemas = list(map(pyarrow.parquet.read_schema, self._files(name)))
            if not schemas:
                raise InputError(self.folder / f"{name}.parquet", "holds no file; run bench again")
            found[name] = []
            if all(schema.equals(wanted) for schema in schemas):
                continue
            there = set.intersection(*(set(schema.names) for schema in schemas))
            shared = {other: len(there.intersection(one.__struct_fields__)) for other, (one, _) in TABLES.items()}
            if not shared[name] or shared[name] < max(shared.values()):
                raise InputError(self.folder / f"{name}.parquet", "has other columns than that table; run bench again")
            for schema, column in product(schemas, there.intersection(wanted.names)):
                at = schema.get_field_index(column)
                # A column that may lack values today had all of them in earlier versions.
                field = wanted.field(column)
                if at < 0 or schema.field(at) not in (field, field.with_nullable(False)):
                    raise InputError(self.folder / f"{name}.parquet", f"has another column {column}; run bench again")
            found[name] = [column for column in row.__struct_fields__ if column not in there]
        return found

    def _completed(self, frame: Frame, columns: Sequence[str]) -> Frame:
        """Return a frame with these columns in this order; a column that it lacks is missing, not zero."""
        self._sound(frame)
        return frame if list(frame.columns) == list(columns) else frame.reindex(columns=list(columns))

    def _sound(self, frame: Frame) -> None:
        """Raise InputError for values of the right type that no run holds: infinity, or two rows of one replay."""
        from numpy import isinf

        # Column by column: a run may have millions of rows.
        floats = [name for name, kind in frame.dtypes.items() if kind.kind == "f"]
        wrong = [name for name in floats if isinf(frame[name].to_numpy()).any()]
        if "provider" in frame and not frame.provider.between(0, len(self.info.providers) - 1).all():
            wrong.append("provider")
        if "used_by" in frame and not frame.used_by.str.fullmatch(_NUMBERS).all():
            wrong.append("used_by")
        if {"transcript", "policy", "survival"} <= {*frame} and frame.duplicated(["transcript", "policy"]).any():
            wrong.append("transcript")
        if wrong:
            raise InputError(self.folder, f"is damaged, run bench again: {wrong[0]} holds what no run has")

    def of(self, label: str) -> Frame:
        """Return the summary rows of one policy, in the order of the transcripts; empty for one that wasn't run."""
        if self._held is not None:
            return self._held.get(label, self.summary[:0])
        if self._last[0] != label:
            self._last = ("", None)
            self._last = (label, Run.table(self, "summary", policy=[label]))
        return self._last[1]

    @property
    def rate(self) -> float:
        """The refetch rate in all amounts."""
        return 0.0 if self.info.refetch is msgspec.UNSET else self.info.refetch

    def spent(self, rows: Frame, amount: str) -> Any:
        """Return `cost_usd` or a sum of tokens of summary rows at that rate; unknown refetching, as of bounds, is 0."""
        again = rows["cost_refetch_usd" if amount == "cost_usd" else "tokens_refetch"]
        return rows[amount] + self.rate * again.fillna(0.0)

    @cached_property
    def _held(self) -> dict[Any, Frame] | None:
        """The summary by policy; None if it has more than HELD_ROWS rows."""
        return dict(iter(self.summary.groupby("policy", sort=False))) if self.rows("summary") <= HELD_ROWS else None

    @cached_property
    def _summaries(self) -> dict[str, int]:
        """By policy, the number of transcripts that have a row."""
        found: Counter[str] = Counter()
        for batch in self.batches("summary", ["policy"]):
            found.update(batch.policy.value_counts().to_dict())
        return {label: found[label] for label in self.info.policies}

    @cached_property
    def labels(self) -> list[str]:
        """The policies that have rows of every transcript. Only these have figures that are pooled over all."""
        return [label for label, rows in self._summaries.items() if rows == self.transcripts > 0]

    @cached_property
    def nothing(self) -> str | None:
        """The label of keep-all, with which other policies are compared; None if it isn't among `labels`."""
        return next(filter(is_nothing, self.labels), None)

    @cached_property
    def partial(self) -> dict[str, int]:
        """By policy that failed on a transcript, the number of transcripts with rows. No figure is shown for it."""
        return {label: rows for label, rows in self._summaries.items() if rows < self.transcripts}

    @cached_property
    def ended_early(self) -> dict[str, int]:
        """By real agent that ended before the conversation did, the number of calls it made."""
        made = {label: int(self.of(label).calls.sum()) for label in self.labels if label.startswith(OBSERVED)}
        return {label: calls for label, calls in made.items() if calls < self.calls}

    @cached_property
    def calls(self) -> int:
        """The number of calls of all transcripts."""
        return int(self.of(self.labels[0]).calls.sum())

    @property
    def caveats(self) -> tuple[str, ...]:
        """What the run's figures leave out, one line each."""
        return tuple(self._caveats())

    def _caveats(self) -> Iterator[str]:
        info, sample = self.info, self.info.sample
        if not info.complete:
            yield f"Stopped: figures are of the {len(info.inputs):,} sources that were done; bench --resume goes on."
        if sample:
            yield (
                f"Sampled: {self.transcripts:,} of {sample.transcripts:,} transcripts, drawn by {sample.by} with seed "
                f"{sample.seed}. Amounts are estimates of this folder, ranges their sampling error: no forecast."
            )
        if not info.files:
            yield UNCHECKED
        if not info.recorders and any(map(is_as_set, self.labels)):
            yield NO_AGENT
        for label, rows in self.partial.items():
            failed = f"{self.transcripts - rows:,} of {self.transcripts:,} transcripts"
            yield f"Left out: {info.shown.get(label, label)}, which failed on {failed}."
        for label, calls in self.ended_early.items():
            made = f"{calls:,} of {self.calls:,} calls"
            yield f"{label} ended after {made}: its figures are of these, it is no candidate."

    def label(self, policy: str) -> str:
        """Return a policy with rows of every transcript. Raises UnknownName, or CtxsimError if it failed on some."""
        # A failure that names the policy, else the first one.
        failures = [line for one in self.info.inputs for line in one.failures]
        failed = f"; failed: {min(failures, key=lambda line: policy not in line)}" if failures else ""
        if policy in self.partial:
            some = f"{self.partial[policy]:,} of {self.transcripts:,}"
            raise CtxsimError(f"policy {policy} has results of {some} transcripts{failed}")
        if policy not in self.labels:
            name, _, rest = policy.partition(":")
            has = nearest(policy, self.labels) or f"it has {', '.join(map(self.shown, self.labels))}"
            raise UnknownName(f"{self.folder}: has no policy '{policy if len(rest) < 60 else name}'; {has}{failed}")
        return policy

    def knows(self, column: str) -> bool:
        """Return whether a column of the summary has a value in any row."""
        return any(batch[column].notna().any() for batch in self.batches("summary", [column]))

    @cached_property
    def transcripts(self) -> int:
        """The number of transcripts that have rows."""
        return max(self._summaries.values(), default=0)

    @cached_property
    def summary(self) -> Frame:
        """The whole summary."""
        return self.table("summary")

    def frame(self) -> Frame:
        """Return the summary: a row for each transcript and policy."""
        return self.summary

    def problems(self) -> list[str]:
        """Return contradictions between the tables, one line each. Raises InputError for a table that can't be read."""
        found = []
        for name in self._written:
            for _ in self.batches(name, ["transcript"]):
                pass
        for label in self.labels:
            calls = self.table("calls", policy=[label])
            if len(calls) != int(self.of(label).calls.sum()):
                found.append(f"{self.info.shown.get(label, label)}: calls and summary differ in their number of calls")
            elif int(calls.tokens_sent.sum()) != int(self.of(label).tokens_sum.sum()):
                found.append(f"{self.info.shown.get(label, label)}: calls and summary differ in their tokens")
        return found


def _decoded(found: Any) -> Frame:
    """Return an arrow table as a frame. pandas decodes texts when they are used: what is no UTF-8 is an error here."""
    found.validate(full=True)
    frame: Frame = found.to_pandas(ignore_metadata=True)
    return frame


_NUMBERS = r"(?:[0-9]{1,18}(?: [0-9]{1,18})*)?"
_Tokens = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class _Limit(msgspec.Struct):
    tokens_per_minute: _Tokens


class _Source(msgspec.Struct):
    source: str = ""


class _Provider(msgspec.Struct):
    """The fields of a provider that are checked. No rules are opened: a run may name files of anyone."""

    window: _Tokens = 0
    cache: str = ""
    vendor: str = ""
    model: str = ""
    reserved_output: _Tokens = 0
    rate_limit: _Limit | None = None
    prices: _Source | None = None


UNCHECKED = "Written without checksums: whether a file of it has changed since can't be told."
"""The caveat of a run by an earlier version."""

HELD_ROWS = 1_000_000
"""A summary of at most so many rows is held in memory for all policies, a longer one for one policy at a time."""


NO_RUN = "is no finished run: {} is missing; name a folder that bench or sweep wrote"


read_run = Run.read
