"""`ctxsim report`."""

from __future__ import annotations

from pathlib import Path

from command_line import ctxsim
from invented import write_logs
from pages import parts


def test_a_report_of_an_empty_run_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"messages": [')
    assert "is not complete JSON" in ctxsim("bench", "bad.json", "--out", "out", cwd=tmp_path).stderr
    assert not (tmp_path / "out").exists()
    (tmp_path / "out").mkdir()
    assert "is not complete JSON" in ctxsim("bench", "bad.json", "--out", "out", cwd=tmp_path).stderr
    for line in ("report out", "report out --only pictures", "report out --only losses", "check run out"):
        done = ctxsim(*line.split(), cwd=tmp_path)
        assert (done.returncode, done.stderr) == (1, "ctxsim: out: holds no replayed call\n")


def test_a_report_of_some_transcripts(tmp_path: Path) -> None:
    write_logs(tmp_path / "logs", 1)
    assert ctxsim("bench", "logs", "--policy", "mask:keep=1", "--out", "out", cwd=tmp_path).returncode == 0
    done = ctxsim("report", "out", "--transcript", "claude", "--out", "some.html", cwd=tmp_path)
    assert done.returncode == 0 and "some.html (1." in done.stdout
    [part] = parts((tmp_path / "some.html").read_text())
    assert "Find what is open" in part or "ticket-" in part
    done = ctxsim("report", "out", "--transcript", "nobody", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "ctxsim: out: has no transcript whose name holds 'nobody'\n")
    assert not (tmp_path / "out" / "report.html").exists()
