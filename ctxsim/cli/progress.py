"""The progress of a run: a bar on a terminal, lines in a log, a line for each file with `-v`, nothing with `-q`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

import click

from ctxsim.cli import terminal
from ctxsim.cli.loudness import detail, loudness
from ctxsim.errors import agreed
from ctxsim.results import InputInfo

TOLD_S = 30.0
"""Seconds between two lines, at least."""


class _Course:
    """The progress of a run, as text. `finished` takes each finished source and the number of all sources. `within`
    takes how many policy-calls of a source under way are done. Both then call `show`, with the source if it finished.
    """

    def __init__(self, name: str, show: Show = lambda course, finished: None) -> None:
        self.name = name
        self.done = self.total = self._calls = 0
        self.told_at = self._began = perf_counter()
        self._show = show
        self._inside: dict[str, float] = {}

    def finished(self, info: InputInfo, total: int) -> None:
        self.done, self.total = self.done + 1, total
        self._calls += info.calls
        self._inside.pop(info.name, None)
        self._show(self, info)

    def within(self, name: str, done: int, known: int) -> None:
        self._inside[name] = done / known if known else 0.0
        self._show(self, None)

    @property
    def rate(self) -> str:
        elapsed = perf_counter() - self._began
        return f"{self._calls / elapsed:,.0f} calls/s" if self._calls and elapsed else ""

    @property
    def inside(self) -> str:
        """The source under way that is nearest to its end, and the share of it that is done."""
        # A copy, because another thread reports for worker processes and may change the original.
        under_way = dict(self._inside)
        name = max(under_way, key=lambda name: under_way[name], default="")
        return f"{name.rpartition('/')[2]} {under_way[name]:.0%}" if name else ""

    def __str__(self) -> str:
        sources = f"{self.done:,} of {self.total:,} sources, {self._calls:,} calls" if self.total else "first source"
        return ", ".join(filter(None, (sources, self.rate, self.inside)))


Show = Callable[[_Course, InputInfo | None], object]


@contextmanager
def progress(name: str) -> Iterator[_Course]:
    """Show progress: a bar on a terminal, else a line now and then; with `-v` a line per source, with `-q` nothing."""
    if loudness() == "quiet":
        yield _Course(name)
    elif loudness() == "verbose":
        yield _Course(name, _each_file)
    elif not sys.stderr.isatty():
        yield _Course(name, _line)
    else:
        with _bar(name) as course:
            yield course


def _each_file(course: _Course, finished: InputInfo | None) -> None:
    if finished is not None:
        now, before = perf_counter(), course.told_at
        course.told_at = now
        calls = f"{finished.transcripts:,} transcript(s), {finished.calls:,} call(s)" if finished.calls else "no call"
        detail(f"{finished.name}: {agreed(calls)}, {now - before:.2f} s")


def _line(course: _Course, finished: InputInfo | None) -> None:
    last = finished is not None and course.done == course.total
    if not last and perf_counter() - course.told_at >= TOLD_S:
        course.told_at = perf_counter()
        click.echo(f"{course.name}: {course}", err=True)


@contextmanager
def _bar(name: str) -> Iterator[_Course]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(24), MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"), TimeRemainingColumn(), TextColumn("{task.fields[inside]}", markup=False),
    )  # fmt: skip

    def show(course: _Course, finished: InputInfo | None) -> None:
        if finished is not None:
            bar.update(task, advance=1, total=course.total, rate=course.rate)
        bar.update(task, inside=course.inside)

    with Progress(*columns, console=terminal.console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=None, rate="", inside="")
        yield _Course(name, show)
