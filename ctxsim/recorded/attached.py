"""What Claude Code attaches again behind a compaction: the files touched last, as far as a log tells their size.

Seen in 27 recorded compactions: the next request is larger than head and summary by what the five files touched last
hold, but for those of over 5,000 tokens, which are left out (correlation .63). No line says so.
"""

import json
import re
from collections.abc import Iterable

from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies.agents.shared.tools import is_reader, path_read
from ctxsim.transcript import Item

FILES, FILE_TOKENS = 5, 5_000
"""So many files, and none that is larger."""

WRITERS = frozenset(("edit", "write", "multiedit"))

_NUMBERED = re.compile(r"^[ \t]*(\d{1,7})[→\t]", re.MULTILINE)
"""A line of a file as the agent shows it: its number stands before it."""


def attached_again(items: Iterable[Item], counter: Counter, factor: float) -> int:
    """Return the provider's tokens, `factor` for each counted one, of the files that are attached again behind items.

    A file that was read in parts is as long as its last line number says.
    """
    sizes: dict[str, float] = {}
    touched: dict[str, None] = {}
    asked: dict[int, str] = {}
    for item in items:
        if item.kind == "tool_call" and (is_reader(item.tool) or item.tool.lower() in WRITERS):
            if path := path_read(item):
                asked[item.place] = path
                # The newest stands last.
                touched.pop(path, None)
                touched[path] = None
                if (content := _written(item)) is not None:
                    sizes[path] = counter.text(content) * factor
        elif item.kind == "tool_result" and is_reader(item.tool) and item.answers in asked:
            lines = [int(number) for number in _NUMBERED.findall(item.text)]
            if lines:
                whole = counter.text(item.text) / len(lines) * max(lines) * factor
                path = asked[item.answers]
                sizes[path] = max(sizes.get(path, 0.0), whole)
    newest = list(touched)[-FILES:]
    return round(sum(size for path in newest if (size := sizes.get(path, 0.0)) <= FILE_TOKENS))


def _written(call: Item) -> str | None:
    """The whole new text of a file, where a call has it."""
    try:
        arguments = json.loads(call.text) if call.tool.lower() == "write" else None
    except ValueError:
        return None
    content = arguments.get("content") if isinstance(arguments, dict) else None
    return content if isinstance(content, str) else None
