"""Every command line that a page shows in a `sh` block runs, in the order of the page, on invented logs."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from command_line import Done, ctxsim, evidence, once
from invented import write_logs
from probed_agent import installed
from project import ROOT

from ctxsim import advise
from ctxsim.cli import COMMANDS
from ctxsim.live.agent import agent_names

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

NOT_OURS = ("python3 -m venv", "pip install", "uvx --from")
"""What a line begins with that sets up a machine; `ctxsim` lines after it on the same line are run all the same."""

NOT_HERE = {
    "pytest": "runs this suite",
    "pre-commit": "is another program",
    "mypy": "is another program",
    "ruff": "is another program",
    "lint-imports": "is another program",
}
"""Other programs that pages show, and why no test runs them from here."""

ELSEWHERE = {
    "bench": "tests/cli/test_bench.py runs it without arguments and looks at all that it writes",
    **dict.fromkeys(
        (
            "advise",
            "advise --verify",
            "advise --apply",
            "advise --score",
            "advise --score --out score.png",
            "advise --undo",
            "bill",
            "bill --by part",
        ),
        "agents' own folders are the user's: tests/answers and tests/live have its parts",
    ),
    **dict.fromkeys(
        ("drive codex pi --doctor --install", "drive my.toml --doctor --play defects/zero-usage"),
        "tests/live/test_observed.py drives an agent through a defect",
    ),
    "drive mistral-vibe continue-cli --install --play docs/examples/two-turns.toml": "it is of these two agents",
    "advise logs --settings FILE": "tests/policies/agents/test_given.py reads such files",
    "forecast '~/.claude/projects' --next 7d": "tests/answers/forecast: the logs here have no times",
}
"""What is typed after `ctxsim` that another test runs just so."""

OWN_AGENT = "python my_agent.py {prompt}"
"""The agent that a page tells to save."""

STAND_INS = {
    # what a page says: where the invented logs are
    "path/to/logs": "logs",
    "recordings": "logs",
    "recordings/claude-code-compacted": "logs",
    "~/.claude/projects": "logs",
    "1000": "3",
    "100": "3",
    "~/.codex/sessions": "logs",
    "~/my-project": ".",
    # What drives an agent through sixty calls drives it through seven.
    "sixty-calls": "documented-53k",
    "logs/session.json": "logs/chat-1.json",
    "session.jsonl": "logs/rollout-1.jsonl",
    "results/before": "results/logs",
    "results/after": "results/logs",
    # The python that runs this suite; a shell may have none of that name.
    OWN_AGENT: OWN_AGENT.replace("python", sys.executable, 1),
}

LEFT_AWAY = ("--install",)
"""Options that want a network."""


def shown(page: Path) -> list[str]:
    """The lines of a page's `sh` blocks, one command each: continued lines joined, comments and `&&` taken apart."""
    blocks = re.findall(r"^```(?:sh|console|bash)\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    parts = [part.strip() for line in lines for part in line.removeprefix("$ ").split("&&")]
    return [part for part in parts if part and not part.startswith("#")]


def files_of(page: Path) -> dict[str, str]:
    """The files that a page tells to save: a name in back quotes before a Python block, "Save this as `mine.py`"."""
    found = re.findall(r"[Ss]ave (?:this|it) as `([^`]+\.py)`:?\s+```python\n(.*?)^```", page.read_text(), re.S | re.M)
    return dict(found)


def words_of(line: str) -> list[str] | None:
    """What is typed after `ctxsim`, or None if the line isn't ours."""
    if any(mark in line for mark in NOT_OURS):
        return None
    program, *words = shlex.split(line, comments=True)
    if Path(program).name in NOT_HERE:
        return None
    if words[:1] == ["-m"] and words[1].startswith("evidence."):
        return [STAND_INS.get(word, word) for word in words]
    assert Path(program).name == "ctxsim", f"{line}: neither ours nor known as another program's"
    if shlex.join(words) in ELSEWHERE:
        return None
    if words[0] == "drive":
        words = with_own_agent(words)
    if words[:2] == ["check", "setting"]:
        # Of the agents that pages name, a stand-in for Codex is installed here.
        words = ["check", "setting", "codex", "model_auto_compact_token_limit=60000"]
    if words[:2] == ["check", "policy"]:
        # On one scenario, or of one defect: test_pipe.py and test_doctor.py try every one.
        more = ["--scenario", "defects/task-lost"] if "--doctor" in words else ["--scenario", "one-prompt"]
        words += [] if more[0] in words else more
    if words == ["bench", "recordings", "--policy", "agents,frameworks"]:
        words[1] = "logs/session.json"
    if words == ["bench", "--policy", "agents"]:
        # All of them on the smallest conversation: tests/cli/test_bench.py replays the one that stands without a name.
        words = [*words, "--scenario", "text-only"]
    if words[:2] == ["bench", "--scenario"] and "--policy" not in words:
        # One policy beside keep-all: tests/cli/test_bench.py runs all of them on two scenarios.
        words += ["--policy", "summary", *(() if "--out" in words else ("--out", f"results/{words[2]}"))]
    if "--jobs" in words:
        words[words.index("--jobs") + 1] = "1"
    return [STAND_INS.get(word, word) for word in words if word not in LEFT_AWAY]


def with_own_agent(words: list[str]) -> list[str]:
    """The same command with the page's own agent in place of those that may not be installed here."""
    named = agent_names()
    rest = [
        word for at, word in enumerate(words) if word not in named or words[at - 1] == "--policy"
    ]  # fmt: skip
    return rest if len(rest) == len(words) else [*rest, "--command", OWN_AGENT]


def run_shown(words: list[str], cwd: Path) -> Done:
    """Run what a page shows; the endpoint until it listens, on a free port: another may hold its own."""
    if words[0] == "-m":
        return evidence(words[1].removeprefix("evidence."), *words[2:], cwd=cwd)
    if words[0] in ("serve", "drive"):
        pytest.importorskip("starlette")
        pytest.importorskip("uvicorn")
    if words[0] != "serve":
        return ctxsim(*words, cwd=cwd)
    command = [sys.executable, "-u", "-m", "ctxsim", *words, "--port", "0"]
    with subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout and server.stderr
        said = ""
        # An endpoint that ends by itself says no more.
        while " steps at http://" not in said and (line := server.stdout.readline()):
            said += line
        listens = " steps at http://" in said
        server.terminate()
        return Done(0 if listens else 1, said, server.stderr.read())


advised_once = once(advise)
"""The same logs lie beside every page, and some show their advice in each form."""


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if shown(page)], ids=lambda page: page.name)
def test_what_a_page_shows_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checked_at_once: None
) -> None:
    monkeypatch.setattr("ctxsim.cli.advise.advise", advised_once)
    # An agent works below the temporary folder.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CTXSIM_AGENTS", str(tmp_path / "agents"))
    installed(tmp_path / "agents")
    write_logs(tmp_path / "logs", count=1)
    (tmp_path / "policy.py").write_text((ROOT / "docs" / "examples" / "mask.py").read_text())
    (tmp_path / "my-summary.md").write_text("ticket-093 is open.")
    answer = "logs/rollout-1.jsonl,6,which ticket,ticket-1293,ticket-1293,true\n"
    (tmp_path / "answers.csv").write_text(f"transcript,call,question,expected,answer,correct\n{answer}")
    for name, text in files_of(page).items():
        (tmp_path / name).write_text(text)
    ran, before = 0, None
    for line in shown(page):
        words = words_of(line)
        # Settings that pages name one after another have one stand-in.
        if words is not None and words != before:
            before = words
            done = run_shown(words, tmp_path)
            # A policy that has a defect is what the doctor is there to tell.
            told = done.returncode == 1 and "--doctor" in words and "known defects" in done.stdout
            assert done.returncode == 0 or told, f"{line}\n{done.stderr}"
            assert done.stdout.strip(), line
            ran += 1
    assert ran or page.name != "tutorial.md"


def test_the_tutorial_shows_what_people_need_first() -> None:
    lines = [words for line in shown(ROOT / "docs" / "tutorial.md") if (words := words_of(line))]
    needed = {"bench", "replay", "sweep", "report", "compare", "validate", "check"}
    assert needed <= {words[0] for words in lines} <= set(COMMANDS)
    assert {"losses", "--estimates", "--doctor"} <= {word for words in lines for word in words}
