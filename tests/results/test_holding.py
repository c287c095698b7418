"""Who holds a run's folder, what of it is whose, and the checksums of what lies in it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from made_runs import made_run

from ctxsim.errors import InputError
from ctxsim.results import folder
from ctxsim.results.checksums import sealed, sums, verify
from ctxsim.results.files import replacing, sync
from ctxsim.results.folder import LOCK, MARKER, PICTURES, WORK, RunFolder, remove
from ctxsim.results.run_info import TABLES, RunInfo
from ctxsim.results.writer import PART_ROWS, ROW_GROUP, RunWriter


def test_a_folder_is_held_by_one(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "a" / "b") as held:
        assert (held.work, held.marked, held.stopped) == (held.folder / WORK, False, False)
        held.begin()
        assert held.marked and not held.stopped, "it is being written"
        (held.work / "x").mkdir()
        (held.work / "x" / "y").write_text("z")
        (held.work / "w").write_text("z")
    # Begun and left: somebody may go on.
    assert RunFolder(tmp_path / "a" / "b").stopped and not (held.folder / LOCK).exists()
    with RunFolder(tmp_path / "a" / "b") as again:
        again.begin()
        assert [one.name for one in again.work.iterdir()] == [MARKER]
        again.clear()
        assert not again.work.exists()
        again.clear()
    assert (tmp_path / "a" / "b").is_dir(), "it was there before"


def test_what_is_not_marked_is_nobody_s_to_clear(tmp_path: Path) -> None:
    held = RunFolder(tmp_path)
    held.work.mkdir()
    (held.work / MARKER).write_text("something else")
    assert not held.marked
    held.clear()
    assert (held.work / MARKER).exists()
    (held.work / MARKER).write_bytes(b"\xff\xfe")
    assert not held.marked
    with pytest.raises(InputError, match="holds parts, which no run"):
        held.__enter__()


def test_pictures_of_commands_may_be_replaced_in_a_run_of_ours_alone(tmp_path: Path) -> None:
    assert set(PICTURES) == {
        "token-growth.png", "estimates.png", "survival-tokens.png", "survival-dollars.png", "sweep-curves.png",
        "sweep-heatmap.png", "report.html",
    }  # fmt: skip
    made_run(tmp_path / "run", {"keep-all": [{}]})
    for name in ("calls.csv", "report.html", "estimates.png"):
        (tmp_path / "run" / name).write_text("drawn by somebody")
    with RunFolder(tmp_path / "run"):
        pass
    (tmp_path / "run" / "estimates.png").unlink()
    (tmp_path / "run" / "estimates.png").mkdir()
    with pytest.raises(InputError, match=r"holds estimates\.png, which no run"):
        RunFolder(tmp_path / "run").__enter__()


@pytest.mark.parametrize(("name", "ours"), [("part-00000.parquet", True), ("part-123456.parquet", True),
                                            ("part-0000.parquet", False), ("part-00000.parquet.x", False)])  # fmt: skip
def test_a_folder_of_a_table_holds_parts_alone(name: str, ours: bool, tmp_path: Path) -> None:
    made_run(tmp_path / "run", {"keep-all": [{}]})
    (tmp_path / "run" / "calls.parquet").unlink()
    (tmp_path / "run" / "calls.parquet").mkdir()
    (tmp_path / "run" / "calls.parquet" / name).write_text("x")
    if ours:
        with RunFolder(tmp_path / "run"):
            return
    with pytest.raises(InputError, match=r"holds calls\.parquet"):
        RunFolder(tmp_path / "run").__enter__()


def test_the_marker_goes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = RunFolder(tmp_path)
    held.begin()
    (held.work / "x").write_text("x")
    gone: list[str] = []
    monkeypatch.setattr(folder, "remove", lambda path: gone.append(path.name))
    held.clear()
    assert gone == ["x", WORK]


def test_removing_takes_a_link_and_not_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "x").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "there")
    remove(tmp_path / "link")
    assert (tmp_path / "there" / "x").exists() and not (tmp_path / "link").exists()
    remove(tmp_path / "there")
    remove(tmp_path / "there")
    assert not list(tmp_path.iterdir())


def test_each_file_of_a_table_has_a_checksum(tmp_path: Path) -> None:
    (tmp_path / "calls.csv").write_text("a")
    (tmp_path / "calls.parquet").mkdir()
    for name in ("part-00001.parquet", "part-00000.parquet"):
        (tmp_path / "calls.parquet" / name).write_text(name)
    (tmp_path / "needs.parquet").mkdir()
    (tmp_path / "needs.parquet" / "part-00000.parquet").write_text("n")
    (tmp_path / "other.csv").write_text("o")

    def digest(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()

    assert sums(tmp_path) == {
        "calls.csv": digest("a"),
        "calls.parquet/part-00000.parquet": digest("part-00000.parquet"),
        "calls.parquet/part-00001.parquet": digest("part-00001.parquet"),
        # While it is written a table of one file lies in a folder.
        "needs.parquet": digest("n"),
    }


def test_a_description_holds_its_own_checksum(tmp_path: Path) -> None:
    info = RunInfo("n", "t", "0", {}, (), {}, (), {}, (), (), (), digest="old")
    text = sealed(info)
    told = json.loads(text)
    assert text.endswith(b"\n}\n") and text.startswith(b'{\n  "name": "n",\n')
    without = text.replace(told["digest"].encode(), b"")
    assert told["digest"] == hashlib.sha256(without).hexdigest() and list(told)[-1] == "digest"
    known = RunInfo("n", "t", "0", {}, (), {}, (), {}, (), (), (), digest=told["digest"])
    verify(tmp_path, text, known)
    with pytest.raises(InputError, match=r"run\.json: has changed"):
        verify(tmp_path, text.replace(b'"n"', b'"m"'), known)
    # What says nothing of files is of an earlier version.
    verify(tmp_path, b"anything", RunInfo("n", "t", "0", {}, (), {}, (), {}, (), (), ()))
    for some in ({"files": {"calls.csv": "x"}}, {"digest": "x"}):
        with pytest.raises(InputError, match=r"run\.json: has changed"):
            verify(tmp_path, b"anything", RunInfo("n", "t", "0", {}, (), {}, (), {}, (), (), (), **some))  # type: ignore[arg-type]


def test_an_error_of_the_temporary_file_is_told_of_the_file_itself(tmp_path: Path) -> None:
    path = tmp_path / "no" / "a.json"
    with pytest.raises(FileNotFoundError) as told, replacing(path) as temporary:
        temporary.write_text("x")
    assert (told.value.filename, told.value.errno) == (str(path), 2)
    other = tmp_path / "other"
    with pytest.raises(FileNotFoundError) as told, replacing(tmp_path / "a.json"):
        other.read_text()
    assert told.value.filename == str(other)


def test_a_device_is_never_replaced() -> None:
    # Root may rename a file to /dev/stdout, which then is a file for all programs.
    with pytest.raises(InputError, match="/dev/nothing: is a device; name a file"), replacing(Path("/dev/nothing")):
        pass


def test_a_bench_that_fails_before_its_first_row_leaves_nothing(tmp_path: Path) -> None:
    assert (ROW_GROUP, PART_ROWS) == (10_000, 1_000_000)
    with RunFolder(tmp_path / "run") as held:
        held.begin()
        with RunWriter(held):
            pass
        assert [one.name for one in held.work.iterdir()] == [MARKER]
        with pytest.raises(ValueError, match="stop"), RunWriter(held) as writer:
            [writer._table(name) for name in TABLES]
            assert len(list(held.work.iterdir())) > len(TABLES)
            raise ValueError("stop")
        assert [one.name for one in held.work.iterdir()] == [MARKER]


def test_the_name_is_given_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    sync(tmp_path / "gone")
    with replacing(path) as temporary, replacing(path) as other:
        other.write_text("newer")
        temporary.write_text("new")
        assert temporary != other and temporary.parent == path.parent and path.read_text() == "old"
    assert path.read_text() == "new" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_leaves_what_was_there(error: BaseException, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    with pytest.raises(type(error)), replacing(path) as temporary:
        temporary.write_text("half")
        raise error
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]
