"""Fields of records that are named by their path through nested objects."""

from typing import Any

import msgspec
import pytest

from ctxsim.errors import InputError
from ctxsim.readers.source import convert
from ctxsim.readers.source.values import (
    compact_json,
    convert_all,
    decoded,
    has,
    json_document,
    json_values,
    time_s,
)


class Line(msgspec.Struct):
    role: str = ""
    tokens: int | None = msgspec.field(default=None, name="usage.input")
    cached: int = msgspec.field(default=0, name="usage.details.cached")


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ({"role": "a", "usage": {"input": 3, "details": {"cached": 2}}}, Line("a", 3, 2)),
        # Numbers may be texts, as everywhere.
        ({"usage": {"input": "3", "details": None}}, Line("", 3)),
        ({"usage": {"details": {"cached": 2}}}, Line("", None, 2)),
        ({"usage": None}, Line()),
        ({}, Line()),
        # A null is no value, also where a field takes none.
        ({"role": None, "usage": {"input": None, "details": {"cached": None}}}, Line()),
    ],
)
def test_a_name_with_dots_is_a_path(value: dict[str, Any], read: Line) -> None:
    assert convert(value, Line, "here") == read


class Inner(msgspec.Struct):
    name: str
    text: str = "-"


class Outer(msgspec.Struct):
    calls: list[Inner] = []
    usage: Inner | None = None
    told: Any = None


def test_nulls_are_taken_out_only_where_a_field_takes_none() -> None:
    calls = [{"name": "a", "text": None}, {"name": "b", "text": "x"}, {"name": "c", "text": None}]
    # Another key that also begins with the path of the null.
    given = {"calls": calls, "told": {"text": None}, "usage": {"name": "d", "text": None}, "usage.text": 5}
    read = Outer([Inner("a"), Inner("b", "x"), Inner("c")], Inner("d"), {"text": None})
    assert convert(given, Outer, "here") == read
    assert calls[0] == {"name": "a", "text": None}
    with pytest.raises(InputError, match=r"missing required field `name` - at `\$.usage`"):
        convert({"usage": {"name": None}}, Outer, "here")
    with pytest.raises(InputError, match=r"got `null` - at `\$.calls\[0\]`"):
        convert({"calls": [None]}, Outer, "here")


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ({"usage": {"input": "x"}}, "Expected `int | null`, got `str` - at `$.usage.input`"),
        ({"usage": {"details": {"cached": "x"}}}, "Expected `int`, got `str` - at `$.usage.details.cached`"),
        ({"usage": 4}, "Expected `object | null`, got `int` - at `$.usage`"),
        ({"usage": {"details": [1]}}, "Expected `object | null`, got `array` - at `$.usage.details`"),
        ([], "Expected `object`, got `array`"),
    ],
)
def test_what_does_not_fit_is_named_by_its_path(value: Any, error: str) -> None:
    with pytest.raises(InputError) as caught:
        convert(value, Line, "s.jsonl:4")
    assert str(caught.value) == f"s.jsonl:4: {error}"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        # Seconds up to 5138, and milliseconds from 1973 on.
        (0, 0), (-500, -500), (1_766_714_402.5, 1_766_714_402.5), (99_999_999_999, 99_999_999_999), (1e11, 1e8),
        (1_766_714_402_500, 1_766_714_402.5),
        # A time in UTC, in another zone and without one, and what is none.
        ("1970-01-01T00:00:01.5Z", 1.5), ("1970-01-01T01:00:00+01:00", 0.0),
        ("1970-01-01T00:01:00", 60.0), ("1970-01-02", 86_400.0), ("yesterday", None), (True, None), (None, None),
    ],
)  # fmt: skip
def test_a_time_in_seconds(value: Any, seconds: float | None) -> None:
    assert time_s(value) == seconds


@pytest.mark.parametrize(
    ("value", "fields", "is_so"),
    [
        ({"a": 1, "b": "x"}, {"a": int, "b": str}, True), ({"a": 1}, {"a": int, "b": str}, False),
        ({"a": "1"}, {"a": int}, False), ({"a": None}, {"a": object}, True), ([], {}, False), ({}, {}, True),
    ],
)  # fmt: skip
def test_an_object_with_fields(value: Any, fields: dict[str, type], is_so: bool) -> None:
    assert has(value, **fields) is is_so


@pytest.mark.parametrize(
    ("line", "values"),
    [
        (b"", []), (b'{"a":1}', [{"a": 1}]), (b'{"a":1} [2]\t3', [{"a": 1}, [2], 3]),
        (b'{"a":1}{"b":2}  ', [{"a": 1}, {"b": 2}]), (b'\0\0{"a":1}', [{"a": 1}]),
        # Half an emoji, as a value and as a key, is the sign for what can't be read.
        (b'{"\\ud83d": ["x\\ude00"]}', [{"\ufffd": ["x\ufffd"]}]),
    ],
)  # fmt: skip
def test_the_values_of_a_line(line: bytes, values: list[Any]) -> None:
    assert json_values(line) == values


@pytest.mark.parametrize(
    ("line", "said"),
    [(b'{"a":', "truncated"), (b'"\xff"', "invalid UTF-8 at byte 1"), (b"1 x", "trailing")],
)
def test_a_line_that_holds_none_says_why(line: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        json_values(line)


def test_a_document_says_the_line_of_what_is_no_text() -> None:
    assert json_document(b'{"a": "\\ud83d"}', "f") == {"a": "\ufffd"}
    with pytest.raises(InputError, match=r"^f:3: invalid UTF-8 at byte 5$"):
        json_document(b'[\n1\n"\xff"]', "f")
    with pytest.raises(InputError, match="f: is not complete JSON"):
        json_document(b"[1", "f")


def test_json_inside_a_recording() -> None:
    assert [decoded(one) for one in ('{"a":1}', "no", None, 5, ["x"])] == [{"a": 1}, None, None, 5, ["x"]]
    assert [decoded(one) for one in ('["\\ud83d"]', '["\\ud83d', "NaN")] == [["\ufffd"], None, None]
    assert [compact_json(one) for one in ("ß", {"b": [1, "ß"], "a": None}, 5)] == ["ß", '{"b":[1,"ß"],"a":null}', "5"]
    assert convert_all([{"role": "a"}], Line, "f") == [Line("a")]
    with pytest.raises(InputError, match=r"^f 1: Expected `str`"):
        convert_all([{}, {"role": 5.5}], Line, "f")
