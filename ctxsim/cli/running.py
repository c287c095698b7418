"""The runs of a command line: the folders of their results, their progress, and what is printed of each."""

import hashlib
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any

import click

from ctxsim.api.inputs import names_scenario
from ctxsim.api.project import found
from ctxsim.api.runs import Run, run_name
from ctxsim.cli import output
from ctxsim.cli.loudness import note, stage
from ctxsim.cli.options import fields
from ctxsim.cli.progress import progress
from ctxsim.cli.show import show_run
from ctxsim.errors import Stopped, many
from ctxsim.report.sheet import Sheet
from ctxsim.results.folder import RunFolder
from ctxsim.runs.conduct import Watch
from ctxsim.runs.identity import is_reference
from ctxsim.synthesis import is_scenario, load_scenario

DEFAULT_SCENARIOS = ["documented-53k", "fifty-turns"]

Made = Callable[..., Run]
"""A public function that makes a run."""


def run_all(
    command: str, make: Made, table: Callable[..., Sheet], paths: Sequence[str], scenarios: Sequence[str],
    policies: Sequence[str], said: dict[str, Any],
) -> None:  # fmt: skip
    """Make a run of each scenario, and one of all recordings. Print the answer and the table of each, and draw its
    charts. Exit with status 1 after errors, and with 130 if stopped.

    `policies` are the policies in words, for the folder's name; `said` are the command's options.
    """
    goal, form, columns = (said.pop(name) for name in ("goal", "form", "columns"))
    bad, told = 0, form == "table"
    asked: list[str | tuple[str, ...]] = [*scenarios, *[tuple(paths)] * bool(paths)]
    names = [scenario.rpartition("/")[2].removesuffix(".toml") for scenario in scenarios]
    names += [f"{name}-recorded" if (name := run_name(paths[0])) in names else name] if paths else []
    suffix = "" if command == "bench" else f"-{command}"
    apart = _apart(policies, said)
    for what, name in zip(asked, names, strict=True):
        folder = _folder(said["out"], f"{name}{suffix}", apart, len(asked) == 1)
        made = _made(make, what, name, folder, said)
        output.tell_keys(made.info)
        if not made.info.complete:
            done = many(len(made.info.inputs), "source(s)")
            click.echo(f"Stopped: {done} done and written; go on with --resume", err=True)
        output.tell_fits(made)
        if told:
            output.tell_recorders(made.info)
            output.tell_providers(made.info)
            output.tell_recorded(made, said["across"])
        if said["sample"] and not made.info.sample:
            note(f"--sample {said['sample']:,}: there are {made.transcripts:,} transcripts, all of them ran", err=True)
        # Where `| head` has read enough, the pictures are drawn all the same.
        with stage("answer and table"), suppress(BrokenPipeError):
            show_run(command, made, table, goal, form, columns)
        with stage("pictures"):
            # Imported only now, so that the answer is on the screen first.
            from ctxsim.report.charts import plot

            pictures = plot(made, command, goal)
        if told:
            output.tell_results(made, pictures)
        bad += output.tell_what_was_left_out(made.info)
        if not made.info.complete:
            sys.exit(130)
    if bad:
        sys.exit(1)


def _made(make: Made, what: str | tuple[str, ...], name: str, folder: Path, said: Mapping[str, Any]) -> Run:
    """Make a run and show its progress. Ctrl-C ends the run, or the command if nothing of the run is finished."""
    if RunFolder(folder).stopped and not said["resume"]:
        note(f"{folder} holds a stopped run, which starts again; --resume would continue it", err=True)
    given = fields(said) | {"out": folder}
    with stage("replayed"), _interruptible() as stopped, progress(name) as course:
        try:
            # Opened here, as a file or folder of that name would take precedence.
            inputs = load_scenario(what) if isinstance(what, str) and is_scenario(what) else what
            return make(inputs, watch=Watch(course.finished, course.within, stopped), **given)
        except Stopped:
            if stopped():
                sys.exit(130)
            raise


def split(paths: Sequence[str], scenarios: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the paths of recordings, and the scenarios: those given, and paths that name a scenario. If neither are
    given, the paths are the project's.
    """
    paths = paths or (() if scenarios else found().paths)
    recorded = [path for path in paths if not names_scenario(path)]
    return recorded, [*scenarios, *(path for path in paths if path not in recorded)]


LONGEST_SAID = 60
"""Characters of a folder's name for policies and options. A longer text is cut and ends in its digest."""


def _apart(policies: Sequence[str], said: Mapping[str, Any]) -> str:
    """Policies and options that aren't defaults, as part of a file name: `.mask-keep=5.window=128000`; '' if none."""
    words = [one.rpartition("/")[2] for one in policies]
    given = {name: said[name] for name in ("estimator", "models", "model", "window")} | dict(said["rules"])
    given |= {name: said.get(name) for name in ("refetch", "draws", "sample")} | {"seed": said.get("seed") or None}
    words += [f"{name}={Path(str(value)).name}" for name, value in given.items() if value is not None]
    words += [f"head={said['head']}"] * (said["head"] != "fitted") + ["across"] * said["across"]
    text = "".join(f".{re.sub(r'[^A-Za-z0-9=._+-]+', '-', word)}" for word in words)
    if len(text) <= LONGEST_SAID:
        return text
    return f"{text[: LONGEST_SAID - 7]}-{hashlib.sha256(repr(words).encode()).hexdigest()[:6]}"


def _folder(out: str | PathLike[str] | None, name: str, apart: str, alone: bool) -> Path:
    """The folder of a run's results: `out` itself if the run is the only one, else a subfolder of `out` or results/.

    In results/, the name includes `apart`, and ends in `-own` if it is that of a documented reference.
    """
    if out is not None:
        return Path(out) if alone else Path(out, name)
    folder = Path("results") / f"{name}{apart}"
    return folder.with_name(f"{folder.name}-own") if is_reference(folder) else folder


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether Ctrl-C was pressed. A second Ctrl-C raises KeyboardInterrupt."""
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
