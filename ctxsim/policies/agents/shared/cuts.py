"""How agents shorten tool results: cuts of long texts, and clearing of old results."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate, takewhile

from ctxsim.counting.estimators.estimator import length
from ctxsim.transcript import CLEARED, Item
from ctxsim.view import View


def first_bytes(text: str, size: int) -> str:
    """Return the longest beginning of at most `size` UTF-8 bytes, in whole characters."""
    data = text.encode("utf-8", "surrogatepass")
    while 0 < size < len(data) and data[size] & 0xC0 == 0x80:
        size -= 1
    return data[:size].decode("utf-8", "surrogatepass")


def last_bytes(text: str, size: int) -> str:
    """Return the longest end of at most `size` UTF-8 bytes, in whole characters."""
    data = text.encode("utf-8", "surrogatepass")
    start = max(0, len(data) - size)
    while start < len(data) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:].decode("utf-8", "surrogatepass")


byte_length = partial(length, unit="bytes")
"""Returns the UTF-8 bytes of a text."""


def ends_of(text: str, head: int, tail: int, mark: str) -> str:
    """Return the first `head` and last `tail` characters with `mark` between. A text of that length stays unchanged.

    `{left}` in the mark becomes the number of omitted characters.
    """
    left = len(text) - head - tail
    if left <= 0:
        return text
    return text[:head] + mark.format(left=f"{left:,}") + (text[-tail:] if tail else "")


def rows_within(rows: Sequence[str], size: int) -> Sequence[str]:
    """Return the first rows that fit `size` bytes together, with a line feed between two."""
    ends = takewhile(lambda end: end <= size + 1, accumulate(byte_length(row) + 1 for row in rows))
    return rows[: sum(1 for _ in ends)]


def whole_lines(text: str, lines: int, size: int, end: bool = False) -> str:
    """Return the first (`end`: last) whole lines, at most `lines` and `size` bytes, with a mark of how much is omitted.

    If not even one line fits, that line is cut. A text within both limits stays unchanged.
    """
    every = text.split("\n")
    if len(every) <= lines and byte_length(text) <= size:
        return text
    kept = rows_within((every[::-1] if end else every)[:lines], size)
    if not kept:
        cut = last_bytes(every[-1], size) if end else first_bytes(every[0], size)
        return _told(cut, byte_length(text) - byte_length(cut), "bytes", end)
    return _told("\n".join(kept[::-1] if end else kept), len(every) - len(kept), "lines", end)


def _told(kept: str, left: int, what: str, end: bool) -> str:
    mark = f"...{left} {what} truncated..."
    return f"{mark}\n\n{kept}" if end else f"{kept}\n\n{mark}"


def newest_texts(
    items: Sequence[Item], tokens: int, measure: Callable[[str], int], cut: Callable[[str, int], str]
) -> dict[int, str]:
    """Return the user's newest texts within `tokens`, by place. The text that crosses the limit is cut to the rest.

    A token is 4 units of `measure`.
    """
    kept: dict[int, str] = {}
    for item in reversed(items):
        if item.kind == "user" and tokens > 0:
            size = -(-measure(item.text) // 4)
            kept[item.place] = item.text if size <= tokens else cut(item.text, 4 * tokens)
            tokens -= size
    return kept


def clear_old(view: View, keep: int, reason: str, clears: Callable[[str], bool]) -> View:
    """Return the view with all but the newest `keep` results cleared, among those of tools that `clears` accepts."""
    results = [item for item in view.results if clears(item.tool)]
    old = [item.place for item in results[: max(0, len(results) - keep)]]
    return view.rewrite(dict.fromkeys(old, CLEARED), reason)
