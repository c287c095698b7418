"""Fields of records that are named by their path through nested objects."""

from typing import Any

import msgspec
import pytest

from ctxsim.errors import InputError
from ctxsim.readers.assembly import Assembly
from ctxsim.readers.assembly.chat_messages import add_messages
from ctxsim.readers.source import convert


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
    ],
)
def test_a_name_with_dots_is_a_path(value: dict[str, Any], read: Line) -> None:
    assert convert(value, Line, "here") == read


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ({"usage": {"input": "x"}}, "Expected `int | null`, got `str` - at `$.usage.input`"),
        ({"usage": {"details": {"cached": None}}}, "Expected `int`, got `null` - at `$.usage.details.cached`"),
        ({"usage": 4}, "Expected `object | null`, got `int` - at `$.usage`"),
        ({"usage": {"details": [1]}}, "Expected `object | null`, got `array` - at `$.usage.details`"),
        ([], "Expected `object`, got `array`"),
    ],
)
def test_what_does_not_fit_is_named_by_its_path(value: Any, error: str) -> None:
    with pytest.raises(InputError) as caught:
        convert(value, Line, "s.jsonl:4")
    assert str(caught.value) == f"s.jsonl:4: {error}"


@pytest.mark.parametrize(("before", "recorded"), [([], False), ([{"role": "system", "content": "Be brief."}], True)])
def test_a_head_is_recorded_if_it_has_a_system_prompt(before: list[Any], recorded: bool) -> None:
    """One in mid-conversation is none: it is kept as user text."""
    assembly = Assembly("s.json")
    said = [{"role": "user", "content": "Any mail?"}, {"role": "assistant", "content": "Two."}]
    add_messages(assembly, [*before, *said, {"role": "system", "content": "Be quick."}], "s.json")
    assert assembly.transcript().head.recorded is recorded
