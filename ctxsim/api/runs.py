"""`bench`, `sweep`, `compare` and `read_run`: runs of transcripts x policies, made and read."""

from __future__ import annotations

import shlex
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack

import msgspec

from ctxsim import results
from ctxsim.answers.advice.comparison import COLUMNS, Change, compared, pairs_of, same_transcripts, unpaired
from ctxsim.answers.advice.pooled import figures_of
from ctxsim.answers.advice.settings import label_in
from ctxsim.api import AnyPath, Count, Positive, Share, checks_arguments
from ctxsim.api.inputs import AnyEstimator, AnyPolicy, What, estimator_of, given_of, inputs_of, open_policy
from ctxsim.api.rules import parse_rules
from ctxsim.counting.estimators import estimator_label
from ctxsim.errors import CtxsimError, many
from ctxsim.readers import SUFFIXES, bare, sources
from ctxsim.readers.glance import formats_of
from ctxsim.results import InputInfo
from ctxsim.results.columns import EstimateRow
from ctxsim.results.files import write_file
from ctxsim.results.frames import Frame, frame_of
from ctxsim.results.run_info import RECORDED
from ctxsim.runs.conduct import Watch, conduct
from ctxsim.runs.grid import expand
from ctxsim.runs.presets import DEFAULT_POLICIES, as_given, expanded, is_preset, of_agents
from ctxsim.runs.task import Setting, Wanted
from ctxsim.simulator.measure.measured import HeadMode
from ctxsim.simulator.provider.resolve import said
from ctxsim.simulator.provider.rules import ProviderFields

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Text = Literal["redacted", "kept", "none"]
"""How much of the transcripts' text the results hold: all but likely keys, all, or none."""

SWEPT = ("keep-all", "drop-all", "oracle-lossless")
"""The bounds that every sweep includes."""


class ReplayFields(ProviderFields, total=False):
    """Arguments that `bench`, `sweep`, `advise` and `construct` share. `bench` explains them."""

    jobs: Positive | None
    models: AnyPath | None
    head: HeadMode
    sample: Positive | None
    seed: Count
    watch: Watch


class BenchFields(ReplayFields, total=False):
    """Arguments that `sweep` shares with `bench`."""

    out: AnyPath | None
    estimator: AnyEstimator | None
    cluster: str | None
    text: Text
    resume: bool
    overwrite: bool
    across: bool
    refetch: Share | None
    draws: Positive | None


class Run(results.Run):
    """A finished run: `frame()` returns its summary, `table(name)` a table, `plot()` a picture of how requests grow."""

    def table(self, name: str, *columns: str, **values: str | Sequence[str]) -> Frame:
        """Return `columns` (default: all) of rows with one of `values`, as `policy=["a", "b"]`. Raises UnknownName.

        Any label that opens the same policy names its rows.
        """
        if (given := values.get("policy")) is not None:
            labels = [given] if isinstance(given, str) else given
            values["policy"] = [one if one in self.partial else label_in(self, one) for one in labels]
        return super().table(name, *columns, **values)

    def plot(self) -> Figure:
        """Return a picture of input tokens per call for the transcript with the most tokens, one line per policy."""
        from ctxsim.report.picture import picture
        from ctxsim.report.plots import growth_of

        return growth_of(picture(self))

    def __repr__(self) -> str:
        policies = many(len(self.labels), "policy(s)")
        return f"<run {self.info.name}: {many(self.transcripts, 'transcript(s)')}, {policies}>"

    def _repr_html_(self) -> str:
        """The table that `ctxsim bench` prints."""
        from ctxsim.report.tables import policy_rows

        return str(frame_of(policy_rows(self)).fillna("-").to_html(index=False))


@checks_arguments
def read_run(folder: AnyPath) -> Run:
    """Return a finished run. Raises InputError if the folder holds no run or an empty one."""
    return Run.read(Path(folder))


@checks_arguments
def bench(
    what: What | Sequence[AnyPath],
    policies: str | Sequence[AnyPolicy] | None = None,
    *,
    out: AnyPath | None = None,
    estimator: AnyEstimator | None = None,
    jobs: Positive | None = 1,
    cluster: str | None = None,
    text: Text = "redacted",
    resume: bool = False,
    overwrite: bool = False,
    models: AnyPath | None = None,
    head: HeadMode = "fitted",
    across: bool = False,
    sample: Positive | None = None,
    seed: Count = 0,
    settings: AnyPath | None = None,
    project: AnyPath | None = None,
    brackets: bool = True,
    refetch: Share | None = None,
    draws: Positive | None = None,
    watch: Watch = Watch(),  # noqa: B008 - frozen
    **provider: Unpack[ProviderFields],
) -> Run:
    """Replay transcripts or a scenario through policies, and return the run.

    - `what`: paths to recordings, or a scenario.
    - `policies`: labels, classes or objects. The name of a family (`agents`, `frameworks`, `seeds`, `papers`) stands
      for all its policies. Default: the scenario's policies, or the usual ones.
    - `out`: the run's folder. Default: a temporary folder, deleted when the returned run is no longer used.
    - `overwrite`: write into a folder that holds another run. `resume`: continue an unfinished run.
    - `jobs`: number of processes; None: as many as are worth it. `cluster`: address of a dask scheduler. Both give the
      same bytes as one process.
    - `models`: a TOML file of your own models and prices.
    - `head`: tokens of system prompt and tools, if the log lacks them. `across`: replay recordings as if their agent
      had never compacted.
    - `sample`: replay only this number of transcripts of a large folder. They are drawn at random (`seed`); the more a
      transcript costs under keep-all, the likelier it is drawn. Figures are then estimates for the folder, with
      sampling errors in `estimates.csv`.
    - `settings`: an agent's settings file. `project`: a project's folder; its settings files and the user's own are
      read. The row `as-set` uses these settings.
    - `brackets`: also replay with worse and better summaries, and find the least input and cost that keep as much.
      Runs without `brackets` are faster.
    - `refetch`: assume that the agent fetches this share of lost results again, from 0 to 1. Default: the costs at
      share 0, and what share 1 adds.
    - `draws`: number of random replays at the share `refetch`; the table `draws` holds them.

    `run.info.inputs` lists the sources that can't be read, and the policies that failed on a source, with their errors.
    Raises CtxsimError, for example if there is no call to replay.
    """
    if draws is not None and not 0 < (refetch or 0) < 1:
        raise CtxsimError(f"{draws} draws: there must be a --refetch rate above 0 and below 1")
    inputs = inputs_of(what, models=models, head=head, across=across, **provider)
    if inputs.transcript is not None:
        raise CtxsimError("bench replays files or a scenario; replay takes a transcript in hand")
    made = inputs.scenario
    decides = estimator_of(estimator)
    by = estimator if isinstance(estimator, str) else estimator_label(decides) if decides else None
    asked = [policies] if isinstance(policies, str) else policies or ()
    labels = [policy if isinstance(policy, str) else open_policy(policy, decides).label for policy in asked]
    given = given_of(settings, project)
    usual = [] if policies or made else [*DEFAULT_POLICIES, *of_agents(formats_of(sources(*inputs.paths)), given)]
    labels = [as_given(label, given) for label in labels] or list(made.policies if made else usual)
    what_happened = across and not made and (not policies or any(map(is_preset, labels)))
    setting = Setting(
        name=made.name if made else run_name(inputs.paths[0]),
        title=made.title if made else f"{RECORDED} in {', '.join(inputs.paths)}",
        policies=expanded([*["recorded"] * what_happened, *labels]),
        estimator=by,
        overrides=said(inputs.overrides),
        text=text != "none",
        models=inputs.models,
        head=head,
        across=across,
        sample=Wanted(sample, seed) if sample is not None else msgspec.UNSET,
        brackets=msgspec.UNSET if brackets else False,
        refetch=msgspec.UNSET if refetch is None else float(refetch),
        draws=msgspec.UNSET if draws is None else draws,
        keep_secrets=True if text == "kept" else msgspec.UNSET,
    )
    new = out is None or not Path(out).exists()
    folder = Path(out) if out is not None else Path(tempfile.mkdtemp(prefix="ctxsim-"))
    try:
        info = conduct(
            setting, folder, made, inputs.paths, jobs, watch=watch, resume=resume, cluster=cluster, replace=overwrite
        )
        if not any(one.calls for one in info.inputs):
            if new:
                shutil.rmtree(folder, ignore_errors=True)
            none = f"{', '.join(inputs.paths) or setting.name}: no call to replay"
            # Without texts, reasons aren't kept.
            why = f"{none}; to see why: ctxsim transcripts check {shlex.join(inputs.paths)}" if text == "none" else ""
            raise CtxsimError(why or _reasons(info.inputs) or none)
        found = read_run(folder)
        if info.sample:
            write_estimates(found)
    except BaseException:
        if out is None:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    if out is None:
        weakref.finalize(found, shutil.rmtree, folder, ignore_errors=True)
    return found


ESTIMATES = "estimates.csv"


def write_estimates(run: Run) -> None:
    """Write a sampled run's estimates for its folder: an `EstimateRow` for each policy and measure."""
    found = figures_of(run)
    lines = [",".join(EstimateRow.__struct_fields__)]
    for label, figures in found.all.items():
        for measure, whole in (("usd", "usd_all"), ("tokens", "tokens_all")):
            share = figures.share(measure)
            if share is not None:
                values = (found.total(label, whole), found.total(label, measure), share.value, share.low, share.high)
                cells = ("" if value is None else f"{value:.10g}" for value in values)
                quoted = label.replace('"', '""')
                lines.append(f'"{quoted}",{measure},{",".join(cells)}')
    write_file(run.folder / ESTIMATES, "\n".join(lines) + "\n")


def run_name(path: str) -> str:
    """Return the name of a run of recordings: the file's or folder's own name, without the suffixes of formats."""
    path = bare(path)
    name = "standard-input" if path == "-" else Path(path).resolve().name
    while (stem := Path(name)).suffix in SUFFIXES:
        name = stem.stem
    return name or "run"


def _reasons(inputs: Sequence[InputInfo]) -> str:
    """Why nothing was replayed: the first source's error, or else its last note, and how many more sources have one."""
    why = [one.error for one in inputs if one.error] or [one.notes[-1] for one in inputs if one.notes]
    more = f"; and {len(why) - 1:,} more that can't be replayed" if len(why) > 1 else ""
    return f"{why[0]}{more}" if why else ""


@checks_arguments
def sweep(what: What | Sequence[AnyPath], grids: str | Sequence[str], **options: Unpack[BenchFields]) -> Run:
    """Replay transcripts or a scenario through every setting of some grids, and return the run.

    A grid is a label with several values: `low..high@n` stands for n values, and `a|b|c` for these three. The bounds
    always run too. The other arguments and errors are those of `bench`. Raises LabelError for an invalid grid.
    """
    return bench(what, [*SWEPT, *settings_of(grids)], **options)


def settings_of(grids: str | Sequence[str]) -> list[str]:
    """Return the labels of all settings of some grids."""
    return [label for grid in ([grids] if isinstance(grids, str) else grids) for label in expand(grid)]


class Comparison(msgspec.Struct, frozen=True):
    """What changed between two runs, policy by policy.

    `broken` has the changes that break a rule, `other_files` the transcripts of one name whose files differ.
    """

    changes: tuple[Change, ...]
    not_compared: tuple[str, ...]
    broken: tuple[Change, ...]
    other_files: tuple[str, ...] = ()

    def frame(self) -> Frame:
        """Return a row per policy and column: means, difference, its 95 % interval, p-value, verdict."""
        return frame_of(
            {
                "policy": one.policy, "column": one.column, "before": one.before, "after": one.after,
                "difference": one.difference, "low": one.interval[0] if one.interval else None,
                "high": one.interval[1] if one.interval else None, "transcripts": one.transcripts,
                "chance": one.chance,
                "verdict": one.verdict,
            }
            for one in self.changes
        )  # fmt: skip

    def __iter__(self) -> Iterator[Change]:
        return iter(self.changes)


@checks_arguments
def compare(
    before: AnyPath | results.Run,
    after: AnyPath | results.Run | None = None,
    policies: tuple[str, str] | None = None,
    fail_if: Sequence[str] = (),
) -> Comparison:
    """Return what changed between two finished runs, over the transcripts that both have.

    - `policies`: two labels, within one run or one from each. By default, policies with the same label are paired, then
      those whose labels differ only in the estimator. If each run has one policy, these two are compared.
    - `fail_if`: rules such as `cost_usd > +2%`.

    Raises CtxsimError if no policies can be paired, or if a rule can't be judged.
    """
    if after is None and not policies:
        raise CtxsimError("compare needs two runs, or one and two policies: --policy LABEL LABEL")
    rules = parse_rules(fail_if, "column", COLUMNS, "cost_usd > +2%   or   survival < -0.01")
    first = before if isinstance(before, results.Run) else read_run(before)
    second = first if after is None else after if isinstance(after, results.Run) else read_run(after)
    pairs = [(label_in(first, policies[0]), label_in(second, policies[1]))] if policies else pairs_of(first, second)
    changes = compared(first, second, pairs)
    left = [] if policies else unpaired(first, second, pairs)
    only = all(one in first.info.bounds for one, _ in pairs)
    if rules and left and only:
        raise CtxsimError(f"nothing for --fail-if to judge: {'; '.join(left)}; name two with --policy LABEL LABEL")
    lacking = {rule.figure for rule in rules} - {one.column for one in changes}
    # Survival is None where no call used an old result. If it is for all, nothing can be lost, and a rule of it holds.
    parts = [run.of(label) for pair in pairs for run, label in zip((first, second), pair, strict=True)]
    lacking -= {name for name in ("survival", "survival_loose") if all(part[name].isna().all() for part in parts)}
    if lacking:
        raise CtxsimError(
            f"nothing for --fail-if to judge: no transcript has {', '.join(sorted(lacking))} in both runs"
        )
    # Noise breaks no rule. With fewer than six sessions, which have no interval, every difference counts.
    broken = [
        one
        for one in changes
        if (one.verdict == "changed" or (one.verdict == "same" and (only or one.pair[0] not in first.info.bounds)))
        and any(rule.broken_by(one.column, one.difference, one.before) for rule in rules)
    ]
    return Comparison(tuple(changes), tuple(left), tuple(broken), tuple(same_transcripts(first, second)[1]))
