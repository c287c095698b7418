"""Reading of transcripts: errors are printed at the end, so that an unreadable file doesn't end the command."""

from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import NoReturn

from ctxsim.cli.loudness import detail
from ctxsim.cli.output import tell_and_exit
from ctxsim.errors import InputError, NotATranscript, agreed
from ctxsim.readers import read_source, sources
from ctxsim.readers.source import Source
from ctxsim.transcript import Transcript


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
            try:
                yield from self._told(source)
            except NotATranscript as error:
                (self.errors if source.named else self.left_out).append(str(error))
            except InputError as error:
                self.errors.append(str(error))

    def _told(self, source: Source) -> Iterator[Transcript]:
        before, transcripts, calls = self._seconds, 0, 0
        found = read_source(source)
        while True:
            began = perf_counter()
            try:
                transcript = next(found, None)
            finally:
                self._seconds += perf_counter() - began
            if transcript is None:
                break
            transcripts, calls = transcripts + 1, calls + len(transcript.calls)
            yield transcript
            for one in transcript.notes:
                detail(f"{transcript.name}: {agreed(one)}")
        told = agreed(f"{transcripts:,} transcript(s), {calls:,} call(s)")
        detail(f"{source.name}: {told}, read in {self._seconds - before:.2f} s")

    def finish(self) -> NoReturn:
        """Print what wasn't read, and exit: with status 1 if there was an error."""
        detail(f"read: {self._seconds:.2f} s")
        tell_and_exit(self.left_out, self.errors)
