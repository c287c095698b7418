"""The Python API: what `import ctxsim` gives. Results are pandas frames, pictures matplotlib figures.

    ctxsim.measure("session.jsonl", "token-budget:budget=60000", window=128_000).plot()

Whatever takes `**provider` takes the fields of `Provider` by name: `model`, `window`, `cache`, `rate_limit`, ... They
go before what the scenario or the recorded model says. docs/python.md has examples.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ctxsim import readers, results
from ctxsim.counting.estimators import Estimator, open_estimator
from ctxsim.errors import ContractError, CtxsimError
from ctxsim.policies import Policy, Spec, open_policy, register
from ctxsim.recorded.as_sent import AsSent, as_sent
from ctxsim.results import frame
from ctxsim.runs import DEFAULT_POLICIES, Setting, conduct
from ctxsim.runs.rows import Rows
from ctxsim.runs.task import rows_of
from ctxsim.simulator.measure import Basis
from ctxsim.simulator.measure import measure as measured
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.resolve import resolve
from ctxsim.synthesis import Scenario, load_scenario, synthesize
from ctxsim.transcript import Transcript
from ctxsim.view import View

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

__all__ = [
    "Measurement", "Policy", "Provider", "Run", "Scenario", "Transcript", "View",
    "bench", "measure", "open_policy", "read", "read_run", "replay", "scenario",
]  # fmt: skip

AnyPolicy = str | Spec | Policy | type[Policy]
"""A label, an opened one, a class defined anywhere, or an object of such a class with its parameters."""

What = str | Path | Transcript | Scenario
"""A path if there is one, else a scenario's name; or a transcript or scenario in hand."""

HEADLINES = (
    "calls", "tokens_peak", "tokens_sum", "tokens_full_sum", "cost_usd", "cost_vs_keep_all", "cache_hit_ratio",
    "survival", "compactions", "calls_until_first_failure", "first_failure",
)  # fmt: skip
"""The columns of a summary that a notebook shows."""


def read(path: str | Path) -> list[Transcript]:
    """Return the transcripts of a file or a folder, in order; `-` is standard input.

    They are all in memory: `ctxsim.readers.read` goes over a large folder one by one. Raises InputError.
    """
    return list(readers.read(str(path)))


def scenario(name: str | Path) -> Scenario:
    """Return a bundled scenario by name, or that of a TOML file. Raises UnknownName or InputError."""
    return load_scenario(str(name))


def replay(
    what: What,
    policy: AnyPolicy = "keep-all",
    *,
    estimator: str | Estimator | None = None,
    number: int = 1,
    **provider: Any,
) -> pandas.DataFrame:
    """Return one row per call of one transcript under one policy: the columns of `calls`.

    `measure` gives the other tables too. `number` chooses a path's transcript, from 1. Raises CtxsimError for what
    can't be read, opened or is no rule of a provider, ContractError for a policy that breaks its contract.
    """
    transcript, rules = _given(what, number, provider)
    basis = Basis(transcript, rules, rules.counter())
    return frame("calls", measured(basis, _spec(policy, estimator)).calls)


def measure(
    what: What,
    policy: AnyPolicy = "keep-all",
    *,
    estimator: str | Estimator | None = None,
    number: int = 1,
    **provider: Any,
) -> Measurement:
    """Return all that is measured of one transcript under one policy; dollars are compared with keep-all's.

    Arguments and errors are those of `replay`.
    """
    transcript, rules = _given(what, number, provider)
    if not transcript.calls:
        raise CtxsimError(f"{transcript.name} has no call to replay")
    spec = _spec(policy, estimator)
    beside = {one.label: one for one in (open_policy("keep-all"), spec)}
    failed: list[str] = []
    rows = rows_of(AsSent(transcript, rules), list(beside.values()), failed)
    if failed:
        raise ContractError(failed[0])
    return Measurement(transcript, spec, rows)


class Measurement:
    """One transcript under one policy: `summary`, and `calls`, `events`, `losses` and `needs` as frames.

    docs/columns.md says what each column is.
    """

    def __init__(self, transcript: Transcript, spec: Spec, rows: Rows) -> None:
        self.transcript = transcript
        self.provider = rows.provider
        self.policy = spec.label
        """The policy's full label."""
        self._limits = spec.limits()
        self._tables = rows.tables
        self._summary = rows.summaries[-1]

    @cached_property
    def calls(self) -> pandas.DataFrame:
        """One row per call."""
        return self._of_policy("calls")

    @cached_property
    def events(self) -> pandas.DataFrame:
        """One row per edit: the audit trail."""
        return self._of_policy("events")

    @cached_property
    def losses(self) -> pandas.DataFrame:
        """One row per need that the policy's view no longer held, `atom` being what was needed."""
        found = self._of_policy("losses")
        return found.assign(atom=self.needs.atom.reindex(found.need).to_numpy())

    @cached_property
    def needs(self) -> pandas.DataFrame:
        """One row per reference that a call needed, under any policy."""
        return self._tables.needs.to_pandas()

    @cached_property
    def summary(self) -> pandas.Series:
        """The transcript's row: totals, dollars, survival, failures; by column name."""
        import pandas

        return pandas.Series({"transcript": self.transcript.name, **self._summary}, name=self.policy)

    def plot(self) -> Figure:
        """Return the picture of input tokens per call, under this policy and under keep-all."""
        from ctxsim.report.plots import growth_figure, limits

        rows = self._tables.calls.to_pandas()
        shown = tuple(dict.fromkeys(rows.policy))
        rules = msgspec.to_builtins(self.provider)
        return growth_figure(
            rows, shown, ("keep-all",), {}, self.transcript.name, limits(rules, {self.policy: self._limits})
        )

    def _of_policy(self, table: str) -> pandas.DataFrame:
        rows = getattr(self._tables, table).to_pandas()
        return rows[rows.policy == self.policy].reset_index(drop=True)

    def __repr__(self) -> str:
        return f"<{self.transcript.name} under {self.policy}>"

    def _repr_html_(self) -> str:
        return str(self.summary[list(HEADLINES)].dropna().to_frame().to_html())


def bench(
    what: What | Sequence[str | Path],
    policies: Sequence[AnyPolicy] | None = None,
    *,
    out: str | Path | None = None,
    jobs: int = 1,
    estimator: str | Estimator | None = None,
    **provider: Any,
) -> Run:
    """Replay transcripts or a scenario through policies, and return the run.

    `what`: a path or a list of paths to recordings, or a scenario. Without `policies` those of the scenario run, or the
    default ones. Without `out` the run's folder is a temporary one that goes when the run does. `jobs` processes give
    the same bytes as one. Sources that can't be read are in `run.info.inputs` with their error. Raises CtxsimError.
    """
    paths, made = _sources(what)
    if jobs > 1 and any(not isinstance(policy, str | Spec) for policy in policies or ()):
        raise CtxsimError("a policy given as a class runs in this process: jobs=1, or its file: 'mine.py:Class'")
    by = _estimator(estimator)
    labels = tuple(_spec(policy, by).label for policy in policies or (made.policies if made else DEFAULT_POLICIES))
    title = made.title if made else f"Recorded transcripts in {', '.join(paths)}"
    folder = Path(out) if out is not None else Path(tempfile.mkdtemp(prefix="ctxsim-"))
    setting = Setting(
        made.name if made else Path(paths[0]).resolve().name.partition(".")[0], title, labels, overrides=provider
    )
    try:
        conduct.bench(setting, folder, made, paths, jobs)
        found = read_run(folder)
    except BaseException:
        if out is None:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    if out is None:
        weakref.finalize(found, shutil.rmtree, folder, ignore_errors=True)
    return found


class Run(results.Run):
    """A finished run: `summary` and `table(name)` are frames, `plot()` is the picture of its growth."""

    def plot(self) -> Figure:
        """Return the picture of input tokens per call, one line per policy; of the transcript with the most tokens."""
        from ctxsim.report.picture import picture
        from ctxsim.report.plots import growth_of

        return growth_of(picture(self))

    def __repr__(self) -> str:
        return f"<run {self.info.name}: {self.transcripts} transcript(s), {len(self.labels)} policies>"

    def _repr_html_(self) -> str:
        """The table that `ctxsim bench` prints."""
        import pandas

        from ctxsim.report.tables import policy_rows

        return str(pandas.DataFrame(policy_rows(self)).fillna("-").to_html(index=False))


def read_run(folder: str | Path) -> Run:
    """Return a finished run. Raises InputError if the folder holds none, an empty one or another version's."""
    found = results.read_run(folder)
    return Run(found.folder, found.info)


def _given(what: What, number: int, fields: Mapping[str, Any]) -> tuple[Transcript, Provider]:
    """The transcript that was asked for, as it was sent, and the provider that holds for it."""
    if isinstance(what, Transcript):
        read, name = iter([what]), what.name
    else:
        paths, made = _sources(what)
        if made is not None:
            return synthesize(made), resolve(dict(fields), (made.name, made.provider))
        read, name = readers.read(paths[0]), paths[0]
    found = (one for transcript in read for one in as_sent(transcript, dict(fields)))
    chosen = next(islice(found, number - 1, None), None)
    if chosen is None:
        raise CtxsimError(f"{name} has fewer than {number} transcripts")
    return chosen.transcript, chosen.provider


def _sources(what: What | Sequence[str | Path]) -> tuple[list[str], Scenario | None]:
    """Paths, or a scenario."""
    if isinstance(what, Transcript):
        raise CtxsimError("bench replays files or a scenario; measure replays a transcript in hand")
    if isinstance(what, Scenario):
        return [], what
    if not isinstance(what, str | Path):
        return [str(path) for path in what], None
    name = str(what)
    if name.endswith(".toml"):
        return [], load_scenario(name)
    if name == "-" or isinstance(what, Path) or "/" in name or Path(name).exists():
        return [name], None
    return [], load_scenario(name)


def _spec(policy: AnyPolicy, estimator: str | Estimator | None) -> Spec:
    """The policy, opened. One given as a class or an object is known by its label from then on."""
    if isinstance(policy, Spec):
        return policy
    if isinstance(policy, type):
        policy = register(policy).name
    elif isinstance(policy, Policy):
        register(type(policy))
        policy = policy.label
    return open_policy(policy, _estimator(estimator))


def _estimator(given: str | Estimator | None) -> Estimator | None:
    return open_estimator(given) if isinstance(given, str) else given
