"""What the shell completes a value with: policies, scenarios, columns, models, and folders of runs.

Lists are read when a value is completed, never when a command runs.
"""

from collections.abc import Callable
from pathlib import Path

import click

Complete = Callable[[click.Context, click.Parameter, str], list[str]]
"""What click asks for the values of a parameter that begin with what is typed."""


def _of(kind: str, after: str = "") -> Complete:
    """Complete a name of this kind; `after` separates several in one value, of which the last is completed."""

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
    """Return the folders that hold a `run.json`, up to two levels below the folder that is typed."""
    folder = typed.rpartition("/")[0] + "/" if "/" in typed else ""
    found = (file.parent for level in ("*", "*/*") for file in Path(folder or ".").glob(f"{level}/run.json"))
    return [name for name in sorted(map(str, found)) if name.startswith(typed.removeprefix("./"))]


def policies_of_run(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Return the policies of the run that is typed before; of no run that can be read, all."""
    from ctxsim.errors import CtxsimError
    from ctxsim.results import read_run

    # While the option has no value yet, click hands on what stands before it as it is.
    given = context.params.get("run") or context.params.get("before") or next(iter(context.args), None)
    try:
        run = read_run(given) if given else None
    except (CtxsimError, OSError):
        run = None
    if run is None:
        return policies(context, parameter, typed)
    return [name for label in run.info.policies if (name := run.info.shown.get(label, label)).startswith(typed)]
