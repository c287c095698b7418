"""Mistakes are one line and a non-zero exit, whatever the command."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree

import pytest
from command_line import ctxsim
from invented import write_logs

from ctxsim.cli import BEFORE, COMMANDS, GONE


@pytest.mark.parametrize("command", ["bench", "advise", "forecast", "bill"])
def test_a_folder_of_links_says_why_nothing_is_read(command: str, tmp_path: Path) -> None:
    write_logs(tmp_path / "elsewhere", 1)
    (tmp_path / "logs").mkdir()
    for file in (tmp_path / "elsewhere").iterdir():
        (tmp_path / "logs" / file.name).symlink_to(file)
    done = ctxsim(command, "logs", cwd=tmp_path)
    assert done.returncode == 1 and "is a link that leads out of the folder: give its file by its own" in done.stderr


LOG = {"trajectory": [], "info": {}, "history": [{"role": "user", "content": "Go."}]}

MINE = """
from ctxsim.policies import Policy


class Thing:
    pass


class Bar(Policy):
    "Keeps all."

    def before_call(self, view):
        return view
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what people have lying about: logs, a run, notes, a folder that nobody may write into."""
    made: Path = tmp_path_factory.mktemp("slips")
    write_logs(made / "logs", 1)
    (made / "mine.py").write_text(MINE)
    (made / "broken.py").write_text("def (\n")
    (made / "note.md").write_text("Not JSON at all.")
    (made / "empty.jsonl").write_text("")
    (made / "empty").mkdir()
    (made / "bytes.jsonl").write_bytes(bytes(range(256)) * 20)
    (made / "f.traj").write_text(json.dumps(LOG))
    (made / "broken.toml").write_text("policies = [")
    (made / "future.toml").write_text('nmae = "x"')
    assert ctxsim("bench", "logs", "--policy", "mask:keep=1", "--out", "run", cwd=made).returncode == 0
    copytree(made / "run", made / "old")
    (made / "old" / "run.json").write_text('{"schema": 999}')
    return made


OTHER_FORM = "can't be written in this form; name a file that ends in"
SLIPS = {
    # what is typed: what the one line says
    "bnch": "unknown command 'bnch'; did you mean bench?",
    "bench --scenario documented": "did you mean documented-53k",
    "bench --policy tokn-budget": "did you mean token-budget or",
    "bench --provider tokenizer=o200": "did you mean o200k_base?",
    "bench --provider cache=antropic": "did you mean anthropic?",
    "bench nothing-here": "nothing-here: does not exist",
    "bench fifty-turn": "no file or folder fifty-turn, and unknown scenario 'fifty-turn'; did you mean fifty-turns?",
    "replay documented-53k --policy keep-all --request 9": "has 7 calls, there is no call 9",
    "replay fifty --policy keep-all": "unknown scenario 'fifty'; did you mean fifty-turns?",
    "replay documented-53k --policy mask --format openai": "say which by --request K",
    "check policy mask --scenario fifty": "unknown scenario 'fifty'; did you mean fifty-turns?",
    "check policy mask --doctor --scenario defects/task": "did you mean task-lost",
    "check estimator chrs": "did you mean chars",
    "check agent codx": "did you mean codex?",
    "check vendor antropic": "did you mean anthropic?",
    "check run nothing-here": "nothing-here: is no finished run: run.json is missing",
    "check reader other.py x": "no reader file other.py",
    "check setting codx a=1": "did you mean codex?",
    "check setting codex": "name a setting too: ctxsim check setting AGENT KEY=VALUE",
    "serve documented-53k --host 192.0.2.1": "can't listen on 192.0.2.1",
    "bench logs --policy mine.py:Foo": "mine.py has no policy 'Foo'; it has Bar",
    "bench logs --policy mine.py:Baz": "mine.py has no policy 'Baz'; did you mean Bar?",
    "bench logs --policy mine.py:Thing": "mine.py has no policy 'Thing'; it has Bar",
    "bench logs --policy mine.py": "name a class of it, as in mine.py:CLASS; it has Bar",
    "bench logs --policy nomine.py:Foo": "no policy file nomine.py",
    "bench logs --policy broken.py:Foo": "policy file broken.py, line 1: SyntaxError",
    "bench logs --policy token-budget:budget=-5": "token-budget: budget=-5: expected a whole number >= 0",
    "bench logs --policy token-budget:budget=nan": "token-budget: budget=nan: expected a whole number",
    "bench logs --policy token-budget:bugdet=5": "unknown parameter 'bugdet'; did you mean budget?",
    "bench logs --policy token-budget:budget=5,budget=6": "budget is given twice",
    "bench logs --policy mask:keep=": "'keep=' is not key=value, as in token-budget:budget=40000",
    "bench logs --policy mask:keep=1+": "'' has no policy's name, as in token-budget:budget=40000",
    "bench logs --policy nope": "unknown policy 'nope'; see: ctxsim list policies",
    "bench logs --policy": "Option '--policy' requires an argument",
    "bench logs --polcy mask": "No such option '--polcy'. (Did you mean one of: ",
    "bench logs --out note.md": "note.md: Not a directory; a run is written into a folder; choose another with --out",
    "bench logs --out=": "Invalid value for '--out': the path is empty; see: ctxsim bench --help",
    "advise logs --settings=": "Invalid value for '--settings': the path is empty",
    "bench logs --model gpt4": "unknown model 'gpt4'; did you mean gpt-4 or gpt-4o",
    "bench --scenario documented-53k --model gpt4": "unknown model 'gpt4'; did you mean gpt-4 or gpt-4o",
    "bench logs --window -5": "'--window': -5 is not in the range 1<=x<=1000000000000; see: ctxsim bench --help",
    "bench logs --window many": "'many' is not a whole number",
    "bench logs --jobs 0": "0 is not in the range x>=1",
    "bench logs --columns kep": "unknown column 'kep'; did you mean kept",
    "bench logs --columns ,": "unknown column ','; known: compactions, ",
    "bench logs --format xml": "'xml' is not one of 'table', 'json', 'csv', 'md'",
    "bench logs --goal dolars": "did you mean dollars?",
    "bench logs --head many": "'many' is none of: fitted, none, a number of tokens",
    "bench logs --provider cache=nothing.toml": "no vendor file nothing.toml",
    "bench logs --model nowhere.toml": "nowhere.toml: cannot be read: No such file or directory",
    "bench logs --model broken.toml": "broken.toml: is no TOML: ",
    "bench logs --estimator chars:ratio=0": "chars: ratio=0: expected a number > 0.0",
    "bench empty.jsonl": "empty.jsonl: is empty",
    "bench empty": "empty: has no files with the endings .json, ",
    "bench bytes.jsonl": "is no transcript format that ctxsim knows: not JSON; see: ctxsim list formats",
    "bench note.md": "is no transcript format that ctxsim knows: not JSON; see: ctxsim list formats",
    "bench logs/nothing-*.jsonl": "matches nothing",
    "bench @nolist": "@nolist: is no list of paths: No such file or directory",
    "bench reader:claud:logs": "unknown format 'claud'; did you mean claude-code?",
    "bench git:nowhere": "is no repository on this machine: git:REPOSITORY[@REF][:FOLDER]",
    "bench --scenario nope.toml": "nope.toml: no such scenario file",
    "report f.traj --only pictures": "f.traj: is a file; name the folder that bench or sweep wrote",
    "report logs": "run.json is missing; name a folder that bench or sweep wrote",
    "report run --out note.md/x.html": "note.md/x.html: Not a directory; a part of this path is a file",
    "report run --out logs": "logs: Is a directory; name a file in it",
    "report run --only pictures --policy nope": "run: has no policy 'nope'; it has keep-all (bound), mask:",
    "report": "Missing argument 'RUN'; see: ctxsim report --help",
    "sweep logs": "Missing option '--policy'; see: ctxsim sweep --help",
    "sweep logs --policy budget=20000-80000": "'budget=20000-80000' has no policy's name, as in token-budget:budget=",
    "sweep logs --policy token-budget:budget=20000-80000": "expected a whole number; a range, in sweep: 20000..80000@5",
    "sweep logs --policy token-budget:budget=9..1": "'9..1' is not low..high@steps, as in retain=100..4000@8",
    "compare run": "compare needs two runs, or one and two policies: --policy LABEL LABEL",
    "compare run nowhere": "nowhere: is no finished run: run.json is missing",
    "compare logs nowhere": "nowhere: does not exist",
    "compare nowhere logs": "nowhere: does not exist",
    "compare run run --fail-if cost>": "'cost>' is no rule. Rules: cost_usd > +2%",
    "compare run run --fail-if cost_us>2": "unknown column 'cost_us'; did you mean cost_usd or cost_refetch_usd?",
    "forecast logs --next -1": "'-1' is no horizon: a number of sessions, as 20, or of days, as 7d",
    "forecast nowhere": "nowhere: does not exist",
    "bill logs --by modle": "did you mean model?",
    "advise logs --settings nowhere.json": "nowhere.json: can't be read: No such file or directory",
    "advise logs --settings note.md": "sets nothing of an agent that we know; see: ctxsim list settings",
    "replay nowhere --policy keep-all": "no file or folder nowhere, and unknown scenario 'nowhere'; known: ",
    "replay logs --policy keep-all --number 99": "logs has fewer than 99 transcripts; ctxsim transcripts check lists",
    "transcripts chek": "No such command 'chek'. Did you mean 'check'?; see: ctxsim transcripts --help",
    "transcripts convert logs --out logs": "logs: Is a directory; name a file in it",
    "transcripts convert logs --to atof": "did you mean atif?",
    "compactions score note.md logs": "holds 3 sessions; name a file with the one that was summarised",
    "validate logs --estimates --estimator chrs": "unknown estimator 'chrs'; did you mean chars",
    "calibrate logs --out logs": "logs: Is a directory; name a file in it",
    "check policy --doctor nope": "unknown policy 'nope'; see: ctxsim list policies",
    "check polcy mask": "did you mean policy?",
    "check vendor nowhere.toml": "no vendor file nowhere.toml",
    "check setting codex model_auto_compact_token_limi=6": "did you mean model_auto_compact_token_limit",
    "check reader mine.py nowhere.txt": "mine.py",
    "trust nowhere": "nowhere: can't be read: No such file or directory",
    "serve documented-53k --port 99999": "99999 is not in the range 0<=x<=65535",
    "serve documented-53k --fault nope": "fault 'nope' is none of: 429@STEP",
    "drive codex --play nope": "unknown scenario 'nope'; known: canaries",
    "list model": "did you mean models?",
    "list policies mask keep": "Got unexpected extra argument (keep)",
    "compare run run --format xlsx": "'xlsx' is not one of 'table', 'json', 'csv', 'md', 'latex'",
    "compare run run --policy mask": "Option '--policy' requires 2 arguments",
    "compare logs logs": "sessions: each set needs 4 for a comparison",
    "compare run --policy keep-all nope": "run: has no policy 'nope'; it has keep-all (bound), mask:keep=1,batch=1",
    "advise logs --for codex": "unknown framework 'codex'; known: adk, agent-framework, langchain, ",
    "advise logs --for langchain --format csv": "--for prints lines, or --format json",
    "advise log": "log: does not exist; did you mean logs?",
    "advise logs --out nowhere/x.html": "nowhere/x.html: No such file or directory; is the path right?",
    "bench mask": "mask: does not exist",
    "bench run": "run: is a finished run, which ctxsim report shows; name the recordings",
    "bench logs --provider window=99999999999999999999": "window",
    "bench logs --refetch x": "'x' is not a number",
    "bench logs --provider reasoning=sometimes": "reasoning=sometimes: expected never, current_turn, all",
    "bench logs --policy summary:at=2": "summary: at",
    "bench broken.toml": "broken.toml: is no TOML: ",
    "bench --scenario future.toml": "future.toml",
    "report old": "old/run.json: ",
    "report run --only losses --out x": "--out goes with --only page or pictures or paper",
    "report run --only pictures --out note.md": "note.md: File exists; name a folder",
    "report run --transcript zzz": "run: has no transcript whose name holds 'zzz'",
    "sweep logs --policy token-budget:budget=1..2@0": "'1..2@0' needs low..high upwards and at least one step",
    "sweep logs --policy token-budget:budget=1..9000000@99999999": "at most 2,000 are run at once",
    "forecast logs --next 99999999999": "horizon",
    "forecast logs --out x.html": f"x.html: {OTHER_FORM} .png, .svg, .pdf",
    "bill logs --index none --out x.docx": f"x.docx: {OTHER_FORM} .png, .svg, .pdf",
    "advise logs --out x.pdf": f"x.pdf: {OTHER_FORM} .html, .htm",
    "advise --score --out x.html": f"x.html: {OTHER_FORM} .png, .svg, .pdf",
    "report run --out x.png": f"x.png: {OTHER_FORM} .html, .htm",
    "calibrate logs --out x.png": f"x.png: {OTHER_FORM} .json",
    "bill logs --days -3": "-3 is not in the range x>=0",
    "replay logs --policy mask --request 0": "0 is not in the range x>=1",
    "replay note.md --policy mask": "is no transcript format that ctxsim knows",
    "transcripts convert logs --to atif --out nowhere/y": "nowhere/y: No such file or directory; is the path right?",
    "compactions score nowhere.md logs/chat-1.json": "nowhere.md",
    "compactions score note.md logs/chat-1.json --call 9999": "9999",
    "validate logs --estimates --threshold 0": "0 is not in the range",
    "validate logs --estimates --out note.md": "note.md",
    "calibrate logs --risk 0.9": "0.9 is not in the range 0<=x<=0.5",
    "drive codex --play documented-53k --limit 0": "0.0 is not in the range x>=1",
    "list models nowhere.toml": "nowhere.toml: cannot be read: No such file or directory",
}


@pytest.mark.parametrize("line", SLIPS)
def test_a_slip_is_told_in_one_line(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / ".config"))
    done = ctxsim(*line.split(), cwd=folder)
    assert done.returncode in (1, 2), done
    assert SLIPS[line] in done.stderr and done.stderr.count("\n") == 1 and done.stderr.startswith("ctxsim: ")
    assert OTHER_FORM not in SLIPS[line] or not done.stdout, "told before anything else"
    assert not list(folder.rglob("*.tmp")) and not list(folder.glob("results/*")), "a failed command left files"


def test_a_report_of_an_empty_run_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"messages": [')
    assert "is not complete JSON" in ctxsim("bench", "bad.json", "--out", "out", cwd=tmp_path).stderr
    assert not (tmp_path / "out").exists()
    (tmp_path / "out").mkdir()
    assert "is not complete JSON" in ctxsim("bench", "bad.json", "--out", "out", cwd=tmp_path).stderr
    for line in ("report out", "report out --only pictures", "report out --only losses", "check run out"):
        done = ctxsim(*line.split(), cwd=tmp_path)
        assert (done.returncode, done.stderr) == (1, "ctxsim: out: holds no replayed call\n")


def test_options_of_before_say_what_to_type_now(tmp_path: Path) -> None:
    for option, now in GONE.items():
        words = option.split()
        command = {"score": ["compactions", "score"]}.get(words[0], words[:1]) if words[1:] else ["trust"]
        done = ctxsim(*command, words[-1], cwd=tmp_path)
        assert (done.returncode, done.stderr) == (2, f"ctxsim: '{words[-1]}' is now: {now}\n")


def test_the_names_of_before_say_what_to_type_now(tmp_path: Path) -> None:
    assert len(COMMANDS) == 17 and not set(BEFORE) & set(COMMANDS)
    for name, now in BEFORE.items():
        done = ctxsim(name, "whatever", "--policy", "mask", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"ctxsim: '{name}' is now: {now}\n"
        words = now.split()
        assert words[0] == "python" or (words[0] == "ctxsim" and words[1] in COMMANDS)
