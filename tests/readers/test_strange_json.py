"""Detection looks at anybody's files: whatever JSON they hold, every format answers yes or no."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ctxsim.readers import registered_formats
from ctxsim.readers.source import Sample, Source

NAMED = {mark for one in registered_formats().values() for mark in getattr(one, "MARKS", ()) if mark.isidentifier()}
KEYS = st.sampled_from(sorted({"content", "data", "id", "message", "messages", "role", "text", "type", *NAMED}))
WORDS = st.sampled_from(
    ["user", "assistant", "system", "message", "metadata", "session_start", "human", "tool_call", "text", ""]
)
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), WORDS)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=12
)


@given(values=st.lists(VALUES, min_size=1, max_size=4), lines=st.booleans())
def test_every_format_answers_for_any_json(values: list[Any], lines: bool) -> None:
    text = "\n".join(map(json.dumps, values)) if lines else json.dumps(values[0])
    for name, reader in registered_formats().items():
        assert reader.matches(Sample(Source("strange", data=text.encode()))) in (True, False), name
