"""Reading of transcripts: errors are printed at the end, so that an unreadable file doesn't end the command."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import perf_counter
from typing import Any, NoReturn, TypeVar

import msgspec

from ctxsim.cli.loudness import detail, loudness
from ctxsim.cli.output import tell_and_exit
from ctxsim.cli.progress import progress
from ctxsim.errors import InputError, NotATranscript, agreed
from ctxsim.readers import read_source, sources
from ctxsim.readers.source import Source
from ctxsim.results import InputInfo
from ctxsim.transcript import Transcript

Found = TypeVar("Found")


class _Done(msgspec.Struct):
    """A source that was read: a value for each transcript, calls, the lines of `-v`, and the error that ended it."""

    values: list[Any] = []
    calls: int = 0
    lines: list[str] = []
    seconds: float = 0.0
    error: InputError | None = None


class Reading:
    """The transcripts of several paths. Errors are collected, and `finish` prints them.

    A file of no known format is left out if it was found in a folder, and an error if it was named. With `-v`, the
    number of each file's transcripts and calls is printed, and each note on what was mended or left out.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = paths
        self.errors: list[str] = []
        self.left_out: list[str] = []
        self._seconds = 0.0

    def __iter__(self) -> Iterator[Transcript]:
        for source in sources(*self.paths):
            done = _Done()
            yield from _told(source, done)
            self._add(source, done)

    def map(self, function: Callable[[Transcript], Found]) -> Iterator[Found]:
        """Yield a function of each transcript, in order, from as many processes as are worth starting.

        The function must be a module's own one, or a partial of it, so that it can be pickled.
        """
        # Imported here, as few commands need it.
        from ctxsim.runs.processes import each, fitting

        found = list(sources(*self.paths))
        parts = each(partial(_part, function), found, fitting(found))
        with progress("reading") as course:
            for source, done in zip(found, parts, strict=True):
                yield from done.values
                self._add(source, done)
                # With -v, the lines of the source say it.
                if loudness() != "verbose":
                    course.finished(InputInfo(source.name, "", len(done.values), done.calls), len(found))

    def _add(self, source: Source, done: _Done) -> None:
        self._seconds += done.seconds
        for line in done.lines:
            detail(line)
        if done.error is not None:
            of_no_format = isinstance(done.error, NotATranscript) and not source.named
            (self.left_out if of_no_format else self.errors).append(str(done.error))

    def finish(self) -> NoReturn:
        """Print what wasn't read, and exit: with status 1 if there was an error."""
        detail(f"read: {self._seconds:.2f} s")
        tell_and_exit(self.left_out, self.errors)


def _part(function: Callable[[Transcript], Found], source: Source) -> _Done:
    done = _Done()
    done.values += map(function, _told(source, done))
    return done


def _told(source: Source, done: _Done) -> Iterator[Transcript]:
    """Yield the transcripts of a source. `done` gets everything but the values."""
    transcripts, found = 0, read_source(source)
    while True:
        began = perf_counter()
        try:
            transcript = next(found, None)
        except InputError as error:
            done.error = error
            return
        finally:
            done.seconds += perf_counter() - began
        if transcript is None:
            break
        transcripts, done.calls = transcripts + 1, done.calls + len(transcript.calls)
        yield transcript
        done.lines += [f"{transcript.name}: {agreed(one)}" for one in transcript.notes]
    told = agreed(f"{transcripts:,} transcript(s), {done.calls:,} call(s)")
    done.lines.append(f"{source.name}: {told}, read in {done.seconds:.2f} s")
