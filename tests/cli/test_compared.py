"""`ctxsim.cli.compare`: what is compared with what, what is noted, and when it fails."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command_line import ctxsim
from made_runs import made_run

from ctxsim.cli.compare import _name_recordings
from ctxsim.report.sheet import Sheet
from ctxsim.results import InputInfo
from ctxsim.results.run_info import __version__


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "200")
    for name, tokens in (("a", 500), ("b", 600)):
        made_run(tmp_path / name, {"keep-all": [{}] * 8, "mask": [{"tokens_sum": tokens, "cost_usd": 1.0}] * 8})
    return tmp_path


def test_a_folder_is_a_run_or_recordings(tmp_path: Path, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logs").mkdir()
    names = {"a": False, "logs": True, "nowhere": False, "*.json": True, "git:x": True, "@list": True, "a[1]": True}
    assert {name: _name_recordings((Path(name), Path("nowhere"))) for name in names} == names
    assert not _name_recordings((Path("logs"), Path("a")))


def test_what_changed_is_told_and_a_broken_rule_is_status_1(runs: Path) -> None:
    done = ctxsim("compare", "a", "b", cwd=runs)
    assert done.returncode == 0 and done.stderr == "" and " tokens_sum " in done.stdout
    assert done.stdout.rstrip().splitlines()[-1].startswith("Advice from B alone: ")
    broken = ctxsim("compare", "a", "b", "--fail-if", "tokens_sum > 10%", "--fail-if", "tokens_sum > 500%", cwd=runs)
    assert broken.returncode == 1 and broken.stderr == "ctxsim: mask: tokens_sum +100\n"
    same = ctxsim("compare", "a", "a", "--fail-if", "tokens_sum < 1", cwd=runs)
    assert same.returncode == 1 and same.stdout.count("FAILS") == 1 and " tokens_peak " not in same.stdout
    two = ctxsim("compare", "a", "--policy", "mask", "keep-all", cwd=runs)
    assert two.returncode == 0 and "Advice" not in two.stdout
    quiet = ctxsim("compare", "a", "b", "-q", cwd=runs)
    assert "Advice" not in quiet.stdout


def test_programs_and_papers_get_what_they_need(runs: Path) -> None:
    answer = json.loads(ctxsim("compare", "a", "b", "--format", "json", cwd=runs).stdout)
    assert answer["not_compared"] == [] and answer["said"].endswith("(8 transcripts).") and answer["verdict"]
    line = ("compare", "a", "b", "--fail-if", "tokens_sum > 500%", "--format")
    noted = [f"Command: ctxsim compare a b --fail-if 'tokens_sum > 500%' --format {form}" for form in ("md", "csv")]
    page, rows = ctxsim(*line, "md", cwd=runs), ctxsim(*line, "csv", cwd=runs)
    assert noted[0] in page.stdout and noted[1] in rows.stderr and noted[1] not in rows.stdout
    versions = f"Versions: runs by ctxsim 0, compared by {__version__}; tokenizers: "
    assert versions in page.stdout and versions in rows.stderr
    assert "|---" in page.stdout and page.stdout.splitlines()[0] == rows.stderr.splitlines()[0]
    same = ctxsim("compare", "a", "a", "--format", "md", cwd=runs)
    assert same.returncode == 0 and same.stdout.startswith("11 figures: 11 equal ")


@pytest.mark.parametrize(("form", "where"), [("table", "stdout"), ("md", "stdout"), ("csv", "stderr")])
def test_a_file_of_the_same_name_with_other_content_is_noted(tmp_path: Path, form: str, where: str) -> None:
    for name, usd in (("a", 1.0), ("b", 2.0)):
        made_run(tmp_path / name, {"keep-all": [{"cost_usd": usd}]}, inputs=(InputInfo("t0", name, 1, 10),))
    done = ctxsim("compare", "a", "b", "--format", form, cwd=tmp_path)
    assert "Other content in B than in A: t0. Differences may" in getattr(done, where)
    assert "Other content" not in ctxsim("compare", "a", "a", "--format", form, cwd=tmp_path).stdout


def test_papers_get_latex(runs: Path) -> None:
    done = ctxsim("compare", "a", "--policy", "mask", "keep-all", "--format", "latex", cwd=runs)
    assert done.returncode == 0 and "\\caption{A: mask in a; B: keep-all (bound) in a; " in done.stdout
    assert "figure & A & B & B - A & \\% & 95 \\% interval & n & p" in done.stdout
    assert done.stdout.count("\\end{tabular}") == 1
    assert "mask" not in done.stdout.split("\\hline")[1] and "p: sign-flip permutation test by session" in done.stdout
    assert "Command: ctxsim compare a -{}-policy mask keep-all -{}-format latex" in done.stdout


def test_a_narrow_terminal_shows_both_figures_their_difference_and_its_interval(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = ctxsim("compare", "a", "b", cwd=runs).stdout.splitlines()
    head = next(line for line in lines if line.startswith(" figure"))
    assert all(word in head for word in (" A ", " B ", "B - A", "95 % interval", " p")), head
    assert max(map(len, lines)) <= 80 and " changed" in lines[0]


def test_what_has_no_partner_and_no_checksums_is_told(runs: Path) -> None:
    made_run(runs / "c", {"keep-all": [{}] * 8, "fifo": [{}] * 8, "pi": [{}] * 8})
    done = ctxsim("compare", "a", "c", cwd=runs)
    assert done.returncode == 0 and done.stderr == (
        "ctxsim: not compared: only in A: mask\nctxsim: not compared: only in B: fifo, pi\n"
    )
    judged = ctxsim("compare", "a", "c", "--fail-if", "survival < -1%", cwd=runs)
    assert judged.returncode == 1 and "nothing for --fail-if to judge" in judged.stderr


def test_recordings_are_compared_by_their_sessions(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for side in ("before", "after"):
        (runs / side).mkdir()
    found: dict[str, Any] = {"broken": [], "errors": []}
    asked: list[Any] = []

    def compared(before: Path, after: Path, rules: Any) -> Any:
        asked.append((before, after, rules))
        return SimpleNamespace(differences=[], alike=True, left_out=(0, 0), **found)

    monkeypatch.setattr("ctxsim.cli.compare.compare_unpaired", compared)
    table = Sheet("unpaired", "2 before, 3 after", (), (), notes=("Left out: 1 and 0.",))
    monkeypatch.setattr("ctxsim.cli.compare.show", lambda command, sheets, form: None)
    monkeypatch.setattr("ctxsim.cli.compare.unpaired_sheet", lambda *given: table)
    assert ctxsim("compare", "before", "after", "--fail-if", "cost > 1%", cwd=runs).returncode == 0
    assert asked == [(Path("before"), Path("after"), ("cost > 1%",))]
    # What is said beside a table stands beside its rows in every form.
    done = ctxsim("compare", "before", "after", "--format", "md", cwd=runs)
    assert (done.stdout, done.stderr) == ("2 before, 3 after\n\n\nLeft out: 1 and 0.\n", "")
    done = ctxsim("compare", "before", "after", "--format", "csv", cwd=runs)
    assert (done.stdout, done.stderr) == ("", "2 before, 3 after\nLeft out: 1 and 0.\n")
    found["broken"] = [SimpleNamespace(figure="cost", effect=1_234.56, ratio=True),
                       SimpleNamespace(figure="compactions", effect=-2.0, ratio=False)]  # fmt: skip
    done = ctxsim("compare", "before", "after", cwd=runs)
    assert (done.returncode, done.stderr) == (1, "ctxsim: cost: +1,234.6 %\nctxsim: compactions: -2.0\n")
    found |= {"broken": [], "errors": ["x is cut"]}
    done = ctxsim("compare", "before", "after", cwd=runs)
    assert (done.returncode, done.stderr) == (1, "ctxsim: x is cut\n")
    for more, said in (
        (("--policy", "a", "b"), "--policy goes with two runs"),
        (("--format", "latex"), "--format latex is of"),
    ):
        done = ctxsim("compare", "before", "after", *more, cwd=runs)
        assert done.returncode == 2 and said in done.stderr
    assert "is no finished run" in ctxsim("compare", "before", "a", cwd=runs).stderr
