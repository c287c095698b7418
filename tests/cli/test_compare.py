"""`ctxsim compare` as a check in CI."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import ctxsim

from ctxsim.results import Run


def test_two_policies_of_one_run(undisturbed: Path) -> None:
    two = ("token-budget:budget=300,retain=20", "mask:keep=1,batch=1")
    done = ctxsim("compare", str(undisturbed), "--policy", *two, cwd=undisturbed)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("4 of 5 figures changed, 1 is the same (24 transcripts).\n")
    # The two are named once, above; advice of the whole run isn't asked for.
    assert all(done.stdout.count(label) == 1 for label in two) and "Advice" not in done.stdout
    unknown = ctxsim("compare", str(undisturbed), "--policy", two[0], "mask:keep=2", cwd=undisturbed)
    assert unknown.returncode == 1 and unknown.stderr.count("\n") == 1
    assert ctxsim("compare", str(undisturbed), cwd=undisturbed).returncode == 1


def test_forms_for_papers(undisturbed: Path) -> None:
    two = ("token-budget:budget=300,retain=20", "mask:keep=1,batch=1")
    asked = ("compare", "out", "--policy", *two, "--format")
    told = {form: ctxsim(*asked, form, cwd=undisturbed.parent) for form in ("latex", "md", "csv")}
    assert all(done.returncode == 0 for done in told.values()), told
    latex = told["latex"].stdout
    assert "\\caption{A: token-budget:budget=300,retain=20 in out; B: mask:keep=1,batch=1 in out; 4 of 5" in latex
    assert "figure & A & B & B - A & \\% & 95 \\% interval & n & p" in latex and latex.count("\\end{tabular}") == 1
    assert "tokens\\_sum & " in latex and "means per transcript; tokens\\_sum, tokens\\_peak: tokens" in latex
    assert "\\textless{}0.001" in latex and "mask" not in latex.split("\\hline")[1]
    for form, text in (("md", told["md"].stdout), ("csv", told["csv"].stderr)):
        assert f"Command: ctxsim compare out --policy {two[0]} {two[1]} --format {form}\n" in text
        assert "Versions: runs by ctxsim " in text and "p: sign-flip permutation test by session" in text
    assert "-{}-policy" in latex and "Versions: runs by ctxsim" in latex
    header, *rows = told["csv"].stdout.splitlines()
    assert "chance" in header.split(",") and rows and all(row.count(",") >= 9 for row in rows)


def test_a_narrow_terminal_shows_both_figures_their_difference_and_its_interval(
    pair: tuple[Run, Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    folders = [str(run.folder) for run in pair]
    done = ctxsim("compare", *folders, cwd=pair[0].folder)
    head = next(line for line in done.stdout.splitlines() if line.startswith(" figure"))
    assert all(word in head for word in (" A ", " B ", "B - A", "95 % interval", " p")), head
    assert max(map(len, done.stdout.splitlines())) <= 80
    # The comparison comes first, what B alone advises is its last line or two.
    assert done.stdout.index("figures changed") < done.stdout.index(head) < done.stdout.index("Advice from B alone: ")
    same = ctxsim("compare", folders[0], folders[0], cwd=pair[0].folder)
    assert same.stdout.startswith("All ") and "figures are the same" in same.stdout and "95 %" not in same.stdout
