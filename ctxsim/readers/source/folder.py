"""JSON documents in a folder that is one source as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ctxsim.errors import InputError
from ctxsim.readers.source.limits import read_all
from ctxsim.readers.source.values import json_document


def json_file(path: Path) -> Any:
    """Return the JSON value of a file. Raises InputError if it can't be read or isn't complete."""
    try:
        with path.open("rb") as stream:
            data = read_all(stream, str(path))
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror or error}") from error
    return json_document(data, str(path))
