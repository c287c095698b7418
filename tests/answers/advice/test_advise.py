"""`advise` from recordings to what is to be set: which part it looks at first, and the page that it writes."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from invented import claude_code, codex
from pages import parts

import ctxsim
from ctxsim.answers.advice.predicted import kept
from ctxsim.api.advising import FEW, LEAST_STEP, LOOKED_AT, by_agent, some_of, some_of_each
from ctxsim.cli import cli
from ctxsim.readers import sources
from ctxsim.report.page import page_data


def sized(folder: Path, sizes: list[int]) -> list[str]:
    """Sources of these sizes, in this order, and the paths of some of them."""
    folder.mkdir()
    for number, size in enumerate(sizes):
        (folder / f"{number:03}.jsonl").write_text(f"{number:0{size}}")
    return [Path(one).name for one in some_of(list(sources(str(folder))))]


def test_a_large_folder_is_looked_at_in_part_by_size(tmp_path: Path) -> None:
    sizes = [100 * (7 * n % 30 + 1) for n in range(30)]
    found = sized(tmp_path / "thirty", sizes)
    assert [sizes[int(name[:3])] for name in found] == [3000, 2700, 2400, 2100, 1800, 1500, 1200, 900, 600, 300]
    assert len(sized(tmp_path / "least", [5] * FEW)) == -(-FEW // LEAST_STEP)
    # About LOOKED_AT of many: the step is whole.
    assert LOOKED_AT <= len(sized(tmp_path / "many", [5] * 160)) <= LOOKED_AT + 1
    assert sized(tmp_path / "few", [5] * (FEW - 1)) == [], "all of few"


def test_sources_that_are_no_files_of_their_own_are_all_looked_at(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "logs.zip", "w") as archive:
        for number in range(3 * FEW):
            archive.writestr(f"{number}.jsonl", "{}")
    found = list(sources(str(tmp_path / "logs.zip")))
    assert len(found) == 3 * FEW and some_of_each(found, {"codex": found}) == []


@pytest.fixture
def wasteful(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Six sessions whose first command prints 25,000 characters that nothing uses later."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "logs"
    folder.mkdir()
    for seed in range(1, FEW + 1):
        lines = claude_code(seed)
        block: Any = lines[2]["message"]["content"][0]
        block["content"] += "\n" + "\n".join(f"noise {seed} {n * 7919:09}" for n in range(1300))
        # The version that knows all settings.
        text = "".join(json.dumps(line | {"version": "2.1.330"}) + "\n" for line in lines)
        (folder / f"{seed}.jsonl").write_text(text)
    return folder


def test_what_every_session_wastes_is_advised_whatever_others_recorded(wasteful: Path, tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    alone.mkdir()
    for seed in range(1, 3):
        lines: Any = codex(seed)
        for line in lines:
            if line["payload"].get("type") == "function_call_output":
                line["payload"]["output"] += "\n" + "\n".join(f"noise {seed} {n * 7919:09}" for n in range(900 * seed))
        for folder in (wasteful, alone):
            (folder / f"rollout-{seed}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    there = list(sources(str(wasteful)))
    looked = [Path(path).name for path in some_of_each(there, by_agent(there, []))]
    assert {"rollout-1.jsonl", "rollout-2.jsonl"} < set(looked) and len(looked) < FEW + 2
    found = ctxsim.advise(wasteful)
    assert [(one.agent, one.sessions) for one in found] == [("claude-code", FEW), ("codex", 2)]
    one = next(iter(found))
    assert one.defaults, "no settings file was read"
    assert [given.key for given in one.settings] == ["bashOutputMaxChars"]
    [(file, [written])] = one.lines.items()
    assert (file, written.strip()) == ("~/.claude/settings.json", f'"bashOutputMaxChars": {one.settings[0].value}')
    assert one.share is not None and one.share.value < 0.9 and found.run.transcripts == FEW + 2
    [own] = ctxsim.advise(alone)
    assert own.settings and [one for one in found if one.agent == "codex"] == [own]
    together, each = page_data(found.run), page_data(found.run, said=("Set in ...",))
    assert together["card"] and together["chosen"] is not None, "the best of what both could set"
    assert (each["card"], each["chosen"], each["verdict"]) == ([], None, ["Set in ..."])


def test_the_page_has_what_to_paste_first_and_every_session_though_it_cant_be_verified(
    wasteful: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PATH", "CTXSIM_AGENTS"):
        monkeypatch.setenv(name, str(wasteful))
    page = tmp_path / "advice.html"
    done = CliRunner().invoke(cli, ["advise", str(wasteful), "--verify", "--out", str(page)])
    assert done.exit_code == 1 and '    "bashOutputMaxChars": ' in done.stdout
    (line,) = [one for one in done.stderr.splitlines() if one.startswith("ctxsim: ")]
    assert "not verified: claude-code: no 'claude' on the path; install " in line
    assert "run: ctxsim check setting claude-code bashOutputMaxChars=" in line and line.endswith(" --install")
    assert f"written: {page}" in done.stdout and "--apply" not in done.stdout
    data = json.loads(page.read_text().split('<script type="application/json" id="data">')[1].split("</script>")[0])
    assert data["verdict"][0] == "Set in ~/.claude/settings.json:"
    assert data["verdict"][1].startswith('    "bashOutputMaxChars": ') and data["beside"] == "as set"
    assert len(data["transcripts"]) == FEW and any("noise 3 " in part for part in parts(page.read_text()))
    [said] = kept()
    assert "noise" not in repr(said) and said.settings == {"bashOutputMaxChars": said.settings["bashOutputMaxChars"]}


@pytest.mark.parametrize(
    ("given", "two"),
    [
        (["--undo", "--score"], "--undo and --score"), (["--undo", "logs"], "--undo and paths"),
        (["--score", "--window", "9"], "--score and --window"), (["--apply", "--undo"], "--undo and --apply"),
    ],
)  # fmt: skip
def test_what_an_option_would_ignore_is_refused(given: list[str], two: str) -> None:
    done = CliRunner().invoke(cli, ["advise", *given])
    assert done.exit_code == 2 and f"{two} can't go together" in done.stderr


def test_models_without_a_price_are_named(wasteful: Path) -> None:
    log = wasteful / "1.jsonl"
    log.write_text(log.read_text().replace("claude-sonnet-4-5", "nobodys-model"))
    done = CliRunner().invoke(cli, ["advise", str(log)], catch_exceptions=False)
    assert done.stdout.startswith("Claude Code 2.1.330, nobodys-model: ")
