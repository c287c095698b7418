"""JSON documents in a folder that is one source as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from ctxsim.errors import InputError


def json_file(path: Path) -> Any:
    """Return the JSON value of a file. Raises InputError if it can't be read or isn't complete."""
    try:
        return msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror or error}") from error
    except msgspec.DecodeError as error:
        raise InputError(path, f"is not complete JSON: {error}") from None
