"""How far a run is: a bar on a terminal, lines in a log, what each file gave with `-v`, silence with `-q`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, NamedTuple

import click

from ctxsim.cli import terminal
from ctxsim.cli.loudness import detail, loudness
from ctxsim.cli.terminal import safe
from ctxsim.results import InputInfo

TOLD_S = 5.0
"""Seconds between two lines."""


class Watch(NamedTuple):
    """Told of each finished source and the number of all; of one under way, how many of its policy-calls are done."""

    finished: Callable[[InputInfo, int], Any]
    within: Callable[[str, int, int], Any]


class _Course:
    """What has been told so far, as words."""

    def __init__(self) -> None:
        self._began = perf_counter()
        self._done = self._total = self._calls = 0
        self._inside: dict[str, float] = {}

    def finished(self, info: InputInfo, total: int) -> None:
        self._done, self._total = self._done + 1, total
        self._calls += info.calls
        self._inside.pop(info.name, None)

    def within(self, name: str, done: int, known: int) -> None:
        self._inside[name] = done / known if known else 0.0

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

    @property
    def sources(self) -> str:
        return f"{self._done:,} of {self._total:,} sources, {self._calls:,} calls" if self._total else "first source"

    def __str__(self) -> str:
        return ", ".join(filter(None, (self.sources, self.rate, self.inside)))


@contextmanager
def progress(name: str) -> Iterator[Watch]:
    """Show how far a run of this name is: a bar on a terminal, elsewhere a line now and then, nothing with `-q`."""
    course = _Course()
    if loudness() == "verbose":
        yield _each_file()
    elif loudness() == "quiet":
        yield Watch(course.finished, course.within)
    elif not sys.stderr.isatty():
        yield _lines(name, course)
    else:
        with _bar(name, course) as watch:
            yield watch


def _each_file() -> Watch:
    told = perf_counter()

    def finished(info: InputInfo, total: int) -> None:
        nonlocal told
        told, before = perf_counter(), told
        gave = f"{info.transcripts:,} transcripts, {info.calls:,} calls" if info.calls else "no call"
        detail(f"{info.name}: {gave}, {told - before:.2f} s")

    return Watch(finished, lambda name, done, known: None)


def _lines(name: str, course: _Course) -> Watch:
    told = perf_counter()

    def tell() -> None:
        nonlocal told
        if perf_counter() - told >= TOLD_S:
            told = perf_counter()
            click.echo(f"{safe(name)}: {safe(str(course))}", err=True)

    def finished(info: InputInfo, total: int) -> None:
        course.finished(info, total)
        if not course.complete:
            tell()

    def within(source: str, done: int, known: int) -> None:
        course.within(source, done, known)
        tell()

    return Watch(finished, within)


@contextmanager
def _bar(name: str, course: _Course) -> Iterator[Watch]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(24), MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"), TimeRemainingColumn(), TextColumn("{task.fields[inside]}", markup=False),
    )  # fmt: skip
    with Progress(*columns, console=terminal.console(stderr=True), transient=True) as bar:
        task = bar.add_task(safe(name), total=None, rate="", inside="")

        def finished(info: InputInfo, total: int) -> None:
            course.finished(info, total)
            bar.update(task, advance=1, total=total, rate=course.rate, inside=safe(course.inside))

        def within(source: str, done: int, known: int) -> None:
            course.within(source, done, known)
            bar.update(task, inside=safe(course.inside))

        yield Watch(finished, within)
