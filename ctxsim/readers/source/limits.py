"""How large one thing may be once it is decompressed: what is larger is refused before it fills the memory."""

from __future__ import annotations

import os
from typing import BinaryIO

from ctxsim.errors import InputError

VARIABLE = "CTXSIM_MAX_MB"
DEFAULT_MB = 100
"""Decoded, a document of nothing but empty lists takes thirty times its size: this much suits a machine of 4 GB."""


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
