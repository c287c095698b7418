"""One key in a text: all else stays, to the byte, whatever the format."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxsim.errors import CtxsimError
from ctxsim.live.configs.edit import edited, parsed, with_value


def test_toml_keeps_comments_and_puts_a_key_before_tables() -> None:
    text = "# mine\nmodel = 'x' # the model\n\n[tools]\nweb = true\n"
    made = edited(text, "toml", ("model_auto_compact_token_limit",), 150_000)
    limit = "model_auto_compact_token_limit = 150000\n"
    assert made == f"# mine\nmodel = 'x' # the model\n{limit}\n[tools]\nweb = true\n"
    assert edited(text, "toml", ("tools", "web"), False) == text.replace("true", "false")
    # Tables that aren't there are made, the last one alone with a header.
    assert edited("x = 1\n", "toml", ("a", "b", "c"), 2) == "x = 1\n\n[a.b]\nc = 2\n"
    assert edited("", "toml", ("a", "b"), "t") == '[a]\nb = "t"\n'
    assert edited("a = 1\r\n", "toml", ("b",), 2) == "a = 1\r\nb = 2\r\n"


@pytest.mark.parametrize(
    ("text", "form", "path", "said"),
    [
        ('{"a": 1', "json", ("b",), "it can't be read as json"),
        ("a = = 1", "toml", ("b",), "it is no TOML"),
        ("a: [1", "yaml", ("b",), "it can't be read as yaml"),
        ('{"a": 1}', "json", ("a", "b"), "is int, not a table"),
        ('{"a": null}', "json", ("a", "b"), "is null, not a table"),
        ("[1, 2]", "json", ("a",), "is list, not a table"),
        ('{"a": [1]}', "json", ("a", 1, "b"), r"there is no entry 1 in the list on the way to 1\.b"),
        ('{"a": {"b": 1}}', "json", ("a", 0, "b"), "there is no entry 0 in the list"),
    ],
)
def test_what_cannot_be_set_is_told(text: str, form: Any, path: tuple[str | int, ...], said: str) -> None:
    with pytest.raises(CtxsimError, match=said):
        edited(text, form, path, 1)


def test_of_a_list_one_entry_is_changed() -> None:
    text = "models:\n  - name: one\n  # mine\n  - name: two\n    limit: 1\n"
    assert edited(text, "yaml", ("models", 1, "limit"), 2) == text.replace("limit: 1", "limit: 2")
    data = {"models": [{"limit": 1}, {"limit": 1}]}
    assert with_value(data, ("models", 1, "limit"), 2) == {"models": [{"limit": 1}, {"limit": 2}]}
    assert data == {"models": [{"limit": 1}, {"limit": 1}]}, "a copy"


KEYS = st.text("abcdefgh_-. äß\"\\'/#", min_size=1, max_size=6)
SCALARS = st.one_of(st.booleans(), st.integers(-(10**9), 10**9), st.text('ab "\\/#:{}[],ß\t', max_size=8))
DATA = st.dictionaries(KEYS, st.recursive(SCALARS, lambda inner: st.one_of(
    st.lists(SCALARS, max_size=3), st.dictionaries(KEYS, inner, max_size=3)), max_leaves=8), max_size=5)  # fmt: skip
PATHS = st.lists(KEYS, min_size=1, max_size=3).map(tuple)


def commented(text: str, marks: list[bool]) -> str:
    """A JSON text with comments at the ends of some of its lines."""
    return "\n".join(
        f"{line} // c{number}" if mark else line
        for number, (line, mark) in enumerate(zip(text.split("\n"), marks * 200, strict=False))
    )


def value_at(data: Any, path: tuple[str | int, ...]) -> Any:
    """What stands under a key; None where nothing does."""
    for key in path:
        if isinstance(key, int):
            data = data[key] if isinstance(data, list) and key < len(data) else None
        else:
            data = data.get(key) if isinstance(data, dict) else None
    return data


@given(DATA, PATHS, SCALARS, st.sampled_from([None, 2, 4, "\t"]), st.lists(st.booleans(), min_size=1, max_size=5))
def test_any_json_keeps_its_comments_and_says_one_thing_more(
    data: Any, path: tuple[str, ...], value: Any, indent: Any, marks: list[bool]
) -> None:
    text = json.dumps(data, indent=indent, ensure_ascii=False)
    text = commented(text, marks) if indent else text
    try:
        wanted = with_value(data, path, value)
    except CtxsimError:
        return
    made = edited(text, "jsonc", path, value)
    assert parsed(made, "jsonc") == wanted
    assert value_at(parsed(made, "jsonc"), path) == value
    if not isinstance(value_at(data, path), dict | list):
        assert [part for part in made.split() if part.startswith("c")] == [
            part for part in text.split() if part.startswith("c")
        ] or made.count("// c") == text.count("// c")
