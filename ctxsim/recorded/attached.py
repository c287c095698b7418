"""What Claude Code attaches again after a compaction: the files touched last whose size the log shows.

Seen in 27 recorded compactions: the next request is larger than head and summary by the tokens of the five files
touched last, without those of over 5,000 tokens (correlation .63). No line of the log states this.
"""

import re
from collections.abc import Iterable

from ctxsim.counting.estimators.serialized import handed
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies.agents.shared.tools import is_reader, path_read
from ctxsim.transcript import Item

FILES, FILE_TOKENS = 5, 5_000
"""Most files that are attached, and most tokens of each."""

WRITERS = frozenset(("edit", "write", "multiedit"))

_NUMBERED = re.compile(r"^[ \t]*(\d{1,7})[→\t]", re.MULTILINE)
"""The number before each line of a file as the agent shows it."""


def attached_again(items: Iterable[Item], counter: Counter, factor: float) -> int:
    """Return the provider's tokens, `factor` per counted token, of the files that are attached again after `items`.

    The size of a file that was read in parts is extrapolated to its last line number.
    """
    sizes: dict[str, float] = {}
    touched: dict[str, None] = {}
    asked: dict[int, str] = {}
    for item in items:
        if item.kind == "tool_call" and (is_reader(item.tool) or item.tool.lower() in WRITERS):
            if path := path_read(item):
                asked[item.place] = path
                # Move the path to the end: the newest is last.
                touched.pop(path, None)
                touched[path] = None
                content = handed(item.text).get("content") if item.tool.lower() == "write" else None
                if isinstance(content, str):
                    sizes[path] = counter.text(content) * factor
        elif item.kind == "tool_result" and is_reader(item.tool) and item.answers in asked:
            lines = [int(number) for number in _NUMBERED.findall(item.text)]
            if lines:
                whole = counter.text(item.text) / len(lines) * max(lines) * factor
                path = asked[item.answers]
                sizes[path] = max(sizes.get(path, 0.0), whole)
    newest = list(touched)[-FILES:]
    return round(sum(size for path in newest if (size := sizes.get(path, 0.0)) <= FILE_TOKENS))
