"""Files that another process gave stand for those on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxsim.errors import LabelError
from ctxsim.plugins import files


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
