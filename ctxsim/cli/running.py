"""From a command line to runs: which there are, and one of them with its progress, interruption and provider lines."""

from __future__ import annotations

import hashlib
import re
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec

from ctxsim.cli.loudness import stage
from ctxsim.cli.output import tell_fits, tell_keys, tell_providers, tell_recorded
from ctxsim.cli.progress import progress
from ctxsim.errors import CtxsimError
from ctxsim.policies import open_policy
from ctxsim.readers import SUFFIXES, bare
from ctxsim.recorded.as_sent import HeadMode
from ctxsim.results import Run, RunInfo, read_run
from ctxsim.runs import DEFAULT_POLICIES, bench, preset_policies
from ctxsim.runs.overwrite import is_reference
from ctxsim.runs.task import Setting
from ctxsim.simulator.provider.models import read_overrides
from ctxsim.synthesis import Scenario, load_scenario

DEFAULT_SCENARIOS = ("documented-53k", "fifty-turns")


class Where(NamedTuple):
    """On how many processes or which cluster a run happens, whether it goes on with an earlier one or replaces it."""

    jobs: int
    cluster: str | None
    resume: bool
    force: bool = False


class Asked(NamedTuple):
    """One run that a command line asks for: of a scenario, or without one of the recorded transcripts in `paths`."""

    setting: Setting
    scenario: Scenario | None
    paths: tuple[str, ...]
    said: str
    """What of the command line isn't the usual, as a part of a folder's name."""


def runs_of(
    paths: Sequence[str],
    policies: Sequence[str],
    scenarios: Sequence[str],
    estimator: str | None,
    models_file: Path | None,
    no_text: bool,
    head: HeadMode = "fitted",
    across: bool = False,
    presets: str | None = None,
    said: Sequence[str] | None = None,
    keep_secrets: bool = False,
    **overrides: object,
) -> list[Asked]:
    """Return the runs that a command line asks for: each scenario, and the recorded transcripts together.

    With neither, both default scenarios. `presets` are families of policies, which run beside the bounds and
    `policies`. `said`: what a name says of the policies. Raises UnknownName or InputError.
    """
    words = tuple(open_policy(label).short for label in policies) if said is None else tuple(said)
    if presets is not None:
        words = (presets.replace(",", "-"), *words)
        policies = (*(("recorded",) if across else ()), *preset_policies(presets), *policies)
    given = {key: value for key, value in overrides.items() if value is not None}
    entries = read_overrides(models_file) if models_file else ()
    apart = _said(words, {"estimator": estimator, "models": models_file, **given}, head, across)
    kept = True if keep_secrets else msgspec.UNSET
    runs: list[Asked] = []
    for name in scenarios or (() if paths else DEFAULT_SCENARIOS):
        scenario = load_scenario(name)
        labels = tuple(policies) or scenario.policies
        setting = Setting(
            scenario.name, scenario.title, labels, estimator, given, not no_text, entries, keep_secrets=kept
        )
        runs.append(Asked(setting, scenario, (), apart))
    if paths:
        name = _run_name(paths[0], {one.setting.name for one in runs})
        title = f"Recorded transcripts in {', '.join(paths)}"
        labels = tuple(policies) or (DEFAULT_POLICIES if not across else ("recorded", *DEFAULT_POLICIES))
        setting = Setting(name, title, labels, estimator, given, not no_text, entries, head, across, kept)
        runs.append(Asked(setting, None, tuple(paths), apart))
    return runs


def _run_name(path: str, taken: set[str]) -> str:
    """The result folder's name: the file's or folder's own, without the endings of formats; never another run's."""
    path = bare(path)
    name = "standard-input" if path == "-" else Path(path).resolve().name
    while (stem := Path(name)).suffix in SUFFIXES:
        name = stem.stem
    name = name or "run"
    return name if name not in taken else f"{name}-recorded"


LONGEST_SAID = 60
"""Characters that a folder's name says of policies and options; what is longer ends in its digest."""


def _said(policies: Sequence[str], given: Mapping[str, object], head: HeadMode, across: bool) -> str:
    """What isn't the usual about a run, in characters of file names: `mask-keep=5.window=128000`; nothing if all is."""
    words = [one.rpartition("/")[2] for one in policies]
    words += [f"{name}={Path(str(value)).name}" for name, value in given.items() if value is not None]
    words += [f"head={head}"] * (head != "fitted") + ["across"] * across
    text = "".join(f".{re.sub(r'[^A-Za-z0-9=._+-]+', '-', word)}" for word in words)
    if len(text) <= LONGEST_SAID:
        return text
    return f"{text[: LONGEST_SAID - 7]}-{hashlib.sha256(repr(words).encode()).hexdigest()[:6]}"


def folder_of(asked: Asked, out: Path | None, alone: bool, suffix: str = "") -> Path:
    """Return where a run's results go: `out` itself if it is the only run, else a folder of its name.

    The name says what isn't usual about it. A documented reference keeps its folder.
    """
    if out is not None:
        return out if alone else out / f"{asked.setting.name}{suffix}"
    folder = Path("results") / f"{asked.setting.name}{suffix}{asked.said}"
    return folder.with_name(f"{folder.name}-own") if is_reference(folder) else folder


def run(asked: Asked, folder: Path, where: Where, told: bool = True) -> tuple[RunInfo, Run]:
    """Run one bench, print its provider if that is to be `told`, and return what was run and its results.

    Raises CtxsimError if there was no call to replay.
    """
    with stage("replayed"), _interruptible() as stopped, progress(asked.setting.name) as watch:
        info = bench(
            asked.setting,
            folder,
            asked.scenario,
            asked.paths,
            where.jobs,
            watch.finished,
            stopped,
            where.resume,
            where.cluster,
            where.force,
            watch.within,
        )
    tell_keys(info)
    if not info.complete:
        click.echo(f"Stopped: {len(info.inputs)} source(s) done and written; go on with --resume", err=True)
    if not any(one.calls for one in info.inputs):
        errors = [one.error for one in info.inputs if one.error]
        more = f"; and {len(errors) - 1:,} more that can't be replayed" if len(errors) > 1 else ""
        reasons = f"; {errors[0]}{more}" if errors else ""
        raise CtxsimError(f"{', '.join(asked.paths) or asked.setting.name}: no call to replay{reasons}")
    with stage("tables read"):
        found = read_run(folder)
    tell_fits(found)
    if told:
        tell_providers(info)
        tell_recorded(found, asked.setting.across)
    return info, found


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
