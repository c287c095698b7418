"""Users' Python files as modules, and TOML within bounds."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from ctxsim.errors import InputError, LabelError
from ctxsim.plugins import files
from ctxsim.plugins.files import (
    FROM_FILE,
    MOST_BYTES,
    config_values,
    load_file,
    small_file,
    toml_values,
    user_file,
    with_value,
    without_comments,
)


@pytest.fixture(autouse=True)
def nothing_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_texts", {})
    monkeypatch.setattr(files, "_given", set())


def test_json_is_read_without_comments_and_trailing_commas() -> None:
    text = '{"a": [1, 2,], // one, two\n "b": "no // comment", /* and */ }'
    assert json.loads(without_comments(text)) == {"a": [1, 2], "b": "no // comment"}


def test_a_value_is_set_in_a_copy_however_deep_it_lies() -> None:
    data = {"a": [{"b": 1}, {"c": 2}], "d": 3}
    assert with_value(data, ("a", 1, "c"), 4) == {"a": [{"b": 1}, {"c": 4}], "d": 3}
    assert with_value(data, ("e", "f"), 5) == data | {"e": {"f": 5}} and with_value(data, ("d",), 6)["d"] == 6
    assert data == {"a": [{"b": 1}, {"c": 2}], "d": 3} and with_value(data, (), 7) == 7


def test_one_text_at_one_place_is_one_module(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.py"
    file.write_text("print('loud')\nx = 1\n")
    made = load_file("policy", str(file))
    assert load_file("policy", str(file)) is made and made.x == 1
    (tmp_path / "b").mkdir()
    assert load_file("policy", str(shutil.copy(file, tmp_path / "b"))) is not made
    capsys.readouterr()
    file.write_text("print('loud')\nx = 1.0\n")
    assert load_file("policy", str(file)) is not made
    assert (
        made.__name__.startswith(f"{FROM_FILE}policy_mine_")
        and len(made.__name__) == len(f"{FROM_FILE}policy_mine_") + 16
    )
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "loud\n"), "standard output is for rows"
    file.write_text("x = 2\n")
    assert load_file("policy", str(file)).x == 2
    assert load_file("reader", str(file)).__name__.startswith(f"{FROM_FILE}reader_mine_")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = (\n", r"policy file .*mine\.py, line 1: SyntaxError: '\(' was never closed"),
        ("import no_such_module_", r"line 1: ModuleNotFoundError: .*; PYTHONPATH names folders of modules"),
        ("\n\nraise KeyError('a\\nb')", r"mine\.py, line 3: KeyError: 'a\\nb'"),
        ("raise SystemExit(2)", "line 1: SystemExit: 2"),
        ("import json\n\njson.loads('{')\n", r"line 3: JSONDecodeError: "),
        ("\nexec('x = (')\n", r"line 2: SyntaxError: "),
        ("def f():\n    1 / 0\n\nf()\n", r"line 2: ZeroDivisionError: division by zero"),
    ],
)  # fmt: skip
def test_what_running_it_raises_is_told_with_its_line(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(LabelError, match=said):
        load_file("policy", str(tmp_path / "mine.py"))


def test_a_file_is_read_by_who_may_and_remembered(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one")
    read: list[Path] = []

    def reading(path: Path) -> bytes:
        read.append(path)
        return b"two"

    assert user_file("vendor", str(tmp_path / "a"), reading) == b"two" and read == [tmp_path / "a"]
    assert files.files_loaded() == {str(tmp_path / "a"): b"two"}
    files.files_loaded().clear()
    assert files.files_loaded(), "a copy"
    with pytest.raises(LabelError, match="no vendor file "):
        user_file("vendor", str(tmp_path))


@pytest.mark.parametrize(
    ("data", "values"),
    [(b"a = 1", {"a": 1}), ("é = 'ü'".encode(), None), (b"", {}), (b"[a.b]\nc = 1.5", {"a": {"b": {"c": 1.5}}})],
)  # fmt: skip
def test_toml_is_values_or_refused(data: bytes, values: Any) -> None:
    if values is None:
        with pytest.raises(InputError, match="f: is no TOML"):
            toml_values(data, "f")
    else:
        assert toml_values(data, "f") == config_values(data.decode(), "toml", "f") == values
    with pytest.raises(InputError, match="f: is no TOML: "):
        toml_values(b"\xff", "f")


def test_toml_is_nested_as_deep_as_people_write() -> None:
    with pytest.raises(InputError, match="is nested too deeply"):
        toml_values(b"a = " + b"[" * 50_000 + b"]" * 50_000, "f")


@pytest.mark.parametrize("text", ["{} = 1", "[{}]", "x = {{ {} = 1 }}"])
def test_a_long_key_is_refused_wherever_it_stands(text: str) -> None:
    parts = ['"a"' if "x" in text else "a"] * 101
    with pytest.raises(InputError, match="has a key of more than 100 parts"):
        toml_values(text.format(" . ".join(parts)).encode(), "f")
    assert toml_values(text.format(" . ".join(parts[1:])).encode(), "f")


def test_given_files_are_read_as_if_they_were_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_texts", {})
    monkeypatch.setattr(files, "_given", set())
    here, gone = tmp_path / "here.py", str(tmp_path / "gone.py")
    here.write_bytes(b"x = 1")
    assert not files.files_given() and files.files_loaded() == {}
    assert files.user_file("policy", str(here)) == b"x = 1" and files.files_loaded() == {str(here): b"x = 1"}
    with pytest.raises(LabelError, match=r"no policy file .*gone\.py"):
        files.user_file("policy", gone)
    files.give_files({gone: b"y = 2"})
    assert files.files_given() and files.user_file("policy", gone) == b"y = 2"
    assert files.load_file("policy", gone).y == 2
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert files.config_folder() == tmp_path / "ctxsim"
    monkeypatch.delenv("XDG_CONFIG_HOME")
    assert files.config_folder() == Path.home() / ".config" / "ctxsim"


def test_a_small_file_is_read_also_where_the_system_has_no_flag_for_pipes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.toml"
    file.write_bytes(b"x" * MOST_BYTES)
    assert small_file(file) == b"x" * MOST_BYTES
    monkeypatch.delattr(os, "O_NONBLOCK")
    assert small_file(file) == b"x" * MOST_BYTES
    file.write_bytes(b"x" * (MOST_BYTES + 1))
    with pytest.raises(InputError, match="is larger than 1,000,000 bytes"):
        small_file(file)


@pytest.mark.skipif(os.name != "posix", reason="pipes with a name")
def test_nobody_waits_for_who_writes_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is a pipe, a device or a socket"):
        small_file(tmp_path / "pipe")


@pytest.mark.skipif(os.name != "posix", reason="pipes with a name")
def test_a_folder_is_told_by_its_name_and_leaves_no_handle_open(tmp_path: Path) -> None:
    def lowest_free() -> int:
        handle = os.dup(0)
        os.close(handle)
        return handle

    before = lowest_free()
    with pytest.raises(IsADirectoryError) as told:
        small_file(tmp_path)
    assert (told.value.filename, lowest_free()) == (str(tmp_path), before)
