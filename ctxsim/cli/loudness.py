"""How much a command says beside its result: `-q` the result alone, `-v` more. Errors and warnings are always told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Literal, TypeVar

import click

from ctxsim.cli.terminal import safe
from ctxsim.errors import one_line

Loudness = Literal["quiet", "usual", "verbose"]

_KEY = "ctxsim.loudness"


def _remember(context: click.Context, param: click.Parameter, given: bool) -> None:
    if not given:
        return
    if context.meta.setdefault(_KEY, param.name) != param.name:
        raise click.UsageError("-q says less and -v says more: give one of them", context)
    if param.name == "verbose":
        began = perf_counter()
        context.call_on_close(lambda: _tell(f"in all: {perf_counter() - began:.2f} s"))


_OPTIONS = (
    click.Option(
        ["-q", "--quiet"], is_flag=True, expose_value=False, callback=_remember,
        help="The result alone, and errors: no progress, no notes.",
    ),
    click.Option(
        ["-v", "--verbose"], is_flag=True, expose_value=False, callback=_remember,
        help="Also what each file gave or why it was left out, what was fitted, and times.",
    ),
)  # fmt: skip


def with_loudness(command: click.Command) -> click.Command:
    """Give a command, or each command of a group, `-q` and `-v`."""
    if isinstance(command, click.Group):
        for one in command.commands.values():
            with_loudness(one)
    else:
        command.params += [option for option in _OPTIONS if option not in command.params]
    return command


def loudness() -> Loudness:
    """Return how much the running command is to say."""
    context = click.get_current_context(silent=True)
    found: Loudness = context.meta.get(_KEY, "usual") if context else "usual"
    return found


def note(text: str, err: bool = False) -> None:
    """Print a line about the result: not with `-q`."""
    if loudness() != "quiet":
        click.echo(safe(text), err=err)


def detail(text: str) -> None:
    """Print a line on standard error that only `-v` asks for."""
    if loudness() == "verbose":
        _tell(text)


def _tell(text: str) -> None:
    click.echo(safe(one_line(text)), err=True)


class Clock:
    """Sums up the wall time of one kind of work, in seconds."""

    def __init__(self) -> None:
        self.seconds = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count what is done inside."""
        began = perf_counter()
        try:
            yield
        finally:
            self.seconds += perf_counter() - began


@contextmanager
def stage(name: str) -> Iterator[None]:
    """With `-v` tell how long what is done inside took."""
    clock = Clock()
    with clock.running():
        yield
    detail(f"{name}: {clock.seconds:.2f} s")


One = TypeVar("One")


def timed(ones: Iterable[One], clock: Clock) -> Iterator[One]:
    """Yield the same; the clock counts how long each took to make, and not what is done with it."""
    rest = iter(ones)
    while True:
        with clock.running():
            one = next(rest, None)
        if one is None:
            return
        yield one
