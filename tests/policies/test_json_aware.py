"""JSON in, JSON out, within the limit."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxsim.policies.json_aware import truncate

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=80) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=12), inner, max_size=6),
    max_leaves=40,
)


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


LETTERS = "abcdefghijklmnopqrstuvwxyz"
NUMBERS = "[111111111111111111,2,3,44444444444444444444444]"
ERROR = json.dumps({"data": "x" * 30, "Error": "y" * 30}, separators=(",", ":"))  # 78 characters
FAILED = '{"aaaa":1111,"bbbb":2222,"cccc":3333,"dddd":4444,"Error":"no such file"}'
LONG = json.dumps({"error": "e" * 30, "b": "b" * 30, "c": "c" * 30}, separators=(",", ":"))


@pytest.mark.parametrize(
    ("text", "limit", "after"),
    [
        # The mark has 15 characters: there is room for it and a letter from 16 on.
        (LETTERS, 26, LETTERS), (LETTERS, 16, "a... (truncated)"), (LETTERS, 15, LETTERS[:15]),
        # As a JSON string it needs 17, with two quotation marks.
        (f'"{LETTERS}"', 18, '"a... (truncated)"'), (f'"{LETTERS}"', 17, '"... (truncated)"'),
        (f'"{LETTERS}"', 16, '"abcdefghijklmn"'), ('"abcdef"', 2, '""'),
        ("[1,2]", 1, "0"), ("123456789012", 5, '"123"'),
        # An escaped quotation mark has two characters: 21 - 17 is room for two of them, as is 22 - 17.
        ('"' + '\\"' * 20 + '"', 21, '"\\"\\"... (truncated)"'),
        ('"' + '\\"' * 20 + '"', 22, '"\\"\\"... (truncated)"'),
        # Two elements: brackets and a comma are 3, and what is left is shared.
        ("[11111,22222]", 9, '[".","."]'), ("[11111,22222]", 7, '["",""]'), ("[11111,22222]", 6, '"... "'),
        # Four: "... (2 items omitted)" has 23 with its quotation marks, brackets and commas 4, two empty strings 4.
        (NUMBERS, 40, '["... ","... (2 items omitted)","... ("]'), (NUMBERS, 31, '["","... (2 items omitted)",""]'),
        (NUMBERS, 30, '"... (4 items ... (truncated)"'),
        # An error keeps what it wants (32 of 60 - 18 for keys and marks), and the rest shares what is left (10).
        (ERROR, 60, '{"data":"xxxxxxxx","Error":"' + "y" * 30 + '"}'),
        (ERROR, 40, '{"data":"","Error":"yyy... (truncated)"}'),
        ('"\\ud800 and a long text \u00e9 follows"', 30, '"\\ud800 and a ... (truncated)"'),
        ("{not json at all, but long", 20, "{not ... (truncated)"),
        # What begins with more than 63 spaces isn't looked at as JSON.
        (" " * 63 + '{"a":"' + "x" * 90 + '"}', 40, '{"a":"' + "x" * 17 + '... (truncated)"}'),
        (" " * 64 + '{"a":"' + "x" * 90 + '"}', 40, " " * 25 + "... (truncated)"),
        # Other scripts stay as they are; half of a pair is an escape.
        ('"' + "\u6570" * 50 + '"', 20, '"' + "\u6570" * 3 + '... (truncated)"'),
        # Of three values the middle one is told.
        (json.dumps(["a" * 30, "b" * 30, "c" * 30], separators=(",", ":")), 80,
         '["aaaaaaaaa... (truncated)","... (1 items omitted)","cccccccccc... (truncated)"]'),
        ("[1111,2222,3333]", 15, '"... (3 items "'),
        # What says what went wrong stays first, where not all keys fit, and has what it wants before others share.
        (FAILED, 72, FAILED), (FAILED, 71, FAILED.replace("1111", '"."')),
        (FAILED, 60, '{"aaaa":"","bbbb":"","cccc":"","dddd":"","Error":"no such "}'),
        (FAILED, 50, '{"aaaa":"","Error":"no su","...":"3 keys omitted"}'),
        (FAILED, 44, '{"Error":"no such f","...":"4 keys omitted"}'),
        (LONG, 100, LONG.replace("b" * 30, "b" * 7 + "... (truncated)").replace("c" * 30, "c" * 7 + "... (truncated)")),
        (LONG, 60, LONG.replace("b" * 30, "bb").replace("c" * 30, "cc")),
        (LONG, 56, LONG.replace("b" * 30, "").replace("c" * 30, "")),
        (LONG, 55, '{"error":"eeeeeeeeeeeeee... (truncated)","b":"","c":""}'),
        (LONG, 40, '{"error":"eeeeeeeeeeeeee","b":"","c":""}'),
    ],
)  # fmt: skip
def test_what_stays_at_a_limit(text: str, limit: int, after: str) -> None:
    assert truncate(text, limit) == after
    assert len(after) <= limit
