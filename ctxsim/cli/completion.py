"""Shell completion of values: policies, scenarios, columns, models, and folders of runs.

Lists are read when a value is completed, never when a command runs.
"""

from collections.abc import Callable
from pathlib import Path

import click

Complete = Callable[[click.Context, click.Parameter, str], list[str]]
"""A callback of click that returns the values of a parameter that begin with the typed text."""


def _of(kind: str, after: str = "") -> Complete:
    """Return the completion of names of a kind. `after` separates several names in one value; the last is completed."""

    def complete(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
        from ctxsim.api.lists import completions

        before, _, last = typed.rpartition(after) if after else ("", "", typed)
        begun = f"{before}{after}" if before else ""
        return [f"{begun}{name}" for name in dict.fromkeys(completions(kind)) if name.startswith(last)]

    return complete


policies = _of("policies", after="+")
scenarios = _of("scenarios")
columns = _of("columns", after=",")
models = _of("models")


def runs(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Return the folders that hold a `run.json`, up to two levels below the typed folder."""
    folder = typed.rpartition("/")[0] + "/" if "/" in typed else ""
    found = (file.parent for level in ("*", "*/*") for file in Path(folder or ".").glob(f"{level}/run.json"))
    return [name for name in sorted(map(str, found)) if name.startswith(typed.removeprefix("./"))]
