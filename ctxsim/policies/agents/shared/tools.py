"""Tools and their results: what a tool does, by the names it has in any agent, and how agents cut and clear results.

A policy may replay another agent's recordings.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import accumulate, takewhile

from ctxsim.counting.estimators.estimator import length
from ctxsim.counting.estimators.serialized import parsed
from ctxsim.transcript import CLEARED, Item
from ctxsim.view import View

SHELLS = frozenset(
    ("bash", "shell", "exec_command", "unified_exec", "local_shell", "run_shell_command", "run_commands",
     "execute_command", "terminal", "execute_bash", "container.exec", "developer__shell", "powershell")
)  # fmt: skip
READERS = frozenset(
    ("read", "read_file", "read_files", "view", "cat", "open_file", "readfile", "read_many_files", "view_file")
)
CAT = re.compile(r"cat +([^\s|&;<>$`'\"*?-][^\s|&;<>$`'\"*?]*)")
PATHS = ("file_path", "path", "absolute_path", "filePath", "filename", "file")


def is_shell(tool: str) -> bool:
    """Whether a tool runs commands."""
    return tool.lower() in SHELLS


def is_reader(tool: str) -> bool:
    """Whether a tool shows a file."""
    return tool.lower() in READERS


def path_read(call: Item, by_cat: bool = False) -> str:
    """Return the path that a call reads; of a shell's call, with `by_cat`, the path of a plain `cat`; '' if none."""
    arguments = parsed(call.text)
    if not isinstance(arguments, dict):
        return ""
    if is_shell(call.tool):
        printed = CAT.fullmatch(str(arguments.get("command", "")).strip()) if by_cat else None
        return printed[1] if printed else ""
    found = (arguments[key] for key in PATHS if isinstance(arguments.get(key), str))
    return next(found, "")


def files_read(view: View, by_cat: bool = False) -> dict[str, Item]:
    """Return, by path, the newest result of each file read, newest first. `by_cat` includes a shell's `cat PATH`."""
    found: dict[str, Item] = {}
    for result in reversed(view.results):
        if not (is_reader(result.tool) or (by_cat and is_shell(result.tool))) or result.answers is None:
            continue
        call = view.find(result.answers)
        if call and (path := path_read(call, by_cat)):
            found.setdefault(path, result)
    return found


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


def fitting(sizes: Iterable[int], room: float) -> int:
    """Return how many of these sizes, from the first on, fit a room together."""
    return sum(1 for _ in takewhile(lambda size: size <= room, accumulate(sizes)))


def rows_within(rows: Sequence[str], size: int) -> Sequence[str]:
    """Return the first rows that fit `size` bytes together, with a line feed between two."""
    return rows[: fitting((byte_length(row) + 1 for row in rows), size + 1)]


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


def clear_old(view: View, keep: int, reason: str, clears: Callable[[str], bool]) -> View:
    """Return the view with all but the newest `keep` results cleared, among those of tools that `clears` accepts."""
    results = [item for item in view.results if clears(item.tool)]
    old = [item.place for item in results[: max(0, len(results) - keep)]]
    return view.rewrite(dict.fromkeys(old, CLEARED), reason)
