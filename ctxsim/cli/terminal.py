"""The one door to the terminal: no control character of a transcript, a file name or a label gets through it.

While a command runs, standard output and error are doors: whatever is printed, by us or by a library, passes `safe`.
Colours are written behind the door, by a console whose texts have passed it.
"""

import io
import os
import re
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import IO, Any, TextIO, cast

import click


def safe(text: str) -> str:
    """Return a text whose control and bidirectional characters are shown as escapes, but for line feeds and tabs.

    Escapes are those of JSON where JSON may hold the character as it is: printed JSON stays JSON.
    """
    if text.isprintable():
        return text
    return "".join(
        character if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs") else
        _escape(character)
        for character in text
    )  # fmt: skip


def _escape(character: str) -> str:
    if character < " ":
        return f"\\x{ord(character):02x}"
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


class _Through:
    """A text stream that changes what is written, on its way to the stream behind it."""

    def __init__(self, behind: TextIO, change: Callable[[str], str]) -> None:
        self.behind = behind
        self._change = change

    def write(self, text: str) -> int:
        # Bytes raise an error, as they should: that is how click tells a text stream.
        self.behind.write(self._change(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    @property
    def buffer(self) -> IO[bytes]:
        """For bytes: into a file or a pipe as they are, on a terminal changed as text is."""
        return cast("IO[bytes]", _Bytes(self)) if self.isatty() else self.behind.buffer

    def __getattr__(self, name: str) -> Any:
        return getattr(self.behind, name)


class _Bytes(io.RawIOBase):
    def __init__(self, text: _Through) -> None:
        self._text = text

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._text.write(bytes(data).decode("utf-8", "replace"))
        return len(data)


@contextmanager
def doors() -> Iterator[None]:
    """Put a door before standard output and error."""
    out, err = sys.stdout, sys.stderr
    mine = cast("tuple[TextIO, TextIO]", (_Through(out, safe), _Through(err, safe)))
    sys.stdout, sys.stderr = mine
    try:
        yield
    finally:
        # What somebody else has put there meanwhile, as click does when a pipe breaks, is meant to stay.
        if sys.stdout is mine[0]:
            sys.stdout = out
        if sys.stderr is mine[1]:
            sys.stderr = err


def columns() -> int | None:
    """Return how wide standard output is: the terminal, or what COLUMNS says; None for a pipe of which nobody says."""
    said = os.environ.get("COLUMNS", "").isdecimal() or sys.stdout.isatty()
    return shutil.get_terminal_size().columns if said else None


class _Words(textwrap.TextWrapper):
    """Breaks at spaces; in what is longer than a line, as a label or a path, behind its punctuation."""

    def _split(self, text: str) -> list[str]:
        room = self.width - len(self.subsequent_indent)
        words = super()._split(text)
        pieces = (re.findall(r"[^,:+/|]*[,:+/|]?", word) if len(word) > room else [word] for word in words)
        return list(filter(None, chain.from_iterable(pieces)))


def within(text: str, width: int | None, hanging: int = 2) -> str:
    """Return a text whose lines are no wider than this; what is broken goes on that much further right."""
    found = []
    for line in text.split("\n"):
        if width and len(line) > width:
            indent = " " * (len(line) - len(line.lstrip()) + hanging)
            words = _Words(width, subsequent_indent=indent, break_on_hyphens=False, replace_whitespace=False)
            line = words.fill(line)
        found.append(line)
    return "\n".join(found)


def say(text: str = "", err: bool = False) -> None:
    """Print text for people, harmless and as wide as the terminal."""
    click.echo(within(safe(text), columns()), err=err)


def console(stderr: bool = False, **options: Any) -> Any:
    """Return a rich console behind the door, which lets only harmless text into what it colours.

    What isn't a terminal gets lines without the spaces that fill a table up.
    """
    from rich.console import Console
    from rich.segment import Segment

    class Harmless(Console):
        def render(self, renderable: Any, options: Any = None) -> Iterator[Segment]:
            for segment in super().render(renderable, options):
                yield segment if segment.control else Segment(safe(segment.text), segment.style)

    stream = sys.stderr if stderr else sys.stdout
    behind = stream.behind if isinstance(stream, _Through) else stream
    trimmed = _Through(behind, lambda text: re.sub(" +(?=\n)", "", text))
    return Harmless(file=cast("TextIO", behind if behind.isatty() else trimmed), **options)
