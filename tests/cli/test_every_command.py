"""Every command runs on a few invented logs and answers; a new command needs a line here."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from command_line import Done, ctxsim
from invented import write_logs
from project import ROOT

from ctxsim.cli import COMMANDS
from ctxsim.cli.transcripts import command as transcripts

ANSWERS = {
    # what is typed: what the answer has in it
    "bench logs --policy mask:keep=1 --out a": r"^Don't compact[\s\S]*mask:keep=1,batch=1 .*\d%.*\n[\s\S]*Results: a/",
    "bench logs --policy mask --format csv --out b": r"^policy,policy_bound,usd,[\s\S]*^keep-all,True,",
    "sweep logs --policy mask:keep=1|3 --out s": r"mask:keep=3[\s\S]*Results: s/",
    "replay logs/rollout-1.jsonl --policy mask:keep=1 --losses": r"6 calls under mask:keep=1[\s\S]*lost: 'ticket-1093'",
    "replay logs --number 2 --policy keep-all --request 2": r'"tool_use_id": "c0"',
    "compare a b": r"\d+ figures of 6 transcripts; \d+ are the same",
    "losses a": r"Kept identifiers by age[\s\S]*mask:keep=1",
    "losses a --by tool": r"by tool[\s\S]*Bash[\s\S]*search",
    "report a --out page.html": r"^page\.html \(\d\.\d MB\)$",
    "plot a --out charts --format svg": r"charts/token-growth\.svg\n[\s\S]*charts/survival-age\.svg",
    "claims --seed 000": r"000  [\s\S]*\d+ claims: .*reproduced",
    "validate logs": r"codex-rollout +gpt-5 +12 [\s\S]*unseen: predicted without",
    "accuracy logs --estimator chars --estimator words": r"words +o200k_base +requests +36 [\s\S]*written: results/acc",
    "calibrate logs -o own.json": r"all +2\.\d\d [\s\S]*formula: .* / 2\.\d\d\)\nholds for: texts [\s\S]*: own\.json",
    "calibrate logs --against usage -o used.json": r"heads: median [\s\S]*= head \+ ceil\([\s\S]*written: used\.json",
    "calibrate logs --matrix --no-plots": r"\| kind [\s\S]*o200k_base",
    "columns": r"# Columns[\s\S]*tokens_recorded",
    "models claude-sonnet-4-5": r"anthropic/claude-sonnet-4-5 +\d[\d,]+ +3",
    "policies": r"keep-all   \(bound\)\n[\s\S]*token-budget:budget=40000,retain=500\n",
    "check-policy mask:keep=2": r"^mask:keep=2,batch=1: keeps the contract$",
    "estimators": r"calibrated:file=<str>[\s\S]*chars:ratio=4,rounding=ceil,unit=points\n",
    "check-estimator chars/3": r"^chars:ratio=3: keeps the contract$",
    "scenarios": r"documented-53k: The documented failure",
    "tokenizers": r"o200k_base   \(default\)",
    "transcripts check logs": r"6 transcripts: 2 openai-chat, 2 claude-code, 2 codex-rollout",
    "transcripts check logs --against-usage": r"codex-rollout +12 ",
    "transcripts convert logs/chat-1.json": r'"tool":"search"',
    "transcripts stats logs --by tool": r"Bash +10 ",
    "transcripts formats": r"Codex",
}


RUNS = [line for line in ANSWERS if line.startswith("bench ")]
"""What the others look at."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Done]]:
    """A folder with logs and two runs of them, and what was printed."""
    folder: Path = tmp_path_factory.mktemp("every")
    write_logs(folder / "logs")
    return folder, {line: ctxsim(*line.split(), cwd=folder) for line in RUNS}


@pytest.mark.parametrize("line", ANSWERS)
def test_a_command_answers(line: str, runs: tuple[Path, dict[str, Done]]) -> None:
    folder, printed = runs
    done = printed.get(line) or ctxsim(*line.split(), cwd=folder)
    assert done.returncode == 0, done.stderr
    assert re.search(ANSWERS[line], done.stdout, re.MULTILINE), done.stdout


def test_no_command_is_left_out() -> None:
    words = [line.split() for line in ANSWERS]
    assert {first for first, *_ in words} == set(COMMANDS)
    assert {rest[0] for first, *rest in words if first == "transcripts"} == set(transcripts.commands)


def test_commands_import_no_other_command() -> None:
    modules = {module for module, _ in COMMANDS.values()}
    for module in modules:
        tree = ast.parse((ROOT / "ctxsim" / "cli" / f"{module}.py").read_text())
        names = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not names & {f"ctxsim.cli.{other}" for other in modules}, module


def test_files_are_renamed_in_one_place() -> None:
    asked = ("temporary.replace(", 'name + ".tmp"', "os.replace(")
    found = {
        str(file.relative_to(ROOT))
        for file in (ROOT / "ctxsim").rglob("*.py")
        if any(text in file.read_text() for text in asked)
    }
    # The growing tables of a run get their names all together, after everything is on disk.
    assert found <= {"ctxsim/results/files.py", "ctxsim/results/writer.py"}
