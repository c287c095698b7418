"""`ctxsim bench`: the main job."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, get_args

import click
import msgspec

from ctxsim.bench import DEFAULT_POLICIES, bench
from ctxsim.cli.terminal import safe
from ctxsim.errors import CtxsimError
from ctxsim.provider import Provider
from ctxsim.provider.cache import Breakpoints
from ctxsim.provider.models import read_overrides
from ctxsim.provider.rules import SummaryMode
from ctxsim.readers import SUFFIXES
from ctxsim.report.plots import plot_run
from ctxsim.report.tables import SORTS, formatted, print_run
from ctxsim.results import InputInfo, Run, RunInfo, read_run
from ctxsim.synthesis import Scenario, load_scenario
from ctxsim.task import Setting

CACHES = ("none", "anthropic", "openai", "openai-paid-writes", "google", "deepseek")
DEFAULT_SCENARIOS = ("documented-53k", "fifty-turns")


RUN_OPTIONS = (
    click.option("--scenario", "scenarios", multiple=True, metavar="NAME", help="Run this scenario; may be repeated."),
    click.option("--estimator", metavar="LABEL", help="What policies decide by, where their label doesn't say."),
    click.option("--tokenizer", metavar="NAME", help="What the provider counts by. See: ctxsim tokenizers"),
    click.option("--model", metavar="ID", help="Window, prices, cache, tokenizer of a model. See: ctxsim models"),
    click.option("--models", "models_file", type=click.Path(path_type=Path), metavar="FILE", help="Your own models."),
    click.option("--summaries", type=click.Choice(get_args(SummaryMode)), help="What summary calls answer."),
    click.option("--cache", type=click.Choice(CACHES), help="Whose prompt cache rules hold; none: the bill without."),
    click.option("--breakpoints", type=click.Choice(get_args(Breakpoints)), help="Where the agent marks its cache."),
    click.option("--window", type=click.IntRange(min=1), metavar="N", help="The provider's window in tokens."),
    click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Result folder, not results/NAME."),
    click.option("--no-text", is_flag=True, help="Keep every word of the transcripts out of the results."),
    click.option("--resume", is_flag=True, help="Go on with a run that was stopped or killed."),
    click.option("--cluster", metavar="ADDRESS", help="A dask.distributed scheduler that shares this file system."),
    click.option("--jobs", type=click.IntRange(min=1), default=1, metavar="N", help="Processes. Rows are the same."),
)


class Where(NamedTuple):
    """On how many processes or which cluster a run happens, and whether it goes on with an earlier one."""

    jobs: int
    cluster: str | None
    resume: bool


def run_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say what is replayed, against which provider, and where results go."""
    for option in reversed(RUN_OPTIONS):
        command = option(command)
    return command


@click.command("bench")
@click.argument("paths", nargs=-1)
@click.option("--policy", "policies", multiple=True, metavar="LABEL", help="Run these policies instead of the default.")
@click.option("--sort", type=click.Choice(list(SORTS)), default="run", help="Best first by this; run: as given.")
@click.option("--format", "form", type=click.Choice(("table", "csv", "json", "markdown")), default="table")
@run_options
def command(
    paths: tuple[str, ...],
    policies: tuple[str, ...],
    sort: str,
    form: str,
    out: Path | None,
    jobs: int,
    cluster: str | None,
    resume: bool,
    **options: Any,
) -> None:
    """Replay transcripts (PATHS: files, folders, - for standard input) or scenarios through policies.

    Without arguments both scenarios run. Prints one table per run and writes run.json, calls, events, summary and
    pictures to results/<name>.
    """
    runs = settings_of(paths, policies, **options)
    bad = 0
    for setting, chosen in runs:
        folder = out if out and len(runs) == 1 else (out or Path("results")) / setting.name
        info = run_one(setting, chosen, paths, folder, Where(jobs, cluster, resume), sort, form)
        bad += say_what_was_left_out(info)
        if not info.complete:
            sys.exit(130)
    if bad:
        sys.exit(1)


def settings_of(
    paths: Sequence[str],
    policies: Sequence[str],
    scenarios: Sequence[str],
    estimator: str | None,
    models_file: Path | None,
    no_text: bool,
    **overrides: object,
) -> list[tuple[Setting, Scenario | None]]:
    """Return the runs that a command line asks for: each scenario, and the recorded transcripts together."""
    given = {key: value for key, value in overrides.items() if value is not None}
    entries = read_overrides(models_file) if models_file else ()
    runs: list[tuple[Setting, Scenario | None]] = []
    for name in scenarios or (() if paths else DEFAULT_SCENARIOS):
        scenario = load_scenario(name)
        labels = tuple(policies) or scenario.policies
        runs.append((Setting(scenario.name, scenario.title, labels, estimator, given, not no_text, entries), scenario))
    if paths:
        name = _run_name(paths[0], {setting.name for setting, _ in runs})
        title = f"Recorded transcripts in {', '.join(paths)}"
        labels = tuple(policies) or DEFAULT_POLICIES
        runs.append((Setting(name, title, labels, estimator, given, not no_text, entries), None))
    return runs


def _run_name(path: str, taken: set[str]) -> str:
    """The result folder's name: the file's or folder's own, without the endings of formats; never another run's."""
    name = "standard-input" if path == "-" else Path(path).resolve().name
    while (stem := Path(name)).suffix in SUFFIXES:
        name = stem.stem
    name = name or "run"
    return name if name not in taken else f"{name}-recorded"


def run_one(
    setting: Setting,
    scenario: Scenario | None,
    paths: tuple[str, ...],
    folder: Path,
    where: Where,
    sort: str,
    form: str,
) -> RunInfo:
    """Run one bench, print its provider and table (or only the table, for programs), and write its pictures."""
    info, run = replayed(setting, scenario, paths, folder, where, quiet=form != "table")
    if form != "table":
        click.echo(formatted(run, form, sort), nl=False)
        plot_run(run)
        return info
    print_run(run, console().print, sort)
    say_where(run, plot_run(run))
    return info


def replayed(
    setting: Setting,
    scenario: Scenario | None,
    paths: tuple[str, ...],
    folder: Path,
    where: Where,
    quiet: bool = False,
) -> tuple[RunInfo, Run]:
    """Run one bench, print its provider, and return what was run and its results."""
    with _interruptible() as stopped, _progress(setting.name) as step:
        given = () if scenario else paths
        info = bench(setting, folder, scenario, given, where.jobs, step, stopped, where.resume, where.cluster)
    if not info.complete:
        click.echo(f"Stopped: {len(info.inputs)} source(s) done and written; go on with --resume", err=True)
    if not any(one.calls for one in info.inputs):
        raise CtxsimError(
            f"{', '.join(paths)}: no call to replay" + "".join(f"; {i.error}" for i in info.inputs if i.error)
        )
    if not quiet:
        _print_providers(info)
    return info, read_run(folder)


def console() -> Any:
    """Where tables go: as wide as the terminal, or 100 columns where piped."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 100, soft_wrap=False)


def say_where(run: Run, pictures: Sequence[Path]) -> None:
    """Tell where the results are."""
    names = ", ".join(picture.name for picture in pictures)
    click.echo(f"Results: {run.folder}{os.sep} ({names}, calls.csv, summary.csv, ...)\n")


def _print_providers(info: RunInfo) -> None:
    """Say which providers were assumed and where from, one line per model."""
    groups: dict[str, list[Provider]] = {}
    for values in info.providers:
        provider = msgspec.convert(values, Provider)
        groups.setdefault(provider.model, []).append(provider)
    for found in groups.values():
        more = f"  (and {len(found) - 1} more with this model, by price date)" if len(found) > 1 else ""
        click.echo(f"Provider: {found[0].describe()}{more}")


def say_what_was_left_out(info: RunInfo) -> int:
    """Tell what was not read and why; return the number of unreadable sources."""
    notes = [note for source in info.inputs for note in source.notes]
    errors = [source.error for source in info.inputs if source.error]
    if notes:
        click.echo(f"{len(notes)} note(s) on what was left out or mended; the first:", err=True)
        for note in notes[:5]:
            click.echo(f"  {safe(note)}", err=True)
        if len(notes) > 5:
            click.echo("  ... all of them are in run.json under inputs[].notes", err=True)
    for error in errors:
        click.echo(f"ctxsim: {safe(error)}", err=True)
    return len(errors)


@contextmanager
def _progress(name: str) -> Iterator[Callable[[InputInfo, int], Any]]:
    """A bar with rate and time left on a terminal; silence where standard error is piped."""
    if not sys.stderr.isatty():
        yield lambda info, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"), BarColumn(24), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(name, total=None, rate="")
        calls = 0

        def step(info: InputInfo, total: int) -> None:
            nonlocal calls
            calls += info.calls
            elapsed = progress.tasks[task].elapsed or 0.0
            rate = f"{calls / elapsed:,.0f} calls/s" if elapsed else ""
            progress.update(task, advance=1, total=total, rate=rate)

        yield step


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """The first Ctrl-C asks to stop after the source under way, the second one stops at once."""
    asked = False

    def ask(number: int, frame: Any) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        click.echo("Stopping after the source under way; once more stops at once.", err=True)

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)
