"""Every label that a table prints is accepted by every command that takes one: whole, short, marked, over lines."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from bench_runs import write
from command_line import ctxsim
from rich.console import Console
from samples import ASK, TASK, chat

from ctxsim.answers.advice.settings import label_in
from ctxsim.plugins import labels
from ctxsim.plugins.labels import BOUND, pasted
from ctxsim.policies import open_policies, open_policy, registered_policies
from ctxsim.report.sheet import sheet
from ctxsim.report.tables import print_sheet
from ctxsim.results import read_run
from ctxsim.runs.grid import expand

MINE = """from dataclasses import dataclass
from ctxsim.policies import Policy

@dataclass
class FirstLine(Policy):
    lines: int = 1
    a_parameter_with_quite_a_long_name: int = 2
    another_parameter_with_a_long_name: int = 3
"""


def typed() -> list[str]:
    """A label of every registered policy, with what it needs; a chain, and one with an estimator."""
    made = []
    for name, cls in sorted(registered_policies().items()):
        needs = ",".join(f"{key}=300" for key in labels.required(cls))
        made.append(f"{name}:{needs}" if needs else name)
    return [*made, "head-tail+summary", "mask:keep=3,estimator=chars:ratio=3.5", "mine.py:FirstLine",
            "mine.py:FirstLine:lines=4+mask", "pipe:sh -c 'cat; echo a long argument, and b'+mask"]  # fmt: skip


def printed(label: str, width: int) -> str:
    """The label as a table of this width prints it, over as many lines as it takes there."""
    out = io.StringIO()
    print_sheet(sheet("t", "", ["policy"], [[label]]), Console(file=out, width=width, color_system=None).print, width)
    return out.getvalue().rpartition("─")[2].strip()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    write(tmp_path / "logs", chat(TASK, *([ASK, ("tool_result", "zebra_000 " + "word " * 40)] * 3)), "log")
    return tmp_path


@pytest.mark.parametrize("label", typed())
def test_every_form_of_a_label_opens_the_same(label: str, folder: Path) -> None:
    spec = open_policy(label)
    commands = "pipe:" in label
    for form in (spec.label, spec.short, spec.label + BOUND):
        # A command's own quotes may hold anything, so that a break within them can't be told from its text.
        for text in (form, *(printed(form, width) for width in (24, 40, 80) if not commands)):
            assert open_policy(text).label == spec.label, text
            assert expand(text) == [spec.label], text
            assert [one.label for one in open_policies((text,))] == [spec.label], text


def test_a_break_in_a_command_is_a_space_and_one_in_its_quotes_is_its_own() -> None:
    assert pasted("pipe:python\n  p.py --keep=1") == "pipe:python p.py --keep=1"
    assert pasted("pipe:python -c 'def f():\n  return 1'") == "pipe:python -c 'def f():\n  return 1'"
    assert pasted(" keep-all (bound) ") == "keep-all"


@pytest.mark.slow
@pytest.mark.usefixtures("checked_at_once")
def test_every_command_takes_what_a_run_prints(folder: Path) -> None:
    # Each form of a label, of every fourth policy: that each opens is tried above.
    asked = [label for label in dict.fromkeys([*typed()[::4], *typed()[-5:]]) if not label.startswith("pipe:")]
    every = [part for label in asked for part in ("--policy", label)]
    done = ctxsim("bench", "logs", *every, "--out", "run", "--format", "csv", "-q", cwd=folder)
    assert done.returncode == 0, done.stderr[-500:]
    whole = [row["policy"] for row in csv.DictReader(io.StringIO(done.stdout))]
    marked = {open_policy(label).label for label in whole}
    assert marked >= {open_policy(label).label for label in asked}
    shown = [printed(open_policy(label).short, 30) for label in whole]
    assert any("\n" in label for label in shown)
    run = read_run(folder / "run")
    for label, text in zip(whole, shown, strict=True):
        assert label_in(run, text) == label_in(run, label + BOUND) == label, "as compare and report find it"
    # One bare name, chains, those of a file, and those over most lines: what commands call opens every one above.
    pairs = sorted(zip(whole, shown, strict=True), key=lambda pair: -pair[1].count("\n"))
    some = [(whole[0], shown[0]), *dict.fromkeys([*pairs[:5], *(pair for pair in pairs if set(pair[1]) & set("+/"))])]
    assert 6 <= len(some) <= 10 and any("mine.py" in label for label, _ in some)
    for label, text in (some[0], max(some, key=lambda pair: pair[1].count("\n"))):
        for line in (
            ("compare", "run", "--policy", text, label + BOUND), ("replay", "logs", "--policy", text),
            ("drive", "nobody", "--play", "one-prompt", "--policy", text),
        ):  # fmt: skip
            found = ctxsim(*line, cwd=folder)
            fine = found.returncode == 0 if line[0] != "drive" else "unknown agent 'nobody'" in found.stderr
            assert fine, (line, found.stderr)
    policies = [part for _, text in some for part in ("--policy", text)]
    for line in (
        ("bench", "logs", *policies, "--out", "b"), ("sweep", "logs", *policies, "--out", "s"),
        ("report", "run", "--only", "pictures", *policies),
        ("check", "policy", next(label for label in shown if "mine.py" in label), "--scenario", "one-prompt"),
    ):  # fmt: skip
        found = ctxsim(*line, "-q", cwd=folder)
        assert found.returncode == 0, (line[0], found.stderr[-500:])
