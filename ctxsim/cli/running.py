"""Runs that a command line asks for: where their results go, how far they are, and what is told of each."""

import hashlib
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import click

from ctxsim.api.inputs import names_scenario
from ctxsim.api.runs import Run, run_name
from ctxsim.cli.loudness import note, stage
from ctxsim.cli.options import PROVIDER, fields
from ctxsim.cli.output import (
    tell_fits,
    tell_keys,
    tell_providers,
    tell_recorded,
    tell_recorders,
    tell_results,
    tell_what_was_left_out,
)
from ctxsim.cli.progress import progress
from ctxsim.cli.show import show_run
from ctxsim.errors import Stopped, many
from ctxsim.report.sheet import Sheet
from ctxsim.results.folder import RunFolder
from ctxsim.runs.conduct import Watch
from ctxsim.runs.identity import is_reference

DEFAULT_SCENARIOS = ("documented-53k", "fifty-turns")

Made = Callable[..., Run]
"""A public function that makes a run."""


class Runs:
    """The runs of one command line: of each scenario, and of the recordings together."""

    def __init__(
        self, make: Made, paths: Sequence[str], scenarios: Sequence[str], what: Sequence[str], said: Mapping[str, Any],
        suffix: str = "",
    ) -> None:  # fmt: skip
        """`what` says in words which policies run; `said` are the command's options."""
        self._make, self._said, self._what, self._suffix = make, said, what, suffix
        self.asked: list[str | tuple[str, ...]] = [*scenarios] + [tuple(paths)] * bool(paths)
        self._names = [_short(scenario) for scenario in scenarios]

    def run(
        self, command: str, table: Callable[..., Sheet], goal: str, form: str, columns: tuple[str, ...] | None
    ) -> None:
        """Make each run, print its answer and its table, and draw its charts; then exit with the command's status."""
        bad, told = 0, form == "table"
        for what in self.asked:
            made = self._made(what, told)
            with stage("answer and table"):
                show_run(command, made, table, goal, form, columns)
            with stage("pictures"):
                # What draws is loaded once the answer is on the screen.
                from ctxsim.report.charts import OF_COMMAND, plot
                from ctxsim.report.picture import picture

                pictures = plot(picture(made, goal), OF_COMMAND[command])
            if told:
                tell_results(made, pictures)
            bad += tell_what_was_left_out(made.info)
            if not made.info.complete:
                sys.exit(130)
        if bad:
            sys.exit(1)

    def _made(self, what: str | tuple[str, ...], told: bool) -> Run:
        said = dict(self._said)
        rules = fields({name: said.pop(name) for name in PROVIDER})
        models, estimator = said["models"], said["estimator"]
        name = _short(what) if isinstance(what, str) else run_name(what[0])
        if isinstance(what, tuple) and name in self._names:
            name = f"{name}-recorded"
        apart = _apart(
            self._what,
            {"estimator": estimator, "models": models, **rules, **_sampling(said)},
            said["head"],
            said["across"],
        )
        folder = _folder(said.pop("out"), f"{name}{self._suffix}", apart, len(self.asked) == 1)
        said["overwrite"] = said.pop("force")
        if RunFolder(folder).stopped and not said["resume"]:
            note(f"{folder} holds a stopped run, which starts again; --resume would continue it", err=True)
        with stage("replayed"), _interruptible() as stopped, progress(name) as course:
            try:
                made = self._make(
                    what, out=folder, watch=Watch(course.finished, course.within, stopped), **said, **rules
                )
            except Stopped:
                if stopped():
                    sys.exit(130)
                raise
        tell_keys(made.info)
        if not made.info.complete:
            done = many(len(made.info.inputs), "source(s)")
            click.echo(f"Stopped: {done} done and written; go on with --resume", err=True)
        tell_fits(made)
        if told:
            tell_recorders(made.info)
            tell_providers(made.info)
            tell_recorded(made, said["across"])
        if said["sample"] and not made.info.sample:
            note(f"--sample {said['sample']:,}: there are {made.transcripts:,} transcripts, all of them ran", err=True)
        return made


def _sampling(said: Mapping[str, Any]) -> dict[str, object]:
    """What a folder's name says of a sample, and of a rate of fetching again."""
    sample = {"sample": said["sample"], "seed": said["seed"] or None} if said["sample"] else {}
    return {"refetch": said["refetch"], "draws": said["draws"], **sample}


def split(paths: Sequence[str], scenarios: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return what names recordings, and what names scenarios: a name without a file is one."""
    recorded = [path for path in paths if not names_scenario(path)]
    return recorded, [*scenarios, *(path for path in paths if path not in recorded)]


def _short(scenario: str) -> str:
    """What a scenario's folder is called: its own name, or that of its file."""
    return scenario.rpartition("/")[2].removesuffix(".toml")


LONGEST_SAID = 60
"""Characters that a folder's name says of policies and options; what is longer ends in its digest."""


def _apart(policies: Sequence[str], given: Mapping[str, object], head: object, across: bool) -> str:
    """What isn't the usual about a run, in characters of file names: `mask-keep=5.window=128000`; nothing if all is."""
    words = [one.rpartition("/")[2] for one in policies]
    words += [f"{name}={Path(str(value)).name}" for name, value in given.items() if value is not None]
    words += [f"head={head}"] * (head != "fitted") + ["across"] * across
    text = "".join(f".{re.sub(r'[^A-Za-z0-9=._+-]+', '-', word)}" for word in words)
    if len(text) <= LONGEST_SAID:
        return text
    return f"{text[: LONGEST_SAID - 7]}-{hashlib.sha256(repr(words).encode()).hexdigest()[:6]}"


def _folder(out: str | PathLike[str] | None, name: str, apart: str, alone: bool) -> Path:
    """Where a run's results go: `out` itself if it is the only run, else a folder of its name.

    The name says what isn't usual about it. A documented reference keeps its folder.
    """
    if out is not None:
        return Path(out) if alone else Path(out, name)
    folder = Path("results") / f"{name}{apart}"
    return folder.with_name(f"{folder.name}-own") if is_reference(folder) else folder


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """The first Ctrl-C asks to stop and to write what is finished, the second one stops at once."""
    asked = False

    def ask(number: int, frame: Any) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        click.echo("Stopping; the sources that are done are kept, go on with --resume.", err=True)

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)
