"""Every kind of file made wrong on purpose is read, or refused in a line; what was found by that stays mended."""

from __future__ import annotations

import faulthandler
import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

import mutants
import pyarrow
import pyarrow.parquet
import pytest
from command_line import process
from mutants import attacked, recording, write
from odd_files import FOUND, Kind, formats, others
from project import ROOT

from ctxsim.answers.advice.predicted import kept, place
from ctxsim.errors import CtxsimError
from ctxsim.live.configs.edit import Format, edited
from ctxsim.readers.assembly.numbers import plausible
from ctxsim.safety.trust import store, trusted
from ctxsim.transcript import Call, Head, Transcript
from evidence.fuzz import Attack, Tally, plain, tried

NEVER_REFUSED = ("status line", "predictions", "trusted")


def test_a_slice_finds_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kinds = {**formats([FOUND]), **others(tmp_path)}
    assert len(kinds) >= 20
    refused = 0
    for name, kind in kinds.items():
        attack = Attack(name, kind, tmp_path, tally := Tally(), None)
        if not name.startswith("recording"):
            for seed in kind.seeds:
                written = write(seed, tmp_path / "m")
                found = attacked(lambda read=kind.read, path=written: read(path))  # type: ignore[misc]
                assert found.kind == "read", (name, seed.name, found)
        plain(attack, 10, seed=35)
        assert tally.found == 0 and tally.tried == 10, capsys.readouterr().out
        refused += tally["refused"] > 0
    assert refused >= len(kinds) - len(NEVER_REFUSED) - 2


@pytest.mark.slow
def test_it_is_guided_by_coverage_where_that_is_installed(tmp_path: Path) -> None:
    pytest.importorskip("atheris")
    # It ends its process, and traces what is imported after it: a few modules are enough here.
    watched = ("ctxsim.plugins.labels", "ctxsim.readers.formats.kimi")
    done = process(
        "--count", "100", "--seeds", str(FOUND), "--kind", "label", "--kind", "*kimi",
        *(f"--watch={one}" for one in watched), cwd=tmp_path, module="evidence.fuzz", PYTHONPATH=str(ROOT),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert done.stderr.split()[2::3] == [*watched], done.stderr
    assert "| label |" in done.stdout and "| recording: kimi |" in done.stdout
    assert int(done.stdout.split("| all | ")[1].split(" ")[0]) >= 100


def _raises(path: Path) -> Iterable[str]:
    raise KeyError(path)


def _hangs(path: Path) -> Iterable[str]:
    time.sleep(9)
    return ()


def _dies(path: Path) -> Iterable[str]:
    # Its stack isn't for the log of the tests.
    faulthandler.disable()
    os.kill(os.getpid(), signal.SIGSEGV)
    return ()


@pytest.mark.parametrize(
    ("read", "told"),
    [(_raises, "KeyError"), (_hangs, "hang: more than 0.2 s"), (_dies, "ended with -11"),
     (lambda path: ["! wrong"], "! wrong"), (lambda path: ["a\nb"], "long: a\nb")],
)  # fmt: skip
def test_what_breaks_is_counted_and_told(
    read: Callable[[Path], Iterable[str]], told: str, tmp_path: Path, capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(mutants, "HANG_S", 0.2)
    kind = Kind((mutants.Seed("a", {"a": b"1"}),), read, 1)
    tried(Attack("x", kind, tmp_path, tally := Tally(), tmp_path / "kept"), 2, 0, by_coverage=False)
    assert (tally.tried, tally.found) == (2, 2) and told in capfd.readouterr().out
    assert any((tmp_path / "kept").iterdir())


# what was found


def test_a_time_that_is_no_number_of_seconds_is_left_out() -> None:
    found = plausible(Transcript("a", Head(), (), calls=(Call(0, 0, time_s=10**400),)))
    assert found.calls[0].time_s is None and "time" in found.notes[0]


def test_names_that_are_no_text_are_a_line(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"zzzz": ["a"]}), tmp_path / "a.parquet")
    with closing(sqlite3.connect(tmp_path / "b.db")) as made:
        made.execute("CREATE TABLE sessions (zzzz)")
    for file in tmp_path.iterdir():
        file.write_bytes(file.read_bytes().replace(b"zzzz", b"\xcd\xff\xcd\xff"))
        outcome = attacked(lambda path=file: recording(path, False))  # type: ignore[misc]
        assert outcome.kind == "refused", outcome


@pytest.mark.parametrize(
    ("form", "text"),
    [("yaml", "a: ~\n"), ("yaml", "a: []\n"), ("json", "[" * 3000), ("toml", "a = " + "[" * 3000),
     # Python 3.13 reads thousands of levels.
     ("json", '{"a": ' * 200_000 + "1" + "}" * 200_000)],
)  # fmt: skip
def test_a_file_that_cant_be_changed_is_a_line(form: Format, text: str) -> None:
    with pytest.raises(CtxsimError):
        edited(text, form, ("a", "b"), 1)


def test_what_the_user_keeps_may_be_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for file in (store(), place()):
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b'{"agent": "\xfc"}\n\xb1 x\n')
    assert kept() == [] and not trusted(b"a")
