"""Where in its source an atom stands: in the first characters, in the last, or between. Truncation keeps the ends."""

from __future__ import annotations

import re
from typing import Literal

from ctxsim.references.canonical import content, fold
from ctxsim.references.needs import Need
from ctxsim.transcript import Item

Depth = Literal["head", "middle", "tail"]

EDGE_CHARS = 500
"""How much of a text is its head, and its tail: what agents commonly retain."""

_BETWEEN = r"[\W_]+"


def depth(need: Need, source: Item) -> Depth:
    """Return where the atom first stands whole in its source, by canonical characters."""
    text = fold(content(source))
    if need.detector == "strict":
        pattern = rf"(?<![\w]){re.escape(need.atom)}(?![\w])"
    else:
        pattern = _BETWEEN.join(map(re.escape, need.atom.split(" ")))
    found = re.search(pattern, text)
    start = found.start() if found else max(0, text.find(need.atom.split(" ")[0]))
    end = found.end() if found else start
    if end <= EDGE_CHARS:
        return "head"
    return "tail" if start >= len(text) - EDGE_CHARS else "middle"
