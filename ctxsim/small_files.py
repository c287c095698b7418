"""Files of settings and rules, which anybody may have written: regular, small, and parsed within bounds."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from pathlib import Path
from typing import Any

from ctxsim.errors import InputError

MOST_BYTES = 1_000_000
MOST_PARTS = 100
"""Of a dotted key: the parser's time grows with their square."""

_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+"""
_LONG_KEY = re.compile(rf"(?<![\w-]){_PART}(?:\.[ \t]*+{_PART}){{{MOST_PARTS}}}", re.ASCII)


def small_file(path: Path) -> bytes:
    """Return what stands in a file. Raises InputError for a pipe, a device, or more than 1 MB; OSError as the system
    does, for one that isn't there too.
    """
    # Opening a pipe to read would wait for a writer.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as stream:
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):
            raise InputError(path, "is a pipe, a device or a socket, no file")
        data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise InputError(path, f"is larger than {MOST_BYTES / 1e6:.0f} MB, which no file of settings is")
    return data


def toml_values(data: bytes, where: object) -> dict[str, Any]:
    """Return the values of TOML. Raises InputError for what is none, or what no person would write."""
    try:
        text = data.decode("utf-8")
        if _LONG_KEY.search(text):
            raise InputError(where, f"has a key of more than {MOST_PARTS} parts")
        return tomllib.loads(text)
    except RecursionError:
        raise InputError(where, "is nested too deeply") from None
    except ValueError as error:
        raise InputError(where, f"is no TOML: {error}") from None
