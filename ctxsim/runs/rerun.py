"""Makes a finished run again from its `run.json`, and compares the tables, byte for byte."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.errors import CtxsimError, InputError, many
from ctxsim.readers import sources
from ctxsim.readers.source import Source
from ctxsim.results import TABLES, InputInfo, Run, RunInfo
from ctxsim.results.checksums import sums
from ctxsim.results.files import description
from ctxsim.results.run import read_run
from ctxsim.results.run_info import __version__
from ctxsim.runs.anonymous import name_without_secrets
from ctxsim.runs.conduct import conduct
from ctxsim.runs.identity import others_code
from ctxsim.runs.task import Setting, content_of, source_sha256, specs_of
from ctxsim.safety.trust import asking, refuse
from ctxsim.synthesis import Scenario

SHOWN = 3
"""How many inputs a line names."""


def made_again(run: Run, moved: Sequence[str] = ()) -> Iterator[str]:
    """Replay a run's inputs with its setting, in this process, and yield how the tables differ, one line each.

    `moved`: the paths of its recordings if they have moved; they are identified by content. Inputs or code that are
    missing or differ yield lines too, and then nothing is replayed. Raises InputError for a run that doesn't say how it
    was made, was stopped, or needs trust and isn't trusted; and whatever `conduct` raises.
    """
    info = run.info
    if not info.files or info.setting is msgspec.UNSET or not info.complete:
        why = "was stopped: bench --resume goes on" if not info.complete else "is of a version that didn't keep how"
        raise InputError(run.folder, f"can't be made again: it {why}")
    setting = _said(run, info.setting, Setting)
    scenario = None if info.scenario is None else _said(run, info.scenario, Scenario)
    _trusted(run, setting, scenario, () if moved else setting.paths or ())
    found: list[Source] = []
    yield from (lines := list(_changed(info, setting, scenario, moved, found)))
    if not lines:
        with tempfile.TemporaryDirectory() as folder:
            conduct(setting, Path(folder, "run"), scenario, given=found, today=_day_of_prices(info))
            yield from _differences(run, read_run(Path(folder, "run")))


def _day_of_prices(info: RunInfo) -> date | None:
    """The day whose prices a run looked up because no recording said the day; None if it looked up none."""
    days = ((provider.get("prices") or {}).get("on") for provider in info.providers)
    return next((date.fromisoformat(day) for day in days if day), None)


T = TypeVar("T")


def _said(run: Run, data: dict[str, Any], kind: type[T]) -> T:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise InputError(run.folder / "run.json", f"doesn't say how it was made: {error}") from None


def _trusted(run: Run, setting: Setting, scenario: Scenario | None, paths: Sequence[str]) -> None:
    """Raise InputError if an untrusted run would run code, connect or leave the current folder: it may be anyone's."""
    file = run.folder / "run.json"
    labels = [*setting.policies, *([setting.estimator] if setting.estimator else [])]
    here = Path.cwd()
    rules = [*setting.overrides.values(), *run.info.tokenizers, *(entry.vendor for entry in setting.models)]
    rules += scenario.rules if scenario is not None else ()
    refuse(file, description(run.folder), asking(labels, paths, here, here, rules))


def _changed(
    info: RunInfo, setting: Setting, scenario: Scenario | None, moved: Sequence[str], found: list[Source]
) -> Iterator[str]:
    """Yield what a run was made with that is missing or differs here, and add its recordings to `found`."""
    if info.ctxsim != __version__:
        yield f"was made by ctxsim {info.ctxsim}, this is {__version__}: install that one"
        return
    for name, vocabulary in info.tokenizers.items():
        if open_tokenizer(name).vocabulary_sha256 != vocabulary:
            yield f"{name} has another vocabulary here"
    if info.others_code is not msgspec.UNSET and info.others_code != others_code(specs_of(setting)):
        yield "a policy or estimator file has changed since"
    paths = moved or setting.paths or ()
    if scenario is not None:
        if content_of(scenario) != info.inputs[0].sha256:
            yield f"{scenario.name}: the scenario gives another conversation here"
    elif not paths:
        yield "a run without text keeps no names of its recordings: say where they are by --inputs"
    else:
        try:
            found += sources(*paths)
        except CtxsimError as error:
            yield f"an input is missing: {error}"
            return
        quiet = str if setting.keep_secrets else name_without_secrets
        here = [(quiet(one.name), source_sha256(one), one) for one in found]
        if moved:
            here = _as_in_run(info.inputs, here, setting.text)
            found[:] = [source for _, _, source in here]
        yield from _changed_inputs(info.inputs, {name: sha256 for name, sha256, _ in here})


Hashed = list[tuple[str, str, Source]]
"""Recordings: name in the run, hash of the content, source."""


def _as_in_run(inputs: Sequence[InputInfo], here: Hashed, named: bool) -> Hashed:
    """Return recordings that have moved, in the run's order and with their names there.

    With `named`, the sources get these names too. A run without text holds no names of recordings.
    """
    known: dict[str, list[str]] = {}
    for one in inputs:
        known.setdefault(one.sha256, []).append(one.name)
    called = [(names.pop(0) if (names := known.get(one[1])) else one[0], *one[1:]) for one in here]
    order = {one.name: place for place, one in enumerate(inputs)}
    for name, _, source in called:
        source.name = name if named else source.name
    return sorted(called, key=lambda one: order.get(one[0], len(order)))


def _changed_inputs(inputs: Sequence[InputInfo], here: Mapping[str, str]) -> Iterator[str]:
    """Yield which recordings are missing, changed or new; `here` are the hashes of those here, by name."""
    told = {
        "missing": [one.name for one in inputs if one.name not in here],
        "changed": [one.name for one in inputs if here.get(one.name, one.sha256) != one.sha256],
        "new": sorted(here.keys() - {one.name for one in inputs}),
    }
    for what, names in told.items():
        if names:
            more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
            yield f"{many(len(names), 'input(s)')} {what}: {', '.join(names[:SHOWN])}{more}"


def _differences(run: Run, now: Run) -> Iterator[str]:
    """Yield, for each table whose bytes differ, its numbers of rows or the columns that hold other values."""
    fresh = sums(now.folder)
    for name in TABLES:
        mine = {file for file in {*run.info.files, *fresh} if file.partition(".")[0] == name}
        if any(run.info.files.get(file) != fresh.get(file) for file in mine):
            was, made = run.table(name), now.table(name)
            if len(was) != len(made):
                told = f"{len(was):,} rows, but {len(made):,} when made again"
            elif differ := [column for column in was.columns if not was[column].equals(made[column])]:
                told = f"when made again, other values in {', '.join(differ)}"
            else:
                told = "the same values in other bytes: another version of pyarrow wrote them"
            yield f"table {name}: {told}"
