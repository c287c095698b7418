"""A file is whole under its name, or not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxsim.results.files import remove_leftovers, replacing, temporary_of


def test_the_name_is_given_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    with replacing(path) as temporary:
        temporary.write_text("new")
        assert temporary == temporary_of(path) and temporary.parent == path.parent and path.read_text() == "old"
    assert path.read_text() == "new" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_leaves_what_was_there(error: BaseException, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    with pytest.raises(type(error)), replacing(path) as temporary:
        temporary.write_text("half")
        raise error
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("told", "stays"), [(ProcessLookupError(), False), (PermissionError(), True), (None, True)]
)  # fmt: skip
def test_what_a_process_left_goes_once_it_has_ended(
    told: OSError | None, stays: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process of somebody else's can't be asked, which says that there is one."""
    left = temporary_of(tmp_path / "a.json")
    left.write_text("half")

    def kill(process: int, signal: int) -> None:
        assert signal == 0
        if told is not None:
            raise told

    monkeypatch.setattr("os.kill", kill)
    remove_leftovers(tmp_path / "a.json")
    assert left.exists() is stays
