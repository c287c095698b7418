"""`read`, `scenario` and `replay`: load recordings and scenarios, and replay one under a policy."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Unpack

import msgspec

from ctxsim.api import AnyPath, Paths, Positive, checks_arguments, paths_of
from ctxsim.api.inputs import AnyEstimator, AnyPolicy, What, inputs_of, open_policy, the_one
from ctxsim.errors import ContractError
from ctxsim.results.frames import frame_of
from ctxsim.runs.rows import Rows
from ctxsim.runs.transcript_rows import rows_of
from ctxsim.simulator.measure.measured import AsSent, HeadMode
from ctxsim.simulator.provider.rules import ProviderFields
from ctxsim.synthesis import Scenario, load_scenario
from ctxsim.transcript import Transcript

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

HEADLINES = (
    "calls", "tokens_peak", "tokens_sum", "tokens_full_sum", "cost_usd", "cost_vs_keep_all", "cache_hit_ratio",
    "survival", "compactions", "calls_until_first_failure", "first_failure",
)  # fmt: skip
"""The columns of a summary that a notebook shows."""


class Transcripts(list[Transcript]):
    """A list of recorded transcripts, in order."""

    def frame(self) -> pandas.DataFrame:
        """Return a row for each transcript: name, format, model, calls, items, calls with usage, parent, notes."""
        return frame_of(
            ({
                "transcript": one.name, "format": one.format, "model": one.model, "calls": len(one.calls),
                "items": len(one.items), "calls_with_usage": sum(call.usage is not None for call in one.calls),
                "parent": one.parent, "notes": "; ".join(one.notes),
            }
            for one in self),
            ("transcript", "format", "model", "calls", "items", "calls_with_usage", "parent", "notes"),
        )  # fmt: skip


@checks_arguments
def read(*paths: Paths) -> Transcripts:
    """Return the transcripts of files and folders, or of lists of them, in order; `-` is standard input.

    The list holds all of them in memory. For a large folder, `ctxsim.readers.read` yields one at a time. Raises
    InputError.
    """
    from ctxsim import readers

    return Transcripts(one for some in paths for path in paths_of(some) for one in readers.read(path))


def scenario(name: AnyPath) -> Scenario:
    """Return a bundled scenario by its name, or the scenario in a TOML file. Raises UnknownName or InputError."""
    return load_scenario(str(name))


class Replay:
    """The replay of one transcript under one policy. `ctxsim list columns` explains each column.

    The cost is also given as a share of the cost under keep-all, which never edits anything.
    """

    def __init__(self, one: AsSent, policy: str, limits: dict[str, float], rows: Rows) -> None:
        self.transcript = one.transcript
        self.provider = rows.provider
        self.policy = policy
        """The policy's full label."""
        self._limits = limits
        self._rows = rows

    def frame(self) -> pandas.DataFrame:
        """Return the calls, one row each."""
        return self.calls

    @cached_property
    def calls(self) -> pandas.DataFrame:
        """One row per call."""
        return self._of_policy("calls")

    @cached_property
    def events(self) -> pandas.DataFrame:
        """One row per edit."""
        return self._of_policy("events")

    @cached_property
    def losses(self) -> pandas.DataFrame:
        """One row per need that the policy's view no longer held. `atom` is what was needed."""
        found = self._of_policy("losses")
        return found.assign(atom=self.needs.atom.reindex(found.need).to_numpy())

    @cached_property
    def needs(self) -> pandas.DataFrame:
        """One row per reference that a call needed, under any policy."""
        return self._table("needs")

    @cached_property
    def summary(self) -> pandas.Series:
        """The transcript's row: totals, dollars, survival, failures; by column name."""
        import pandas

        return pandas.Series({"transcript": self.transcript.name, **self._rows.summaries[-1]}, name=self.policy)

    def plot(self) -> Figure:
        """Return the picture of input tokens per call, under this policy and under keep-all."""
        from ctxsim.report.plots import growth_figure, limits

        rows = self._table("calls")
        shown = tuple(dict.fromkeys(rows.policy))
        rules = msgspec.to_builtins(self.provider)
        name = self.transcript.name
        return growth_figure(rows, shown, ("keep-all",), {}, name, limits(rules, {self.policy: self._limits}))

    def _table(self, name: str) -> pandas.DataFrame:
        found: pandas.DataFrame = self._rows.tables[name].to_pandas()
        return found

    def _of_policy(self, name: str) -> pandas.DataFrame:
        rows = self._table(name)
        return rows[rows.policy == self.policy].reset_index(drop=True)

    def __repr__(self) -> str:
        return f"<{self.transcript.name} under {self.policy}>"

    def _repr_html_(self) -> str:
        return str(self.summary[list(HEADLINES)].dropna().to_frame().to_html())


@checks_arguments
def replay(
    what: What,
    policy: AnyPolicy = "keep-all",
    *,
    estimator: AnyEstimator | None = None,
    number: Positive = 1,
    head: HeadMode = "fitted",
    across: bool = False,
    **provider: Unpack[ProviderFields],
) -> Replay:
    """Replay one transcript under one policy.

    - `what`: a path or else a scenario's name, or a transcript or scenario object.
    - `number`: which transcript of a path to replay, counted from 1.
    - `estimator`: the estimator that the policy decides by.
    - `head`: tokens of system prompt and tools, if the log lacks them. `across`: replay a recording as if its agent had
      never compacted.
    - `provider`: fields of `Provider`, which override the scenario or the recorded model.

    Raises CtxsimError if a file, scenario, policy or estimator can't be opened or read, or if a keyword argument isn't
    a field of `Provider`. Raises ContractError for a policy that breaks its contract.
    """
    inputs = inputs_of(what, head=head, across=across, **provider)
    one = the_one(inputs, number)
    spec = open_policy(policy, estimator)
    beside = {each.label: each for each in (open_policy("keep-all"), spec)}
    failed: list[str] = []
    rows = rows_of(one, list(beside.values()), failed)
    if failed:
        raise ContractError(failed[0])
    return Replay(one, spec.label, spec.limits(), rows)
