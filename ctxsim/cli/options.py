"""Options that several commands have: written once, so that they mean the same everywhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from ctxsim.cli import progress
from ctxsim.readers import in_column
from ctxsim.simulator.provider.cache import Breakpoints
from ctxsim.simulator.provider.rules import SummaryMode

Command = TypeVar("Command", bound=Callable[..., Any])

CACHES = ("none", "anthropic", "openai", "openai-paid-writes", "google", "deepseek")

PATH = click.Path(path_type=Path)


def _in_column(context: click.Context, param: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    column: str | None = context.meta.get(_COLUMN)
    return tuple(in_column(path, column) for path in given) if column else given


def _remember(context: click.Context, param: click.Parameter, column: str | None) -> None:
    context.meta[_COLUMN] = column


_COLUMN = "ctxsim.column"
_column = click.option(
    "--column",
    metavar="NAME",
    is_eager=True,
    expose_value=False,
    callback=_remember,
    help="Tables (Parquet, JSON lines): the column that holds the conversations, if it's no usual one.",
)


def _transcripts(required: bool) -> Callable[[Command], Command]:
    argument = click.argument("paths", nargs=-1, required=required, callback=_in_column)
    return lambda command: argument(_column(command))


paths = _transcripts(required=False)
"""Transcripts: files, folders, - for standard input; none is fine."""

some_paths = _transcripts(required=True)

run_folder = click.argument("run", type=PATH, metavar="RUN")
"""A folder that bench wrote."""

estimator = click.option(
    "--estimator",
    metavar="LABEL",
    help="What policies decide by, unless their label says. See: ctxsim estimators",
)
tokenizer = click.option("--tokenizer", metavar="NAME", help="What the provider counts by. See: ctxsim tokenizers")
model = click.option("--model", metavar="ID", help="Window, prices, cache, tokenizer of a model. See: ctxsim models")
window = click.option("--window", type=click.IntRange(min=1), metavar="N", help="The provider's window in tokens.")
cache = click.option(
    "--cache", type=click.Choice(CACHES), help="Whose prompt cache rules hold; none: the bill without."
)
models_file = click.option("--models", "models_file", type=PATH, metavar="FILE", help="Your own models and prices.")


class HeadSize(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """`fitted`, `none`, or a number of tokens."""

    name = "head"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> Any:
        """Return the mode or the number; anything else is a usage error."""
        if value in ("fitted", "none") or isinstance(value, int):
            return value
        if str(value).isdecimal():
            return int(value)
        self.fail(f"'{value}' is none of: fitted, none, a number of tokens", param, context)


head = click.option(
    "--head",
    type=HeadSize(),
    default="fitted",
    metavar="fitted|none|TOKENS",
    help="What stands for a head that a log doesn't hold: fitted to recorded usage or by priors, nothing, or so much.",
)
across = click.option(
    "--across-compactions",
    "across",
    is_flag=True,
    help="Replay recordings as if their agent had never compacted, beside what it did.",
)

RUN_OPTIONS = (
    click.option("--scenario", "scenarios", multiple=True, metavar="NAME", help="Run this scenario; may be repeated."),
    estimator,
    tokenizer,
    model,
    models_file,
    click.option("--summaries", type=click.Choice(get_args(SummaryMode)), help="What summary calls answer."),
    cache,
    click.option("--breakpoints", type=click.Choice(get_args(Breakpoints)), help="Where the agent marks its cache."),
    window,
    head,
    across,
    click.option("--out", type=PATH, metavar="DIR", help="Result folder, not results/NAME."),
    click.option("--force", is_flag=True, help="Replace another run in the result folder."),
    click.option("--no-text", is_flag=True, help="Keep every word of the transcripts out of the results."),
    click.option("--keep-secrets", is_flag=True, help="Leave likely keys in the results as they are."),
    click.option("--resume", is_flag=True, help="Go on with a run that was stopped or killed."),
    click.option("--cluster", metavar="ADDRESS", help="A dask.distributed scheduler that shares this file system."),
    click.option("--jobs", type=click.IntRange(min=1), default=1, metavar="N", help="Processes. Rows are the same."),
    progress.option,
)


def counted_by(default: str) -> Callable[[Command], Command]:
    """Give a command `--tokenizer` with a default: what its tokens are counted by."""
    return click.option("--tokenizer", default=default, metavar="NAME", help="What tokens are counted by.")


def run_options(command: Command) -> Command:
    """Give a command the options that say what is replayed, against which provider, and where results go."""
    for option in reversed(RUN_OPTIONS):
        command = option(command)
    return command


PLAYED = (
    click.option("--scenario", metavar="NAME", help="Play this scenario. See: ctxsim scenarios"),
    click.option("--transcript", metavar="FILE", help="Play this recording."),
    click.option("--number", type=click.IntRange(min=1), default=1, metavar="N", help="Which transcript of FILE."),
    window,
    model,
    tokenizer,
    cache,
)

faults = click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="FAULT",
    help="429@STEP[:retry=S,times=N], stream-error@STEP, usage=FACTOR or none, slow=S, unpaired; may be repeated.",
)


def played(command: Command) -> Command:
    """Give a command the options that say which conversation is played, and which provider's rules hold."""
    for option in reversed(PLAYED):
        command = option(command)
    return command
