"""Reading of transcripts: errors are printed at the end, so that an unreadable file doesn't end the command."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial
from time import perf_counter
from typing import NoReturn, TypeVar

from ctxsim.cli.loudness import detail
from ctxsim.cli.output import tell_and_exit
from ctxsim.errors import InputError, NotATranscript, agreed
from ctxsim.readers import read_source, sources
from ctxsim.readers.source import Source
from ctxsim.transcript import Transcript

Found = TypeVar("Found")
Part = tuple[list[Found], list[str], InputError | None]
"""What a process found in one source: a value for each transcript, the lines of `-v`, and what ended it early."""


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
        return self._in_turn(sources(*self.paths))

    def _in_turn(self, found: Iterable[Source]) -> Iterator[Transcript]:
        for source in found:
            try:
                self._seconds += yield from _told(source, detail)
            except InputError as error:
                self._refused(source, error)

    def map(self, function: Callable[[Transcript], Found]) -> Iterator[Found]:
        """Yield a function of each transcript, in order, from as many processes as are worth starting.

        The function must be a module's own one, or a partial of it, so that it can be pickled.
        """
        # Imported here, as few commands need it.
        from ctxsim.runs.processes import each, fitting

        found = list(sources(*self.paths))
        jobs = fitting(found)
        if jobs == 1:
            yield from map(function, self._in_turn(found))
            return
        for source, (values, lines, error) in zip(found, each(partial(_part, function), found, jobs), strict=True):
            yield from values
            for line in lines:
                detail(line)
            if error is not None:
                self._refused(source, error)

    def _refused(self, source: Source, error: InputError) -> None:
        of_no_format = isinstance(error, NotATranscript) and not source.named
        (self.left_out if of_no_format else self.errors).append(str(error))

    def finish(self) -> NoReturn:
        """Print what wasn't read, and exit: with status 1 if there was an error."""
        if self._seconds:
            detail(f"read: {self._seconds:.2f} s")
        tell_and_exit(self.left_out, self.errors)


def _part(function: Callable[[Transcript], Found], source: Source) -> Part[Found]:
    values: list[Found] = []
    lines: list[str] = []
    try:
        for transcript in _told(source, lines.append):
            values.append(function(transcript))
    except InputError as error:
        return values, lines, error
    return values, lines, None


def _told(source: Source, tell: Callable[[str], object]) -> Generator[Transcript, None, float]:
    """Yield the transcripts of a source, and return the seconds it took to read them. `tell` gets the lines of `-v`."""
    transcripts, calls, seconds = 0, 0, 0.0
    found = read_source(source)
    while True:
        began = perf_counter()
        transcript = next(found, None)
        seconds += perf_counter() - began
        if transcript is None:
            break
        transcripts, calls = transcripts + 1, calls + len(transcript.calls)
        yield transcript
        for one in transcript.notes:
            tell(f"{transcript.name}: {agreed(one)}")
    told = agreed(f"{transcripts:,} transcript(s), {calls:,} call(s)")
    tell(f"{source.name}: {told}, read in {seconds:.2f} s")
    return seconds
