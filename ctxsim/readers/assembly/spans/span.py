"""A span: one timed piece of work in a trace, with attributes as plain values by their full names."""

import math
from collections.abc import Mapping
from typing import Any

import msgspec

Attributes = Mapping[str, Any]


class Event(msgspec.Struct, frozen=True):
    """An event of a span, or a log record that names its span."""

    name: str
    attributes: Attributes
    body: Any = None


class Span(msgspec.Struct):
    """One span; `start_s` in epoch seconds, `lost` the number of attributes and events over the SDK's limits."""

    trace: str
    id: str
    parent: str
    start_s: float | None
    attributes: Attributes
    events: list[Event]
    lost: int = 0


def flat(value: Mapping[str, Any], before: str = "") -> Attributes:
    """Return nested attributes by their full names; list entries are numbered from 0. Flat ones are unchanged."""
    found: dict[str, Any] = {}
    for name, entry in value.items():
        full = f"{before}{name}"
        if isinstance(entry, dict) and not full.startswith("gen_ai."):
            found |= flat(entry, f"{full}.")
        elif isinstance(entry, list) and any(isinstance(one, dict) for one in entry) and not full.startswith("gen_ai."):
            found |= flat({str(number): one for number, one in enumerate(entry)}, f"{full}.")
        else:
            found[full] = entry
    return found


def nested(attributes: Attributes, prefix: str) -> list[dict[str, Any]]:
    """Return the values under `prefix.0.`, `prefix.1.` and so on as nested objects in order; gaps are closed."""
    found: dict[int, dict[str, Any]] = {}
    for name, value in attributes.items():
        if name.startswith(f"{prefix}."):
            number, _, rest = name[len(prefix) + 1 :].partition(".")
            if number.isdecimal() and len(number) < 10 and rest:
                _put(found.setdefault(int(number), {}), rest.split("."), value)
    return [found[number] for number in sorted(found)]


def _put(into: dict[str, Any], path: list[str], value: Any) -> None:
    for step in path[:-1]:
        inner = into.setdefault(step, {})
        if not isinstance(inner, dict):
            return
        into = inner
    into[path[-1]] = value


def in_order(value: Any) -> list[Any]:
    """Return the entries of a list that attributes spell as an object with numbers for names; [] for other values."""
    if not isinstance(value, dict):
        return []
    return [value[name] for name in sorted((name for name in value if name.isdecimal() and len(name) < 10), key=int)]


def finite(value: Any) -> int | float | None:
    """Return a finite number, also from a table cell's text; None for any other value, such as an empty cell."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    number = isinstance(value, int | float) and not isinstance(value, bool) and -math.inf < value < math.inf
    return value if number else None
