"""Values packed into columns of Arrow.

`pyarrow.array` imports pandas: a third of a second, and 60 MB, in each process that does nothing but replay.
"""

import struct
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

_CODES = {"string": "s", "int64": "q", "double": "d", "bool": "?"}


def code_of(kind: Any) -> str:
    """Return how values of an Arrow type are packed. Raises KeyError for a type that no column has."""
    return _CODES[str(kind)]


def packed(values: Sequence[Any], kind: Any, code: str) -> Any:
    """Return values as an Arrow array. None is missing, except among truths. Raises struct.error for another type."""
    import pyarrow

    there = None
    try:
        buffers = _buffers(values, code)
    except (struct.error, TypeError):  # one is None
        if values.count(None) == len(values):
            return pyarrow.nulls(len(values), kind)
        there = pyarrow.py_buffer(_bits([value is not None for value in values]))
        buffers = _buffers([_EMPTY[code] if value is None else value for value in values], code)
    return pyarrow.Array.from_buffers(kind, len(values), [there, *map(pyarrow.py_buffer, buffers)])


_EMPTY = {"s": "", "q": 0, "d": 0.0}


def _buffers(values: Sequence[Any], code: str) -> list[bytes]:
    if code == "?":
        return [_bits(values)]
    if code != "s":
        return [struct.pack(f"{len(values)}{code}", *values)]
    text = "".join(values)
    if text.isascii():
        return [_offsets(map(len, values)), text.encode()]
    encoded = [value.encode() for value in values]
    return [_offsets(map(len, encoded)), b"".join(encoded)]


def _offsets(lengths: Iterable[int]) -> bytes:
    offsets = list(accumulate(lengths, initial=0))
    return struct.pack(f"{len(offsets)}i", *offsets)


def _bits(truths: Sequence[bool]) -> bytes:
    import numpy

    return numpy.packbits(numpy.array(truths, dtype=bool), bitorder="little").tobytes()
