"""Server-sent events: one event's bytes, and a text in the pieces in which it streams."""

from collections.abc import Iterator
from typing import Any

import msgspec

PIECE_CHARS = 400


def data(value: dict[str, Any], event: str = "") -> bytes:
    """Return one event with a JSON object."""
    name = f"event: {event}\n".encode() if event else b""
    return name + b"data: " + msgspec.json.encode(value) + b"\n\n"


def pieces(text: str) -> Iterator[str]:
    """Return a text piece by piece; nothing for an empty one."""
    for start in range(0, len(text), PIECE_CHARS):
        yield text[start : start + PIECE_CHARS]
