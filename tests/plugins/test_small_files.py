"""Small files: whole or refused, on any system."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ctxsim.errors import InputError
from ctxsim.plugins.files import MOST_BYTES, small_file


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
