"""`ctxsim report`."""

from __future__ import annotations

from pathlib import Path

from command_line import ctxsim


def test_a_report_of_an_empty_run_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"messages": [')
    assert "no call to replay" in ctxsim("bench", "bad.json", "--out", "out", cwd=tmp_path).stderr
    for command in ("report", "plot", "losses"):
        done = ctxsim(command, "out", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (1, "ctxsim: out: holds no replayed call\n")
