"""How much one source may be once it is decompressed: what is more is refused before it fills the memory or the day."""

import os
import time
from typing import BinaryIO

from ctxsim.errors import InputError

VARIABLE = "CTXSIM_MAX_MB"
DEFAULT_MB = 100
"""Decoded, a document of nothing but empty lists takes thirty times its size: this much suits a machine of 4 GB."""

VALUES_PER_MB = 50_000
"""JSON values of a document or a line, for each MB that it may have. Recordings have one in twelve bytes at most; a
list of empty lists has one in three."""

RATIO = 100
"""How often its own size a compressed source may expand to: recordings reach 28."""

EXPANDED = 1_000_000
"""Bytes that it may have however small it is."""

SOURCE_BYTES = 20_000_000_000
SOURCE_SECONDS = 600.0
SECONDS_PER_MB = 1.0
"""How long one source may be read, and as much more for each MB: twenty times what is usual."""

MOST_FILES = 1_000_000
"""Sources that one path may mean."""

MOST_DEEP = 100
"""Folders within one another below a path."""

MOST_STARS = 3
"""How often a pattern may hold `**`: each goes through all folders once more for each folder before it."""


def most_bytes() -> int:
    """Return the limit for one document, one line or one archive member, in bytes; CTXSIM_MAX_MB sets it in MB.

    Raises InputError if the variable is no positive number.
    """
    text = os.environ.get(VARIABLE, str(DEFAULT_MB))
    try:
        megabytes = float(text)
    except ValueError:
        megabytes = 0.0
    if not 0 < megabytes < 1e9:
        raise InputError(VARIABLE, f"is '{text}', not a number of megabytes")
    return int(megabytes * 1_000_000)


def read_all(stream: BinaryIO, name: str) -> bytes:
    """Return everything that a stream holds. Raises InputError if that is more than the limit."""
    limit = most_bytes()
    data = stream.read(limit + 1)
    if len(data) > limit:
        raise too_large(name)
    return data


def too_large(name: str, what: str = "is") -> InputError:
    """The refusal, with the way out."""
    return InputError(name, f"{what} larger than {most_bytes() / 1e6:,.0f} MB decompressed; {VARIABLE} sets the limit")


def check_values(data: bytes, where: str) -> None:
    """Raise InputError where JSON holds more values than a document may have: each takes memory, however short it is.

    Commas and brackets of its texts count too, so that nothing need be parsed first.
    """
    most = VALUES_PER_MB * most_bytes() // 1_000_000
    if len(data) > most and data.count(b",") + data.count(b"[") + data.count(b"{") > most:
        raise InputError(where, f"holds more than {most:,} values; {VARIABLE} sets the limit")


def check_expansion(expanded: int, compressed: int, name: str) -> None:
    """Raise InputError where a source has expanded to more than recordings do."""
    if expanded > max(EXPANDED, RATIO * compressed):
        raise InputError(name, f"expands to more than {RATIO} times its size; if it is yours, decompress it first")


class Pace:
    """How long a source has been read, and how much of it. `took` raises InputError once that is too much."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._began = time.monotonic()
        self._bytes = 0

    def took(self, size: int) -> None:
        """Count so many more bytes."""
        self._bytes += size
        if self._bytes > SOURCE_BYTES:
            raise InputError(self._name, f"is larger than {SOURCE_BYTES / 1e9:.0f} GB: give it in parts")
        if time.monotonic() - self._began > SOURCE_SECONDS + SECONDS_PER_MB * self._bytes / 1e6:
            raise InputError(self._name, f"took longer than {SOURCE_SECONDS:.0f} s to read: give it in parts")
