"""Output that is safe for a terminal: control characters of transcripts, file names and labels are escaped.

While a command runs, standard output and error are wrapped: all that ctxsim or a library prints goes through `safe`.
Colours bypass the wrapper: a console applies `safe` to each text and then adds colour codes.
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
from pathlib import Path
from typing import IO, Any, TextIO, cast

import click


def safe(text: str) -> str:
    """Return a text with its control and bidirectional characters as escapes, except line feeds and tabs.

    A character that may stand unescaped in JSON gets JSON's own escape, so that printed JSON stays JSON.
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
    """A text stream that applies a function to each text and writes the result to another stream."""

    def __init__(self, behind: TextIO, change: Callable[[str], str]) -> None:
        self.behind = behind
        self._change = change

    def write(self, text: str) -> int:
        # Bytes must raise an error, because click detects a text stream by that.
        self.behind.write(self._change(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    @property
    def buffer(self) -> IO[bytes]:
        """The stream for bytes. On a terminal they are changed like text; a file or a pipe gets them unchanged."""
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
    """Apply `safe` to all that is written to standard output and error inside the block. Closed ones take anything."""
    out, err = sys.stdout, sys.stderr
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        mine = cast("tuple[TextIO, TextIO]", (_Through(out or nowhere, safe), _Through(err or nowhere, safe)))
        sys.stdout, sys.stderr = mine
        try:
            yield
        finally:
            # A stream that other code has set meanwhile stays, such as click's after a broken pipe.
            if sys.stdout is mine[0]:
                sys.stdout = out
            if sys.stderr is mine[1]:
                sys.stderr = err


def columns() -> int | None:
    """Return the width of standard output: COLUMNS, or else the terminal's width; None if there is neither."""
    said = os.environ.get("COLUMNS", "").isdecimal() or sys.stdout.isatty()
    return shutil.get_terminal_size().columns if said else None


class _Words(textwrap.TextWrapper):
    """Breaks at spaces, and breaks a word that is longer than a line, such as a label or a path, after punctuation."""

    def _split(self, text: str) -> list[str]:
        room = self.width - len(self.subsequent_indent)
        words = super()._split(text)
        pieces = (re.findall(r"[^,:+/|]*[,:+/|]?", word) if len(word) > room else [word] for word in words)
        return list(filter(None, chain.from_iterable(pieces)))


def within(text: str, width: int | None, hanging: int = 2) -> str:
    """Return a text wrapped to `width`. The continuation of a line is indented by `hanging` more than the line."""
    found = []
    for line in text.split("\n"):
        if width and len(line) > width:
            indent = " " * (len(line) - len(line.lstrip()) + hanging)
            words = _Words(width, subsequent_indent=indent, break_on_hyphens=False)
            line = words.fill(line)
        found.append(line)
    return "\n".join(found)


def say(text: str = "", err: bool = False) -> None:
    """Print a text for people, escaped by `safe` and wrapped to the terminal's width."""
    click.echo(within(safe(text), columns()), err=err)


def console(stderr: bool = False, **options: Any) -> Any:
    """Return a rich console that writes to the unwrapped stream, and applies `safe` to the texts that it colours.

    Unless the stream is a terminal, spaces at the ends of lines, which pad tables, are removed.
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
