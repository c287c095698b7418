"""How much a command prints beside its result: nothing with `-q`, more with `-v`. Errors and warnings always print."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Literal

import click

from ctxsim.cli.terminal import say
from ctxsim.errors import one_line

Loudness = Literal["quiet", "usual", "verbose"]

_KEY = "ctxsim.loudness"


_FLAGS = {"-q": "quiet", "--quiet": "quiet", "-v": "verbose", "--verbose": "verbose"}


def taken(context: click.Context, args: list[str]) -> list[str]:
    """Return the arguments without any `-q` or `-v` before `--`, and set the loudness of the command by them."""
    end = args.index("--") if "--" in args else len(args)
    said = {_FLAGS[arg] for arg in args[:end] if arg in _FLAGS}
    if len(said) > 1:
        raise click.UsageError("-q says less and -v says more: give one of them", context)
    for one in said:
        context.meta[_KEY] = one
    if "verbose" in said:
        began = perf_counter()
        context.call_on_close(lambda: _tell(f"in all: {perf_counter() - began:.2f} s"))
    return [arg for arg in args[:end] if arg not in _FLAGS] + args[end:]


def loudness() -> Loudness:
    """Return the loudness of the running command."""
    context = click.get_current_context(silent=True)
    found: Loudness = context.meta.get(_KEY, "usual") if context else "usual"
    return found


def note(text: str, err: bool = False) -> None:
    """Print a line about the result, unless `-q` is given."""
    if loudness() != "quiet":
        say(text, err)


def detail(text: str) -> None:
    """With `-v`, print a line on standard error."""
    if loudness() == "verbose":
        _tell(text)


def _tell(text: str) -> None:
    click.echo(one_line(text), err=True)


@contextmanager
def stage(name: str) -> Iterator[None]:
    """With `-v`, print how long the block took."""
    began = perf_counter()
    yield
    detail(f"{name}: {perf_counter() - began:.2f} s")
