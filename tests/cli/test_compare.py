"""`ctxsim compare` as a check in CI."""

from __future__ import annotations

from pathlib import Path

from command_line import Done, ctxsim

from ctxsim.results import Run


def test_compare_exits_for_ci(undisturbed: Path, pair: tuple[Run, Run]) -> None:
    def run(*arguments: str) -> Done:
        return ctxsim("compare", *arguments, cwd=undisturbed)

    other = str(pair[1].folder)
    assert run(str(undisturbed), str(undisturbed), "--fail-if", "tokens_sum > 0%").returncode == 0
    failed = run(str(undisturbed), other, "--fail-if", "tokens_sum > +1%")
    assert failed.returncode == 1 and "keep-all (bound): tokens_sum +" in failed.stderr and "FAILS" in failed.stdout
    assert run(str(undisturbed), other, "--fail-if", "tokens_sum > +1000%").returncode == 0
    nonsense = run(str(undisturbed), other, "--fail-if", "nonsense")
    assert nonsense.returncode == 1 and nonsense.stderr.count("\n") == 1


def test_two_policies_of_one_run(undisturbed: Path) -> None:
    two = ("token-budget:budget=300,retain=20", "mask:keep=1,batch=1")
    done = ctxsim("compare", str(undisturbed), "--policy", *two, cwd=undisturbed)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(("Take ", "Change nothing"))
    assert "tokens_sum" in done.stdout and "24 transcripts" in done.stdout
    unknown = ctxsim("compare", str(undisturbed), "--policy", two[0], "mask:keep=2", cwd=undisturbed)
    assert unknown.returncode == 1 and unknown.stderr.count("\n") == 1
    assert ctxsim("compare", str(undisturbed), cwd=undisturbed).returncode == 1


def test_runs_of_one_policy_each_and_of_other_estimators(logs: Path, tmp_path: Path) -> None:
    asked = {"mask": "mask:keep=1", "fifo": "fifo:budget=300", "words": "fifo:budget=300,estimator=words"}
    for name, label in asked.items():
        assert ctxsim("bench", str(logs), "--policy", label, "--out", name, cwd=tmp_path).returncode == 0
    apart = ctxsim("compare", "mask", "fifo", "--format", "json", cwd=tmp_path)
    assert '"policy": "mask:keep=1,batch=1 -> fifo:budget=300"' in apart.stdout
    estimators = ctxsim("compare", "fifo", "words", "--format", "json", cwd=tmp_path)
    assert "fifo:budget=300 -> fifo:budget=300,estimator=words" in estimators.stdout


def test_what_has_no_pair_is_told_and_nothing_to_judge_is_no_pass(logs: Path, tmp_path: Path) -> None:
    for name, keep, budget in (("a", 1, 300), ("b", 2, 200)):
        two = ("--policy", f"mask:keep={keep}", "--policy", f"fifo:budget={budget}")
        assert ctxsim("bench", str(logs), *two, "--out", name, cwd=tmp_path).returncode == 0
    plain = ctxsim("compare", "a", "b", cwd=tmp_path)
    assert plain.returncode == 0 and "not compared: only in A: mask:keep=1" in plain.stderr
    assert "not compared: only in B: mask:keep=2,batch=1, fifo:budget=200" in plain.stderr
    judged = ctxsim("compare", "a", "b", "--fail-if", "survival < -1%", cwd=tmp_path)
    assert judged.returncode == 1 and "nothing for --fail-if to judge" in judged.stderr
    assert ctxsim("compare", "a", "a", "--fail-if", "survival < -1%", cwd=tmp_path).stderr == ""
    # Only what the command has is offered.
    assert "--wide" not in plain.stdout and "--columns" not in plain.stdout


def test_forms_for_papers(undisturbed: Path) -> None:
    two = ("token-budget:budget=300,retain=20", "mask:keep=1,batch=1")
    asked = ("compare", "out", "--policy", *two, "--format")
    told = {form: ctxsim(*asked, form, cwd=undisturbed.parent) for form in ("latex", "md", "csv")}
    assert all(done.returncode == 0 for done in told.values()), told
    latex = told["latex"].stdout
    assert latex.startswith(
        "\\begin{tabular}{llrrrrrrrl}\n\\hline\npolicy & column & A & B & B - A & \\% & interval & n"
    )
    assert "tokens\\_sum & " in latex and "-\\textgreater{}" in latex and latex.count("\\end{tabular}") == 1
    for form, text in (("md", told["md"].stdout), ("csv", told["csv"].stderr)):
        assert f"Command: ctxsim compare out --policy {two[0]} {two[1]} --format {form}\n" in text
        assert "Versions: runs by ctxsim " in text and "p: sign-flip permutation test by session" in text
    assert "-{}-policy" in latex and "Versions: runs by ctxsim" in latex
    header, *rows = told["csv"].stdout.splitlines()
    assert "chance" in header.split(",") and rows and all(row.count(",") >= 9 for row in rows)
