"""YAML: a value is put where it belongs and nothing else moves."""

from __future__ import annotations

from functools import reduce
from operator import getitem

import pytest
import yaml

from ctxsim.errors import CtxsimError
from ctxsim.live.configs.edit import parsed
from ctxsim.live.configs.yaml_text import edited


@pytest.mark.parametrize(
    ("text", "path", "value", "after"),
    [
        # A value that is there, in a table, a list, the last of a list; what stands around it stays.
        ("a: 1 # one\nb: 2\n", ("a",), 3, "a: 3 # one\nb: 2\n"),
        ("a:\n  - 1\n  - 2\n", ("a", 1), 5, "a:\n  - 1\n  - 5\n"),
        ("a: {b: 1}\n", ("a", "b"), "ß", 'a: {b: "ß"}\n'),
        # A new key stands first in its table, indented as that is.
        ("a: 1\n", ("b",), 2, "b: 2\na: 1\n"),
        ("a:\n    c: 1\n", ("a", "b"), True, "a:\n    b: true\n    c: 1\n"),
        ("a: 1\n", ("b", "c", "d"), 2, "b:\n  c:\n    d: 2\na: 1\n"),
        # On one line: behind the bracket, with the tables on the way to it.
        ("a: {b: 1}\n", ("a", "c"), 2, 'a: {"c": 2, b: 1}\n'),
        ("{b: 1}\n", ("c", "d", "e"), 2, '{"c": {"d": {"e": 2}}, b: 1}\n'),
        # Line ends stay as they are; an empty text, and one of comments alone, without a line end or with one.
        ("a: 1\r\n", ("b",), 2, "b: 2\r\na: 1\r\n"),
        ("", ("b", "c"), 2, "b:\n  c: 2\n"),
        ("# mine", ("b",), 2, "# mine\nb: 2\n"),
        ("# mine\r\n", ("b",), 2, "# mine\r\nb: 2\r\n"),
        # The path through a list leads into one of its tables.
        ("m:\n  - n: 1\n", ("m", 0, "o"), 2, "m:\n  - o: 2\n    n: 1\n"),
    ],
)
def test_a_value_is_put_under_a_key(text: str, path: tuple[str | int, ...], value: object, after: str) -> None:
    made = edited(text, path, value)
    assert made == after
    assert reduce(getitem, path, parsed(made, "yaml")) == value


@pytest.mark.parametrize(
    ("text", "path", "said"),
    [
        ("a: {}\n", ("a", "b"), "an empty table can't be filled"),
        ("a:\n", ("a", "b"), "an empty table can't be filled"),
        ("a: 1\n", ("a", "b"), "no table"),
        ("a: [1]\n", ("a", "b"), "no table"),
        ("a: [1]\n", ("a", 1), "no table"),
        ("a: x\n", ("a", 0), "no table"),
    ],
)
def test_where_nothing_can_be_put_that_is_said(text: str, path: tuple[str | int, ...], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        edited(text, path, 1)


def test_an_empty_text_holds_nothing_and_broken_yaml_is_told() -> None:
    assert parsed("", "yaml") == {} == parsed("# mine\n", "yaml")
    assert parsed("a: [1, x]", "yaml") == {"a": [1, "x"]}
    with pytest.raises(CtxsimError, match=r"it can't be read as yaml: .*line 1"):
        parsed("a: [1", "yaml")
    assert yaml.safe_load(edited("a: 1\n", ("t",), "true")) == {"t": "true", "a": 1}
