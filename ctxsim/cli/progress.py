"""How far a run is: a bar on a terminal, lines in a log, what each file gave with `-v`, silence with `-q`."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

import click

from ctxsim.cli import terminal
from ctxsim.cli.loudness import detail, loudness
from ctxsim.cli.terminal import safe
from ctxsim.errors import agreed
from ctxsim.results import InputInfo

TOLD_S = 30.0
"""Seconds between two lines."""


class _Course:
    """What has been told so far, as words. `finished` is told of each finished source and the number of all, `within`
    of one under way how many of its policy-calls are done. Nothing is shown of it with `-q`.
    """

    def __init__(self, name: str) -> None:
        self.name = safe(name)
        self._began = perf_counter()
        self._done = self._total = self._calls = 0
        self._inside: dict[str, float] = {}

    def finished(self, info: InputInfo, total: int) -> None:
        self._done, self._total = self._done + 1, total
        self._calls += info.calls
        self._inside.pop(info.name, None)
        self.show(info)

    def within(self, name: str, done: int, known: int) -> None:
        self._inside[name] = done / known if known else 0.0
        self.show(None)

    def show(self, finished: InputInfo | None) -> None:
        """Something has changed: a source has finished, or is farther."""

    @property
    def complete(self) -> bool:
        return self._done == self._total

    @property
    def rate(self) -> str:
        elapsed = perf_counter() - self._began
        return f"{self._calls / elapsed:,.0f} calls/s" if self._calls and elapsed else ""

    @property
    def inside(self) -> str:
        """The source under way that is farthest, and how far that is."""
        # A copy: processes of this machine tell from a thread of their own.
        under_way = dict(self._inside)
        name = max(under_way, key=lambda name: under_way[name], default="")
        return f"{name.rpartition('/')[2]} {under_way[name]:.0%}" if name else ""

    def __str__(self) -> str:
        sources = f"{self._done:,} of {self._total:,} sources, {self._calls:,} calls" if self._total else "first source"
        return ", ".join(filter(None, (sources, self.rate, self.inside)))


@contextmanager
def progress(name: str) -> Iterator[_Course]:
    """Show how far a run of this name is: a bar on a terminal, elsewhere a line now and then, nothing with `-q`."""
    if loudness() == "verbose":
        yield _EachFile(name)
    elif loudness() == "quiet":
        yield _Course(name)
    elif not sys.stderr.isatty():
        yield _Lines(name)
    else:
        with _bar(name) as course:
            yield course


class _EachFile(_Course):
    _told = 0.0

    def show(self, finished: InputInfo | None) -> None:
        if finished is not None:
            now, before = perf_counter(), self._told or self._began
            self._told = now
            calls = (
                f"{finished.transcripts:,} transcript(s), {finished.calls:,} call(s)" if finished.calls else "no call"
            )
            detail(f"{finished.name}: {agreed(calls)}, {now - before:.2f} s")


class _Lines(_Course):
    _told = 0.0

    def show(self, finished: InputInfo | None) -> None:
        if not (finished and self.complete) and perf_counter() - (self._told or self._began) >= TOLD_S:
            self._told = perf_counter()
            click.echo(f"{self.name}: {safe(str(self))}", err=True)


@contextmanager
def _bar(name: str) -> Iterator[_Course]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(24), MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"), TimeRemainingColumn(), TextColumn("{task.fields[inside]}", markup=False),
    )  # fmt: skip

    class Bar(_Course):
        def show(self, finished: InputInfo | None) -> None:
            if finished is not None:
                bar.update(task, advance=1, total=self._total, rate=self.rate)
            bar.update(task, inside=safe(self.inside))

    with Progress(*columns, console=terminal.console(stderr=True), transient=True) as bar:
        task = bar.add_task(safe(name), total=None, rate="", inside="")
        yield Bar(name)
