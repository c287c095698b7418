"""JSON in, JSON out, within the limit."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxsim.policies.json_aware import truncate

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=80) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=12), inner, max_size=6),
    max_leaves=40,
)


@settings(max_examples=300)
@given(values, st.integers(2, 400), st.booleans())
def test_json_in_is_json_out_within_the_limit(value: object, limit: int, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    after = truncate(text, limit)
    assert len(after) <= limit
    json.loads(after)
    assert after == text or len(text) > limit


@pytest.mark.parametrize("depth", [50, 900, 5_000, 200_000])
def test_json_nested_to_any_depth_stays_json(depth: int) -> None:
    for text in ("[" * depth + '"deep"' + "]" * depth, '{"a":' * depth + "1" + "}" * depth):
        after = truncate(text, 300)
        assert len(after) <= min(300, max(len(text), 300))
        json.loads(after)


@given(st.text(max_size=200), st.integers(0, 60))
def test_text_that_is_no_json_keeps_its_beginning(text: str, limit: int) -> None:
    after = truncate(text, limit) if limit else ""
    assert len(after) <= limit or after == text
