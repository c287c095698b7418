"""Structure-preserving truncation: JSON stays JSON, arrays keep their ends, objects their keys."""

import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from ctxsim.policies.policy import Policy, Positive
from ctxsim.transcript import Item

MARK = "... (truncated)"
_SCALAR = re.compile(r"\s*(?:null|true|false|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*")
ERRORS = ("error", "errors", "message", "detail", "reason")
"""Keys whose values are shortened last."""


class JsonAware(Policy):
    """Cut each tool result to at most `chars` characters; valid JSON stays valid JSON.

    Arrays keep the first and the last element, with the number omitted between. Objects keep their keys and shorten
    long values. Strings get a mark; errors keep their beginning. Document 002, phase 2, which has no limit for arrays.
    """

    family = "seeds"
    source = "document 002, phase 2"

    chars: Positive = 4_000

    def on_tool_result(self, item: Item) -> Item:
        return item.with_text(truncate(item.text, self.chars))


def truncate(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters: valid JSON if the text is and `limit` is at least 2."""
    if len(text) <= limit:
        return text
    if _SCALAR.fullmatch(text):
        return dumped(_fit_string(text, limit))
    if text[:64].lstrip()[:1] not in ("{", "[", '"'):
        return shortened(text, limit)
    try:
        return dumped(fit(json.loads(text), limit))
    except RecursionError:
        # Nested too deeply to shorten: keep the beginning of the text as a JSON string.
        return dumped(_fit_string(text, limit))
    except ValueError:
        return shortened(text, limit)


def shortened(text: str, limit: int) -> str:
    """Return the beginning of a text with a mark, in at most `limit` characters."""
    return text[: limit - len(MARK)] + MARK if limit > len(MARK) else text[:limit]


def dumped(value: Any) -> str:
    """Return a value as compact JSON, non-ASCII characters unescaped, unless it holds a lone surrogate."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    halved = not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)
    return json.dumps(value, separators=(",", ":")) if halved else text


def size(value: Any) -> int:
    """Return the number of characters of a value as JSON."""
    return len(dumped(value))


def fit(value: Any, room: int) -> Any:
    """Return a shortened value whose JSON has at most `room` characters; "" or 0 if nothing else fits."""
    if size(value) <= room:
        return value
    if isinstance(value, str):
        return _fit_string(value, room)
    if isinstance(value, list):
        return _fit_array(value, room)
    if isinstance(value, dict):
        return _fit_object(value, room)
    return _fit_string(MARK, room)


def _fit_string(text: str, room: int) -> Any:
    """The longest beginning whose JSON fits, with a mark if there is room for one. Escapes count in full."""
    if room < 2:
        return 0
    mark = MARK if room >= len(MARK) + 2 else ""
    lengths = range(1, min(len(text), room) + 1)
    return text[: bisect_right(lengths, room, key=lambda length: size(text[:length] + mark))] + mark


def _fit_array(values: list[Any], room: int) -> Any:
    if len(values) > 2:
        between = f"... ({len(values) - 2} items omitted)"
        overhead = size(["", between, ""]) - 4
        if room >= overhead + 4:
            first, last = _shares([values[0], values[-1]], room - overhead)
            return [fit(values[0], first), between, fit(values[-1], last)]
        return _fit_string(f"... ({len(values)} items omitted)", room)
    overhead = len(values) + 1
    if room < overhead + 2 * len(values):
        return _fit_string(MARK, room)
    return [fit(value, share) for value, share in zip(values, _shares(values, room - overhead), strict=True)]


def _fit_object(values: dict[str, Any], room: int) -> Any:
    """An object with all keys if they fit, else with the first ones and the number of missing ones."""
    costs = {key: size(key) + 2 for key in values}
    chosen = sorted(values, key=lambda key: key.lower() not in ERRORS)  # errors first, then in order
    note: dict[str, Any] = {}
    if sum(costs.values()) + 1 + 2 * len(values) > room:
        left = room - size({"...": f"{len(values)} keys omitted"}) - 1
        needed = accumulate(costs[key] + 2 for key in chosen)
        chosen = [key for key, end in zip(chosen, needed, strict=True) if end <= left]
        if not chosen:
            return _fit_string(MARK, room)
        note = {"...": f"{len(values) - len(chosen)} keys omitted"}
    overhead = sum(costs[key] for key in chosen) + 1 + (size(note) - 1 if note else 0)
    first = [key for key in chosen if key.lower() in ERRORS]
    others = chosen[len(first) :]
    # Values of error keys get their full room first; the other values share the rest.
    room_first = max(2 * len(first), room - overhead - 2 * len(others))
    given = dict(zip(first, _shares([values[key] for key in first], room_first), strict=True))
    used = sum(min(given[key], size(values[key])) for key in first)
    rest = _shares([values[key] for key in others], room - overhead - used)
    given.update(zip(others, rest, strict=True))
    return {key: fit(value, given[key]) for key, value in values.items() if key in given} | note


def _shares(values: Sequence[Any], room: int) -> list[int]:
    """The room for each value: small values get what they need, the others share the rest evenly."""
    wanted = [size(value) for value in values]
    shares = [0] * len(values)
    left = sorted(range(len(values)), key=lambda n: wanted[n])
    while left:
        even = room // len(left)
        n = left.pop(0)
        shares[n] = min(wanted[n], even) if left else room
        room -= shares[n]
    return shares
