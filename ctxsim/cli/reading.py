"""Read all, tell the errors: one unreadable file doesn't end a command, and is never passed over in silence."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import click

from ctxsim.cli.output import tell
from ctxsim.cli.terminal import safe
from ctxsim.errors import InputError, NotATranscript
from ctxsim.readers import read_source, sources
from ctxsim.transcript import Transcript


class Reading:
    """Transcripts of several paths; what can't be read is remembered and told at the end.

    A file of no known format is left out if it was found in a folder, and an error if it was named.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = paths
        self.errors: list[str] = []
        self.left_out: list[str] = []

    def __iter__(self) -> Iterator[Transcript]:
        for source in sources(*self.paths):
            try:
                yield from read_source(source)
            except NotATranscript as error:
                (self.errors if source.named else self.left_out).append(str(error))
            except InputError as error:
                self.errors.append(str(error))

    def finish(self) -> None:
        """Tell each once and exit: with status 1 if there was an error."""
        for text in dict.fromkeys(self.left_out):
            click.echo(f"left out: {safe(text)}", err=True)
        for text in dict.fromkeys(self.errors):
            tell(text)
        sys.exit(1 if self.errors else 0)
