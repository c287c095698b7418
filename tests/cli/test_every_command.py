"""Every command runs on a few invented logs and answers; a new command needs a line here."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from command_line import Done, ctxsim, on_terminal, once
from invented import write_logs
from probed_agent import installed
from project import ROOT

from ctxsim import advise, bench, check, sweep
from ctxsim.api.lists import KINDS as LISTED
from ctxsim.cli import COMMANDS, cli
from ctxsim.cli.check import KINDS as CHECKED
from ctxsim.cli.compactions import command as compactions
from ctxsim.cli.transcripts import command as transcripts

ANSWERS = {
    # what is typed: what the answer has in it
    "bench logs --policy mask:keep=1 --out a": r"^Change nothing[\s\S]*mask:keep=1,batch=1 .*\d%.*\n[\s\S]*Results: a/",
    "bench logs --policy mask --format csv --out b": r"^policy,policy_bound,usd,[\s\S]*^keep-all,True,",
    "bench logs --policy papers --out c --columns all": r" sum +comp\. +rank [\s\S]* hit +read +write ",
    "advise logs": r"^(Claude Code|Codex)[^\n]*: 2 sessions, [\s\S]*\n\n(Set in|Change nothing)[\s\S]*"
    r"(Also tried: |None of the (?:other )?settings tried changes)",
    "sweep logs --policy mask:keep=1|3 --out s": r"mask:keep=3[\s\S]*Results: s/",
    "replay logs/rollout-1.jsonl --policy mask:keep=1 --losses": r"6 calls under mask:keep=1[\s\S]*lost: 'ticket-1093'",
    "replay logs --number 2 --policy keep-all --request 2": r'"tool_use_id": "c0"',
    "forecast logs --next 2": r"^Next 2 sessions: .* \(a range from other projects, [\s\S]*as it is",
    "compare a b": r"\d+ figures: \d+ changed, \d+ equal \(6 transcripts\)",
    "report a --only losses": r"Kept identifiers by age[\s\S]*mask:keep=1",
    "report a --only losses --by tool": r"by tool[\s\S]*Bash[\s\S]*search",
    "report a --out page.html": r"^page\.html \(\d\.\d MB\)$",
    "report a --only pictures --out charts": r"charts/token-growth\.svg\n[\s\S]*charts/survival-age\.svg",
    "transcripts find": r"claude|no sessions|agent",
    "bill logs --index none --by part": r"^Claude Code, Codex, openai-chat: 6 sessions, [\s\S]* results of shell ",
    "compactions logs --out c": r"^0 recorded compactions in 6 transcripts",
    "compactions score note.md logs/chat-1.json": r"^logs/chat-1\.json: [\s\S]*holds 1 of \d+ identifiers",
    "validate logs": r"codex-rollout +gpt-5 +12 [\s\S]*unseen: median error\s+of",
    "validate logs --estimates --estimator chars --estimator words": r"words +requests +36 [\s\S]*"
    r"written: results/acc",
    "calibrate logs --out own.json": r"all +2\.\d\d [\s\S]*formula: .* / 2\.\d\d\)\nvalid for: texts [\s\S]* own\.json",
    "calibrate logs --against usage --out used.json": r"groups: texts as each model's own tokenizer "
    r"counts them[\s\S]*\nheads: median [\s\S]*= head \+ ceil\([\s\S]*: used\.json",
    "check policy split.py:Split --scenario one-prompt": r"^split\.py:Split: keeps the contract\n  append-only: yes",
    "check policy mask:keep=1 --doctor --scenario defects/task-lost": r"task-lost[\s\S]*mask:keep=1: "
    r"0 of 1 known defects",
    "check policy mask:keep=1 --doctor --scenario defects/chat-without-tools --case case.jsonl": r"^case\.jsonl: "
    r"\d+ calls\.[\s\S]*: overflow, \d+,\d+ [\s\S]*replay case\.jsonl --policy mask:keep=1 --provider\s+window=100000$",
    "check policy papers --doctor --scenario defects/task-lost --format md": r"^\| policy \| has \| which "
    r"\|[\s\S]*`mask` \| 0 ",
    "check estimator chars/3 words": r"^chars:ratio=3: keeps the contract\nwords: keeps the contract$",
    "check reader reader.py log.txt": r"^reader\.py: keeps the contract$",
    "check agent codex": r"^codex: keeps the contract$",
    "check vendor anthropic": r"^anthropic: keeps the contract$",
    "check setting codex model_auto_compact_token_limit=60000": r"^codex 0\.171\.0, mock: honoured\.\n"
    r"Fires between \d\d\.\dK and 60\.\dK tokens; expected 60,000\.",
    "check run a": r"^a: keeps the contract$",
    "serve --help": r"Play the responses of a conversation to any client",
    "drive --help": r"Run real agents through a conversation, offline",
    "list policies": r"keep-all   \(bound\)\n[\s\S]*token-budget:budget=40000,retain=500\n",
    "list estimators": r"calibrated:file=<str>[\s\S]*chars:ratio=4,rounding=ceil,unit=points\n",
    "trust note.md": r"note\.md: trusted as it is now \([0-9a-f]{12}\), kept in\s",
    "list agents": r"codex: @openai/codex@[\d.]+ \(npm\)",
    "list settings": r"autoCompactWindow = auto\n[\s\S]*context\.autoCompactThreshold = 0\.85\n",
    "list formats": r"Codex",
    "list models claude-sonnet-4-5": r"anthropic/claude-sonnet-4-5 +\d[\d,]+ +3\+ ",
    "list vendors anthropic": r"anthropic: [\s\S]*cache\.kind = breakpoints",
    "list scenarios": r"documented-53k: The documented failure",
    "list defects zero": r"^zero-usage: An endpoint[\s\S]*what would mend it: Take zero",
    "list columns": r"^calls\.tokens_recorded +\(int\?, recorded, tokens\)$",
    "list tokenizers": r"o200k_base +yes",
    "list config": r"^No ctxsim\.toml [\s\S]*^ policies +- +labels that bench runs",
    "transcripts check logs": r"6 transcripts: 2 openai-chat, 2 claude-code, 2 codex-rollout",
    "transcripts convert logs/chat-1.json": r'"tool":"search"',
    "transcripts stats logs": r"Bash +10 ",
}

READER = """
from ctxsim.readers.assembly import Assembly, Part


def matches(sample):
    return sample.start.startswith(b"user: ")


def read(source, sample):
    made = Assembly(source.name, "mine")
    for line in source.content().decode().splitlines():
        who, _, text = line.partition(": ")
        if who == "user":
            made.user(text)
        else:
            made.response([Part("assistant", text)])
    yield made.transcript()
"""
"""A reader of one's own."""


SPLIT = """
from ctxsim.policies import Policy


class Split(Policy):
    "Drops results, and leaves their calls."

    def before_call(self, view):
        return view.drop([item.place for item in view.results], "for a test")
"""
"""A policy of which something should be known."""


NARROW = 80
"""Columns of the terminal."""


def too_wide(line: str, text: str) -> list[str]:
    """Lines that don't fit, of what isn't written for programs."""
    programs = ("--request", "--format", "transcripts convert")
    return [] if any(word in line for word in programs) else [one for one in text.splitlines() if len(one) > NARROW]


RUNS = [line for line in ANSWERS if line.startswith("bench ")]
"""What the others look at."""


@pytest.fixture(autouse=True, scope="module")
def computed_once() -> Iterator[None]:
    """What takes long is told several times here, in each form and on a terminal, and is the same each time."""
    with pytest.MonkeyPatch.context() as patch:
        for function in (advise, bench, check, sweep):
            name = function.__name__
            patch.setattr(f"ctxsim.cli.{name}.{name}", once(function))
        yield


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Done]]:
    """A folder with logs and two runs of them, and what was printed."""
    folder: Path = tmp_path_factory.mktemp("every")
    write_logs(folder / "logs")
    (folder / "note.md").write_text("ticket-1093 is open.")
    installed(folder / "agents")
    (folder / "split.py").write_text(SPLIT)
    (folder / "reader.py").write_text(READER)
    (folder / "log.txt").write_text("user: Look for what is open.\nassistant: Nothing is open any more.\n")
    with pytest.MonkeyPatch.context() as set_to:
        set_to.setenv("COLUMNS", str(NARROW))
        return folder, {line: ctxsim(*line.split(), cwd=folder) for line in RUNS}


@pytest.mark.parametrize("line", ANSWERS)
def test_a_command_answers(line: str, runs: tuple[Path, dict[str, Done]], monkeypatch: pytest.MonkeyPatch) -> None:
    folder, printed = runs
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    monkeypatch.setenv("CTXSIM_AGENTS", str(folder / "agents"))
    monkeypatch.setenv("COLUMNS", str(NARROW))
    if done := printed.get(line):
        assert done.returncode == 0, done.stderr
    text = done.stdout if done else terminal(line, folder)
    assert re.search(ANSWERS[line], text, re.MULTILINE), text
    assert not (wide := too_wide(line, text)), wide


def terminal(line: str, folder: Path) -> str:
    """What a command prints on a narrow terminal, without colours."""
    text = on_terminal(*line.split(), cwd=folder, columns=NARROW, errors=False, ends=(0,))
    return OURS.sub("", text.replace("\r\n", "\n"))


def test_the_help_of_every_command_fits_a_terminal(tmp_path: Path) -> None:
    for line in ["--help", *(f"{name} --help" for name in COMMANDS)]:
        text = terminal(line, tmp_path)
        assert text and not (wide := too_wide(line, text)), (line, wide)


THEIRS = {"--json", "--output-format", "--include-body", "--git"}
"""Options of other programs, of which messages and descriptions of formats speak."""


def test_every_option_that_a_text_names_is_there() -> None:
    def options(command: click.Command) -> set[str]:
        found = {one for parameter in command.params for one in parameter.opts}
        for name in command.list_commands(click.Context(command)) if isinstance(command, click.Group) else ():
            inner = command.get_command(click.Context(command), name)
            found |= options(inner) if inner else set()
        return found

    files = [one for one in (ROOT / "ctxsim").rglob("*.py") if one.name not in ("install.py", "git.py")]
    nodes = (node for file in files for node in ast.walk(ast.parse(file.read_text())))
    texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    named = {word for text in texts for word in re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)}
    assert named - THEIRS <= options(cli) | {"--help"}


OURS = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
"""What rich writes itself."""


ROWS = (
    "advise logs", "bench logs --policy mask:keep=1 --out f", "sweep logs --policy mask:keep=1|3 --out g",
    "compare a b", "forecast logs --next 2",
    "report a --only losses", "validate logs", "validate logs --estimates --estimator chars",
    "calibrate logs --out own.json", "transcripts check logs", "transcripts stats logs",
    "check policy mask:keep=1 --doctor --scenario defects/task-lost",
    "check policy split.py:Split --scenario one-prompt",
    "bill logs --index none", "list policies", "list estimators", "list agents", "list settings codex",
    "list formats codex",
    "list models claude-sonnet-4-5", "list vendors anthropic", "list scenarios", "list defects",
    "list columns tokens_*",
    "list tokenizers", "list config",
)  # fmt: skip
"""Every command that prints rows."""


@pytest.mark.slow
@pytest.mark.parametrize("line", ROWS)
def test_rows_in_every_form(line: str, runs: tuple[Path, dict[str, Done]]) -> None:
    folder, _ = runs
    told = {form: ctxsim(*line.split(), "--format", form, cwd=folder) for form in ("json", "csv", "md")}
    assert all(done.returncode == 0 for done in told.values()), told
    answer = json.loads(told["json"].stdout)
    assert answer["schema"] == 1 and line.startswith(answer["command"])
    assert ("verdict" in answer) == line.startswith(("bench", "sweep", "compare"))
    for table in answer["tables"]:
        assert set(table) == {"name", "title", "columns", "rows", "notes"} and table["rows"]
    first = answer["tables"][0]["rows"]
    # A cell may hold line feeds; tables are apart by an empty line.
    read = list(csv.DictReader(io.StringIO(told["csv"].stdout)))
    assert set(read[0]) == set().union(*first) and read[0][next(iter(first[0]))] == str(next(iter(first[0].values())))
    assert "|---" in told["md"].stdout


def forms() -> Iterator[tuple[str, list[str]]]:
    """Every command with the forms that it can be told to print or write, as its own options say."""
    context = click.Context(cli)
    for name in cli.list_commands(context):
        found = cli.get_command(context, name)
        group = found.commands if isinstance(found, click.Group) else {"": found}
        for second, command in group.items():
            kinds = [param.type for param in command.params if {"--format", "--to"} & set(param.opts)]
            yield (
                f"{name} {second}".strip(),
                [str(one) for kind in kinds if isinstance(kind, click.Choice) for one in kind.choices],
            )


def test_every_command_with_csv_is_tried() -> None:
    assert {line.split()[0] for line in ROWS} == {name.split()[0] for name, found in forms() if "csv" in found}


def test_no_command_is_left_out() -> None:
    words = [line.split() for line in ANSWERS]
    assert {first for first, *_ in words} == set(COMMANDS)
    second = {first: {rest[0] for one, *rest in words if one == first} for first in COMMANDS}
    assert second["transcripts"] == set(transcripts.commands)
    assert second["check"] == set(CHECKED) and second["list"] == set(LISTED)
    assert second["compactions"] > set(compactions.commands) - {"of"}


def test_commands_import_no_other_command() -> None:
    modules = {"lists" if name == "list" else name for name in COMMANDS}
    for module in modules:
        tree = ast.parse((ROOT / "ctxsim" / "cli" / f"{module}.py").read_text())
        found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        names = {f"{node.module}.{name.name}" for node in found for name in node.names}
        others = {name for name in names if any(name.startswith(f"ctxsim.cli.{other}.") for other in modules)}
        assert not others, module


def test_every_kind_is_in_the_help(tmp_path: Path) -> None:
    for name, kinds in (("list", LISTED), ("check", CHECKED)):
        help_of = ctxsim(name, "--help", cwd=tmp_path).stdout
        assert all(kind in help_of for kind in kinds)


def test_files_are_renamed_in_one_place() -> None:
    asked = ("temporary.replace(", 'name + ".tmp"', "os.replace(")
    found = {
        str(file.relative_to(ROOT))
        for file in (ROOT / "ctxsim").rglob("*.py")
        if any(text in file.read_text() for text in asked)
    }
    # The growing tables of a run get their names all together, after everything is on disk.
    # The status line imports no room of the package.
    known = {"ctxsim/results/files.py", "ctxsim/results/writer.py", "ctxsim/answers/bill/status.py"}
    assert found <= known
