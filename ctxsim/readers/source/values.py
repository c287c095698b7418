"""Decodes JSON, also where a recording isn't quite valid JSON, and converts it to the types that readers expect."""

import json
import math
import re
from collections.abc import Hashable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from ctxsim.errors import InputError
from ctxsim.readers.source.limits import check_memory, read_all

T = TypeVar("T")

_SURROGATE = re.compile("[\ud800-\udfff]")
_WRITTEN_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")

_NULL = re.compile(r"got `null` - at `\$((?!.*\[\.{3}).*[^\]])`$")
"""The path, in an error of msgspec, of a field that is null. None with a key that msgspec doesn't name."""

MOST_DIGITS = 4_000
"""Python reads no longer integers. Only so many leading digits of one are kept: still more than any limit."""

_DECODER = json.JSONDecoder(parse_int=lambda digits: int(digits[:MOST_DIGITS]))


def json_values(line: bytes) -> list[Any]:
    """Return the JSON values on one line. Raises ValueError with the reason, and the byte of invalid UTF-8.

    A file that a crash tore has zeros before its next line, which Claude Code's own reader skips too.
    """
    line = line.lstrip(b"\0")
    try:
        check_memory(line, "line")
        return [msgspec.json.decode(line)]
    except InputError as error:
        raise ValueError(error.what) from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as first:
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"invalid UTF-8 at byte {error.start}") from None
        values, position = [], 0
        try:
            while position < len(text):
                value, position = _DECODER.raw_decode(text, position)
                values.append(_clean(value))
                while position < len(text) and text[position].isspace():
                    position += 1
        except (ValueError, RecursionError):
            raise ValueError(str(first)) from None
        return values


def json_document(data: bytes, where: str) -> Any:
    """Return a whole file's JSON value. Raises InputError if it is cut, nested too deeply or no UTF-8.

    Lone surrogates (half an emoji) become U+FFFD: recordings hold them, and no tokenizer can read them.
    """
    check_memory(data, where)
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as first:
        try:
            return _clean(_DECODER.decode(data.decode("utf-8")))
        except UnicodeDecodeError as bad:
            line = data.count(b"\n", 0, bad.start) + 1
            raise InputError(f"{where}:{line}", f"invalid UTF-8 at byte {bad.start}") from None
        except (ValueError, RecursionError):
            raise InputError(where, f"is not complete JSON: {first}") from None
    except RecursionError:
        raise InputError(where, "is nested too deeply to be a transcript") from None


def json_file(path: Path, kind: type[T]) -> T:
    """Return the JSON of a file as `kind`. Raises InputError if it can't be read or doesn't fit."""
    try:
        with path.open("rb") as stream:
            data = read_all(stream, str(path))
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror or error}") from error
    return convert(json_document(data, str(path)), kind, str(path))


def decoded(text: Any) -> Any:
    """Return the value of a JSON text inside a recording, None if it is no JSON. Other values are returned as is."""
    if not isinstance(text, str):
        return text
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        with suppress(ValueError, RecursionError):
            return _clean(_DECODER.decode(text)) if _WRITTEN_SURROGATE.search(text) else None
        return None


def _clean(value: Any) -> Any:
    """Return the value with each lone surrogate in its texts replaced by U+FFFD."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_clean(entry) for entry in value]
    return {_clean(key): _clean(entry) for key, entry in value.items()} if isinstance(value, dict) else value


def convert(value: Any, kind: type[T], where: str) -> T:
    """Return a decoded JSON value as `kind`. Raises InputError naming the field that doesn't fit.

    A field name with dots is a path: `usage.input` is read from `input` in the object `usage`, and is missing if that
    object is missing. A `null` counts as missing where `kind` has none: agents and gateways write it for what they
    don't know.
    """
    try:
        if isinstance(value, dict) and (paths := _paths(cast(Hashable, kind))):
            value = {**value, **dict(_along(value, paths))}
        return msgspec.convert(value, kind, strict=False)
    except (msgspec.ValidationError, RecursionError) as error:
        if null := _NULL.search(str(error)):
            return convert(_without(value, null[1]), kind, where)
        raise InputError(where, str(error)) from None


def _without(value: Any, path: str) -> Any:
    """Return a copy without the nulls at a path such as `.calls[0].name`, in all entries of the lists on it."""
    if isinstance(value, list):
        return [_without(entry, path.partition("]")[2]) for entry in value]
    # A field's name may have dots, so that several may begin the path.
    ways = {key for key in value if f"{path}.".startswith((f".{key}.", f".{key}["))} if isinstance(value, dict) else ()
    if not ways:
        return value
    kept = {key: held for key, held in value.items() if held is not None or path != f".{key}"}
    return kept | {key: _without(kept[key], path[len(key) + 1 :]) for key in ways & kept.keys()}


@cache
def _paths(kind: Hashable) -> tuple[str, ...]:
    """Return the names of a struct's fields that are paths."""
    return tuple(name for name in getattr(kind, "__struct_encode_fields__", ()) if "." in name)


def _along(value: dict[str, Any], paths: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Yield those paths that an object has, with values. Raises ValidationError if a value above one is no object."""
    for path in paths:
        *above, name = path.split(".")
        held: Any = value
        for depth, step in enumerate(above, 1):
            try:
                held = msgspec.convert(held.get(step), dict[str, Any] | None, strict=False) or {}
            except msgspec.ValidationError as error:
                raise msgspec.ValidationError(f"{error} - at `$.{'.'.join(above[:depth])}`") from None
        if name in held:
            yield path, held[name]


def convert_all(values: Iterable[Any], kind: type[T], where: str) -> list[T]:
    """Return decoded JSON values as `kind`. Raises InputError naming the number of the one that doesn't fit."""
    return [convert(value, kind, f"{where} {number}") for number, value in enumerate(values)]


def has(value: Any, /, **fields: Any) -> bool:
    """Whether a decoded JSON value is an object with these fields, each of its type; `object` for one of any type."""
    return isinstance(value, dict) and all(name in value and isinstance(value[name], fields[name]) for name in fields)


def under(value: Any, *keys: str) -> Any:
    """Return the value under nested keys; None if a key is missing or its parent is no object."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def objects(value: Any, *keys: str) -> list[dict[str, Any]]:
    """Return the objects in the list under nested keys; [] if there is no such list."""
    found = under(value, *keys)
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def strings(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield each text in nested objects and lists, after the name of the innermost field that holds it."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for name, one in value.items():
            yield from strings(one, name)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from strings(one, key)


def time_s(value: Any) -> float | None:
    """Return an ISO 8601 time, or seconds or milliseconds since 1970, as epoch seconds; None if it is neither.

    A number below 1e11 is seconds: as milliseconds it would be in 1970 to 1973. A time without a zone is UTC,
    so that it is the same on every machine. A time too large for a date or a float is infinity, which is noted later.
    """
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value if value < 1e11 else value / 1000
        if not isinstance(value, str):
            return None
        time = datetime.fromisoformat(value)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except ValueError:
        return None
    except OverflowError:
        return math.inf


def compact_json(value: Any) -> str:
    """Return a JSON value as text without spaces, keys in their recorded order, non-ASCII as is."""
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode("utf-8")
