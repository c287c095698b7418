"""Limits on a decompressed source: what exceeds them is refused before it fills the memory or takes hours to read."""

import time
from typing import BinaryIO

from ctxsim.errors import InputError
from ctxsim.plugins.files import limit_in

VARIABLE = "CTXSIM_MAX_MB"
DEFAULT_MB = 100
"""Decoded, such a document takes at most about 1.2 GB, or 2 GB if its texts are mended: it suits a machine of 4 GB."""

MEMORY = {b",": 75, b"[": 100, b"{": 200}
"""Bytes of memory that a short JSON value takes, by the mark before it or at its beginning. A key takes more, but is
bounded by its own length in the file.
"""

MEMORY_RATIO = 12
"""How many times the limit in bytes a decoded document or line may take. By these numbers, dense recordings take ten
times their size, and a list of empty lists sixty.
"""

RATIO = 100
"""How many times its own size a compressed source may expand to. Recordings reach 28 times."""

EXPANDED = 1_000_000
"""Bytes to which any compressed source may expand, however small it is."""

SOURCE_BYTES = 20_000_000_000
SOURCE_SECONDS = 600.0
SECONDS_PER_MB = 1.0
"""Most seconds for reading one source, and how many more for each MB: twenty times the usual."""

MOST_FILES = 1_000_000
"""Most files of a folder that are read."""

MOST_DEEP = 100
"""Most levels of folders below a path."""

MOST_STARS = 3
"""Most `**` in a pattern: each one goes through all folders again for each folder that those before it match."""


def most_bytes() -> int:
    """Return the limit for one document, one line or one archive member, in bytes; CTXSIM_MAX_MB sets it in MB.

    Raises InputError if the variable is no positive number.
    """
    return int(limit_in("megabytes", VARIABLE, DEFAULT_MB) * 1_000_000)


def read_all(stream: BinaryIO, name: str) -> bytes:
    """Return everything that a stream holds. Raises InputError if that is more than the limit."""
    limit = most_bytes()
    data = stream.read(limit + 1)
    if len(data) > limit:
        raise too_large(name)
    return data


def too_large(name: str, what: str = "is") -> InputError:
    """Return the error for a source over the limit; it names the variable that sets the limit."""
    return InputError(name, f"{what} larger than {most_bytes() / 1e6:,.0f} MB decompressed; {VARIABLE} sets the limit")


def check_memory(data: bytes, where: str) -> None:
    """Raise InputError if JSON would take too much memory when it is decoded.

    Counts commas and opening brackets, those inside texts too, so that nothing has to be parsed.
    """
    most = MEMORY_RATIO * most_bytes()
    if len(data) * max(MEMORY.values()) > most and sum(data.count(mark) * MEMORY[mark] for mark in MEMORY) > most:
        raise InputError(where, f"would take more than {most / 1e6:,.0f} MB of memory; {VARIABLE} sets the limit")


def check_expansion(expanded: int, compressed: int, name: str) -> None:
    """Raise InputError if a source expands to more than recordings do."""
    if expanded > max(EXPANDED, RATIO * compressed):
        raise InputError(name, f"expands to more than {RATIO} times its size; if it is yours, decompress it first")


class Pace:
    """The bytes read of a source, and the time since its start."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._began = time.monotonic()
        self._bytes = 0

    def took(self, size: int) -> int:
        """Count `size` more bytes; return all so far. Raises InputError if bytes or time exceed the limits."""
        self._bytes += size
        if self._bytes > SOURCE_BYTES:
            raise InputError(self._name, f"is larger than {SOURCE_BYTES / 1e9:.0f} GB: give it in parts")
        if time.monotonic() - self._began > SOURCE_SECONDS + SECONDS_PER_MB * self._bytes / 1e6:
            raise InputError(self._name, f"took longer than {SOURCE_SECONDS:.0f} s to read: give it in parts")
        return self._bytes
