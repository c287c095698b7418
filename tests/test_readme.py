"""What the README and the tutorial show and state is so."""

from __future__ import annotations

import re
from pathlib import Path

import pandas
from command_line import ctxsim
from project import ROOT

from ctxsim.answers.advice.advice import advise
from ctxsim.answers.advice.verdict import verdict
from ctxsim.results import read_run


def tutorial_policy() -> str:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "tutorial.md").read_text(), re.DOTALL)
    return next(block for block in blocks if "(Policy)" in block)


def test_the_policy_in_the_tutorial_runs(tmp_path: Path) -> None:
    text = tutorial_policy()
    assert len(text.splitlines()) < 25
    class_name = re.findall(r"class (\w+)\(Policy\)", text)[0]
    (tmp_path / "mine.py").write_text(text)
    label = f"mine.py:{class_name}"
    done = ctxsim("bench", "--scenario", "documented-53k", "--policy", label, "--policy", "keep-all", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = pandas.read_csv(next((tmp_path / "results").glob("*")) / "summary.csv").set_index("policy")
    mine = rows[rows.index.str.startswith(label)].iloc[0]
    assert mine.compactions > 0 and mine.tokens_sum < rows.loc["keep-all"].tokens_sum


def test_the_answer_in_the_readme_is_the_committed_runs() -> None:
    run = read_run(ROOT / "results" / "documented-53k")
    said = " ".join(verdict(advise(run), run.info.shown))
    assert f"```text {said} ```" in " ".join((ROOT / "README.md").read_text().split())


def test_the_claim_about_dollars_in_the_readme(tmp_path: Path) -> None:
    arguments = ("--scenario", "documented-53k-cached", "--policy", "token-budget", "--out", "out")
    assert ctxsim("bench", *arguments, cwd=tmp_path).returncode == 0
    rows = pandas.read_csv(tmp_path / "out" / "summary.csv")
    [row] = rows[rows.policy.str.startswith("token-budget")].itertuples()
    text = " ".join((ROOT / "README.md").read_text().split())
    assert f"sends {1 - row.tokens_sum / row.tokens_full_sum:.0%} fewer".replace("%", " %") in text
    assert f"costs {row.cost_vs_keep_all - 1:.0%} more".replace("%", " %") in text


def test_readme_commands_are_real(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text()
    shell = "\n".join(re.findall(r"```(?:sh|console)\n(.*?)```", text, re.DOTALL))
    commands = {
        line.split("ctxsim ", 1)[1].split()[0] for line in shell.splitlines() if "ctxsim " in line and "pip" not in line
    }
    for command in commands:
        assert ctxsim(command, "--help", cwd=tmp_path).returncode == 0, command
