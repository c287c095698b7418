"""JSON and JSON with comments: a value is put where it belongs, as the text around it is written."""

from __future__ import annotations

from functools import reduce
from operator import getitem

import pytest

from ctxsim.errors import CtxsimError
from ctxsim.live.configs.edit import parsed
from ctxsim.live.configs.json_text import edited


@pytest.mark.parametrize(
    ("text", "path", "value", "after"),
    [
        # A value that is there.
        ('{"a": 1, "b": [1, 2]}', ("a",), "ß", '{"a": "ß", "b": [1, 2]}'),
        ('{"a": 1, "b": [1, 2]}', ("b", 1), 5, '{"a": 1, "b": [1, 5]}'),
        ('{"a": {"b": null}} // x', ("a", "b"), True, '{"a": {"b": true}} // x'),
        ('{"a":12,"b":[1,34]}', ("a",), 5, '{"a":5,"b":[1,34]}'),
        ('{"a":12,"b":[1,34]}', ("b", 1), 5, '{"a":12,"b":[1,5]}'),
        # A new key on one line, with the tables on the way to it.
        ('{"a": 1}', ("ß",), 2, '{"ß": 2, "a": 1}'), ('{"a": 1}', ("b", "c", "d"), 2, '{"b": {"c": {"d": 2}}, "a": 1}'),
        ('{"a": [\n1]}', ("b",), 2, '{"b": 2, "a": [\n1]}'),
        # On a line of its own, indented as the others are, by blanks or tabs.
        ('{\n "a": 1\n}', ("b", "c"), 2, '{\n "b": {\n  "c": 2\n },\n "a": 1\n}'),
        ('{\n\t"a": 1\n}', ("b", "c"), 2, '{\n\t"b": {\n\t\t"c": 2\n\t},\n\t"a": 1\n}'),
        ('{\n  "a": {\n    "x": 1\n  }\n}', ("a", "b"), 2, '{\n  "a": {\n    "b": 2,\n    "x": 1\n  }\n}'),
        # In an empty table and an empty text.
        ("{}", ("b",), 2, '{\n  "b": 2\n}'), ("", ("b",), 2, '{\n  "b": 2\n}\n'),
        ("\ufeff \r\n", ("b",), 2, '{\n  "b": 2\n}\n'), ("// x\n", ("b",), 2, '// x\n{\n  "b": 2\n}\n'),
        ("\ufeff// x\u2028\r\n", ("b",), 2, '\ufeff// x\u2028\r\n{\r\n  "b": 2\r\n}\r\n'),
        ('{\n    "a": {}\n}', ("a", "b"), 2, '{\n    "a": {\n        "b": 2\n    }\n}'),
        ("{\r\n}", ("b",), 2, '{\r\n  "b": 2\r\n}'), ("{ // mine\n}", ("b",), 2, '{ // mine\n  "b": 2\n}'),
        # A comment behind the bracket stays with it; others stay where they are.
        ('{ // mine\n "a": 1 // one\n}', ("b",), 2, '{ // mine\n "b": 2,\n "a": 1 // one\n}'),
        ('{ /* mine */\n // one\n "a": 1,\n}', ("b",), 2, '{\n "b": 2, /* mine */\n // one\n "a": 1,\n}'),
        ('{ "a":\n 1}', ("b",), 2, '{\n  "b": 2, "a":\n 1}'),
        ("{ /* mine */ }", ("b",), 2, '{\n  "b": 2\n /* mine */ }'),
    ],
)  # fmt: skip
def test_a_value_is_put_under_a_key(text: str, path: tuple[str | int, ...], value: object, after: str) -> None:
    made = edited(text, path, value)
    assert made == after
    assert reduce(getitem, path, parsed(made, "jsonc")) == value


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("1", 1), ('"x"', "x"), ("[]", []), ("{}", {}), ("[1, 2,]", [1, 2]), ('{"a": 1,}', {"a": 1}),
        ('{"}": "]"}', {"}": "]"}), ('["[", ","]', ["[", ","]), ("// c\n[1 /* , */, -2.5e1]", [1, -25.0]),
        ('{"a": [{"b": null}, true]}', {"a": [{"b": None}, True]}), ('"\\u00df"', "ß"),
    ],
)  # fmt: skip
def test_what_a_text_holds(text: str, data: object) -> None:
    assert parsed(text, "json") == data


@pytest.mark.parametrize("text", ["{} 1", "[1 2]", '{"a" 1}', "{1: 2}", '{"a": }', "[1,\n\n#]", "[1", "[" * 50_000])
def test_what_is_no_json_is_told(text: str) -> None:
    with pytest.raises(CtxsimError, match="it can't be read as json: "):
        parsed(text, "json")


def test_where_it_is_broken_is_told_as_the_file_stands() -> None:
    with pytest.raises(CtxsimError, match="line 4 column 2"):
        parsed("// a, b\n/* c\n*/ [1,\n ;]", "jsonc")


@pytest.mark.parametrize("path", [("a",), ("b",), ("c", "d")])
def test_beside_a_key_that_stands_there_twice_nothing_is_set(path: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"the key '[ac]' stands there twice"):
        edited('{"a": 1, "a": 2}' if len(path) == 1 else '{"c": {}, "c": {}}', path, 3)
