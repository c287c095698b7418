"""JSON values: decoded even where a recording holds what JSON doesn't allow, and turned into what readers expect."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from ctxsim.errors import InputError

T = TypeVar("T")

_SURROGATE = re.compile("[\ud800-\udfff]")


def json_values(line: bytes) -> list[Any]:
    """Return the JSON values on one line. Raises ValueError with the reason, and the byte of invalid UTF-8."""
    try:
        return [msgspec.json.decode(line)]
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as first:
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"invalid UTF-8 at byte {error.start}") from None
        decoder = json.JSONDecoder()
        values, position = [], 0
        try:
            while position < len(text):
                value, position = decoder.raw_decode(text, position)
                values.append(_clean(value))
                while position < len(text) and text[position].isspace():
                    position += 1
        except (json.JSONDecodeError, RecursionError):
            raise ValueError(str(first)) from None
        return values


def with_lone_surrogates(text: str) -> Any:
    """Decode JSON that holds half an emoji: such text is recorded, and no tokenizer can read it."""
    return _clean(json.loads(text))


def _clean(value: Any) -> Any:
    """The value with each lone surrogate in its texts as U+FFFD."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_clean(entry) for entry in value]
    return {_clean(key): _clean(entry) for key, entry in value.items()} if isinstance(value, dict) else value


def convert(value: Any, kind: type[T], where: str) -> T:
    """Return a decoded JSON value as `kind`. Raises InputError naming the field that doesn't fit."""
    try:
        return msgspec.convert(value, kind, strict=False)
    except (msgspec.ValidationError, RecursionError) as error:
        raise InputError(where, str(error)) from None


def time_s(value: Any) -> float | None:
    """Return an ISO 8601 time, or milliseconds since 1970, as epoch seconds; None if it is neither.

    A time without a zone is taken as UTC: it must not mean another time on another machine.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value / 1000
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        return None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def compact_json(value: Any) -> str:
    """Return a JSON value as text without spaces, keys in their recorded order, non-ASCII as is."""
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode("utf-8")
