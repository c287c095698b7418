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


@pytest.mark.parametrize(
    ("limit", "after"),
    [
        (61, '{"aaaa":1111,"bbbb":2222,"cccc":3333,"dddd":4444,"eeee":5555}'),  # as it was: 61 characters
        (60, '{"aaaa":".","bbbb":2222,"cccc":3333,"dddd":4444,"eeee":5555}'),  # 60
        (51, '{"aaaa":"","bbbb":"","cccc":"","dddd":"","eeee":""}'),  # 51: all keys still fit
        (50, '{"aaaa":1111,"bbbb":2222,"...":"3 keys omitted"}'),  # 48
        (45, '{"aaaa":"","bbbb":".","...":"3 keys omitted"}'),  # 45
        (44, '{"aaaa":1111,"...":"4 keys omitted"}'),  # 36
        (35, '{"aaaa":".","...":"4 keys omitted"}'),  # 35
        (34, '"... (truncated)... (truncated)"'),  # 32
    ],
)
def test_keys_go_before_values_as_far_as_the_limit_asks(limit: int, after: str) -> None:
    text = json.dumps({key * 4: int(str(n) * 4) for n, key in enumerate("abcde", 1)}, separators=(",", ":"))
    assert truncate(text, limit) == after


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
