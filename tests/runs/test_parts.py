"""Finished tasks on disk: what is kept, and what is as if it weren't there."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from ctxsim.errors import InputError
from ctxsim.results import InputInfo
from ctxsim.results.folder import MARKER, RunFolder
from ctxsim.runs.parts import MADE_WITH, Parts, _info, fingerprint, part_pieces, read_part, write_part
from ctxsim.runs.rows import Done

WITH = "a hash"


def done(sha256: str, beside: str = "") -> Done:
    return Done(InputInfo("a.json", sha256, 1, 2), beside)


def test_a_part_is_lengths_and_bytes_and_their_checksum(tmp_path: Path) -> None:
    first, second, last = part_pieces([done("a")])
    assert int.from_bytes(first, "big") == len(second) and len(first) == 8
    assert last == hashlib.sha256(first + second).digest()
    file = tmp_path / "part"
    write_part(file, [done("a"), done("b")])
    assert list(read_part(file)) == [done("a"), done("b")] and _info(file) == done("b")
    data = file.read_bytes()
    for damaged in (data[:-1], data[1:], b"\xff" + data[1:], data + b"x", b"", data[:31], data[-32:]):
        file.write_bytes(damaged)
        assert _info(file) is None
    file.write_bytes(hashlib.sha256(b"").digest())
    assert _info(file) is None, "whole, but of nothing"
    assert _info(tmp_path / "none") is None


def test_a_fingerprint_goes_by_texts_and_their_order() -> None:
    assert fingerprint(["a", "b"]) == hashlib.sha256(b"a\0b\0").hexdigest()
    assert len({fingerprint(one) for one in (["ab"], ["a", "b"], ["b", "a"], [])}) == 4
    assert fingerprint(["n\udcff"]) == hashlib.sha256(b"n\xff\0").hexdigest()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def opened(out: Path, resume: bool, contents: list[str], with_: str = WITH) -> tuple[list[int], set[str]]:
    """Which tasks are done, and which files lie there while it is open."""
    with RunFolder(out) as folder, Parts(folder, with_, [lambda one=one: one for one in contents], resume) as parts:
        found = [number for number in range(len(contents)) if parts.done(number)]
        return found, {file.name for file in parts.folder.iterdir() if file.name not in (MADE_WITH, MARKER)}


def test_finished_tasks_stay_where_their_source_is_the_same(out: Path) -> None:
    with RunFolder(out) as folder, Parts(folder, WITH, [str] * 4, False) as parts:
        assert parts.path(3).name == "00000003" and not parts.done(0)
        for number in range(4):
            write_part(parts.path(number), [done(f"h{number}", "b" if number == 1 else "")])
        (parts.folder / "00000009").write_bytes(parts.path(0).read_bytes())
        (parts.folder / "0").write_bytes(parts.path(0).read_bytes())
        (parts.folder / "x").write_text("of nobody")
        place = parts.folder
    assert (place / MADE_WITH).is_file()
    assert opened(out, True, ["h0", "h1b", "h2", "other"]) == ([0, 1, 2], {"00000000", "00000001", "00000002"})
    with pytest.raises(InputError, match=r"can't be resumed: ctxsim, the options, .* or --jobs changed; run without"):
        opened(out, True, ["h0"], "another hash")
    assert opened(out, False, ["h0", "h1b"]) == ([], set()), "without resume it begins anew"


def test_parts_of_which_nobody_knows_what_made_them_are_none(out: Path) -> None:
    with RunFolder(out) as folder, Parts(folder, WITH, [str], False) as parts:
        write_part(parts.path(0), [done("h0")])
        (parts.folder / MADE_WITH).write_bytes(b"garbage\xff")
    with pytest.raises(InputError, match="can't be resumed"):
        opened(out, True, ["h0"])
    (parts.folder / MADE_WITH).unlink()
    assert opened(out, True, ["h0"]) == ([], set())


def test_a_run_that_failed_before_anything_was_done_leaves_nothing(out: Path) -> None:
    for finished in (False, True):
        with pytest.raises(KeyError), RunFolder(out) as folder, Parts(folder, WITH, [str], False) as parts:
            if finished:
                write_part(parts.path(0), [done("")])
            place = parts.folder
            raise KeyError
        assert place.exists() is finished
    with RunFolder(out) as folder, Parts(folder, WITH, [str], True) as parts:
        assert parts.folder.exists()
    assert place.exists(), "what ends well is cleared by who made the run"
