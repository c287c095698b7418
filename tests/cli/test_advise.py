"""`ctxsim advise`: what is asked, said, verified, written and restored."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from click.testing import CliRunner
from command_line import ctxsim

from ctxsim.answers.advice.predicted import Came, Prediction
from ctxsim.cli import advise as advise_room
from ctxsim.errors import CtxsimError
from ctxsim.policies.agents.given import Given
from ctxsim.report.advised import came_lines

LIMIT = Given("codex", "model_auto_compact_token_limit", 90_000)
OTHER = Given("codex", "tool_output_token_limit", 900)


def agent(*settings: Given, prediction: Any = None, name: str = "codex") -> Any:
    return SimpleNamespace(agent=name, title="Codex", settings=settings, models=("gpt-5", "m"), prediction=prediction)


@pytest.fixture
def advised(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What `advise` is asked, and what it finds; a screen of an agent is its title."""
    made: dict[str, Any] = {"found": [agent(LIMIT)], "left_out": 0, "kept": []}

    class Found(list[Any]):
        replays = 7
        run = SimpleNamespace(info=SimpleNamespace(recorders=()))
        unadvised = made.setdefault("unadvised", {})

        @property
        def agents(self) -> list[str]:
            return [one.title for one in self]

    def advise(paths: Any, watch: Any, **given: Any) -> Any:
        made["asked"] = (paths, given)
        return Found(made["found"])

    monkeypatch.setattr(advise_room, "advise", advise)
    monkeypatch.setattr(advise_room, "screen", lambda one: [one.title, "more"])
    monkeypatch.setattr(advise_room, "STEPS", ("a step",))
    monkeypatch.setattr(advise_room, "tell_what_was_left_out", lambda info: made["left_out"])
    monkeypatch.setattr(advise_room, "keep", lambda one, at, paths: made["kept"].append((one, paths)))
    return made


def test_recordings_of_agents_without_a_setting_are_told(advised: dict[str, Any], tmp_path: Path) -> None:
    advised["unadvised"]["mini-SWE-agent"] = 2
    said = "ctxsim: no advice on 2 recordings of mini-SWE-agent: ctxsim can't replay any setting of it\n"
    assert ctxsim("advise", "logs", cwd=tmp_path).stderr == said


def test_advice_is_a_screen_for_each_agent_and_the_next_steps(advised: dict[str, Any], tmp_path: Path) -> None:
    advised["found"] = [agent(LIMIT, prediction="p"), agent()]
    done = ctxsim("advise", "logs", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "Codex\nmore\n\nCodex\nmore\n\na step\n")
    assert advised["asked"] == (("logs",), {"goal": "dollars", "head": "fitted", "jobs": None})
    assert advised["kept"] == [("p", ("logs",))]
    with patch.object(advise_room, "say", side_effect=BrokenPipeError):
        ctxsim("advise", "logs", cwd=tmp_path)
    assert advised["kept"] == [("p", ("logs",))] * 2, "though its reader took the first lines only"
    advised["found"] = [agent()]
    assert ctxsim("advise", "logs", cwd=tmp_path).stdout == "Codex\nmore\n", "where nothing is set no step follows"
    advised["left_out"] = 1
    assert ctxsim("advise", "logs", "--goal", "tokens", "--sample", "5:seed=3", cwd=tmp_path).returncode == 1
    assert advised["asked"][1] == {"goal": "tokens", "head": "fitted", "jobs": None, "sample": 5, "seed": 3}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--undo --verify", "--undo and --verify can't go together"),
        ("--undo logs", "--undo and paths can't go together"),
        ("--score --goal tokens", "--score and --goal can't go together"),
        ("logs --for policies", "--for policies is now: ctxsim bench PATHS"),
        *((f"logs {option} --format json", "--verify and --apply print no rows") for option in ("--verify", "--apply")),
        *((f"logs --for langchain {ignored}", f"--for and {ignored.split()[0]} can't go together")
          for ignored in ("--verify", "--apply", "--settings x.json", "--settings .", "--out page.html")),
    ],
)  # fmt: skip
def test_what_advice_can_not_do_at_once_is_told(line: str, said: str, advised: dict[str, Any], tmp_path: Path) -> None:
    done = ctxsim("advise", *line.split(), cwd=tmp_path)
    assert done.returncode == 2 and said in done.stderr and "asked" not in advised


def test_each_setting_is_verified_beside_the_others(
    advised: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[Any] = []

    def check(name: str, settings: Any, model: str) -> str:
        heard.append((name, list(settings.items()), model))
        if len(heard) > 2:
            raise CtxsimError("codex isn't there, or add --install")
        return "seen"

    monkeypatch.setattr(advise_room, "check_setting", check)
    monkeypatch.setattr(advise_room, "lines", lambda seen: [f"{seen} {len(heard)}"])
    advised["found"] = [agent(LIMIT, OTHER)]
    done = ctxsim("advise", "logs", "--verify", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "Codex\nmore\n\nseen 1\n\nseen 2\n")
    pairs = [(LIMIT.key, LIMIT.value), (OTHER.key, OTHER.value)]
    assert heard == [("codex", pairs, ""), ("codex", pairs[::-1], "")], "Codex is run with one model only"
    done = ctxsim("advise", "logs", "--verify", cwd=tmp_path)
    assert done.returncode == 1 and done.stderr == (
        "ctxsim: not verified: codex isn't there, or run: ctxsim check setting codex "
        "model_auto_compact_token_limit=90000 --install\n"
    )
    advised["found"] = [agent(LIMIT, name="kimi-code")]
    assert ctxsim("advise", "logs", "--verify", cwd=tmp_path).returncode == 1
    assert heard[-1] == ("kimi-code", pairs[:1], "gpt-5")


def test_settings_of_one_agent_are_written_together_after_their_changes_are_agreed_to(
    advised: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[Any] = []

    def apply(name: str, given: Any, *, project: Any, agreed: Any) -> Any:
        heard.append((name, given, project))
        of = [SimpleNamespace(diff="+ a", path="f.toml"), SimpleNamespace(diff="+ b", path="g.toml")][: len(given)]
        if not given or not agreed(of):
            return ()
        return [SimpleNamespace(path=one.path, backup="b" * (one.path == "g.toml")) for one in of]

    monkeypatch.setattr(advise_room, "apply", apply)
    advised["found"] = [agent(LIMIT, OTHER), agent(LIMIT), agent()]
    done = CliRunner().invoke(advise_room.command, ["logs", "--apply"], input="y\ny\n")
    assert done.exit_code == 0, done.output
    both = {LIMIT.key: 90_000, OTHER.key: 900}
    assert heard == [("codex", both, None), ("codex", {LIMIT.key: 90_000}, None), ("codex", {}, None)]
    assert "\n+ a\n\n+ b\n\nWrite f.toml and g.toml? [y/N]: y\n" in done.output and "a step" not in done.output
    assert "written: f.toml; ctxsim advise --undo restores all of them\n" in done.output
    assert "written: g.toml; the file as it was: b; ctxsim advise --undo restores all of them\n" in done.output
    assert "\n+ a\n\nWrite f.toml? [y/N]: y\nwritten: f.toml; ctxsim advise --undo restores it\n" in done.output
    assert done.output.endswith("\nCodex: nothing to write.\n")
    no = CliRunner().invoke(advise_room.command, ["logs", "--apply"], input="n\nn\n")
    assert "written" not in no.output


def test_undo_says_what_was_restored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    done = [SimpleNamespace(path="f.toml", backup="b"), SimpleNamespace(path="new.toml", backup="")]
    monkeypatch.setattr(advise_room, "undo", lambda: done)
    assert ctxsim("advise", "--undo", cwd=tmp_path).stdout == "restored: f.toml\nremoved: new.toml\n"


def test_a_framework_is_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[Any] = []

    def construct(name: str, paths: Any, watch: Any, **given: Any) -> Any:
        asked.append((name, paths, given))
        return {"code": "x"}

    monkeypatch.setattr(advise_room, "construct", construct)
    monkeypatch.setattr(advise_room, "constructor_screen", lambda framed: ["one", "two"])
    line = ("advise", "logs", "--for", "langchain")
    assert ctxsim(*line, cwd=tmp_path).stdout == "one\ntwo\n"
    assert asked == [("langchain", ("logs",), {"goal": "dollars", "head": "fitted", "jobs": None})]
    rows = json.loads(ctxsim(*line, "--format", "json", cwd=tmp_path).stdout)
    assert rows["advice"] == {"code": "x"} and rows["command"] == "advise"


def test_a_score_is_lines_json_and_a_picture(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # What other tests predicted is told too.
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    said = Prediction("codex", {"key": 1}, {5: (9.0, 20.0)}, {5: (4.0, 8.0)}, None, 100.0)
    found = [Came(said, 5, 7.5, as_set=False, advised=True)]
    monkeypatch.setattr(advise_room, "score", lambda paths: found)
    line = ("advise", "--score")
    assert ctxsim(*line, cwd=tmp_path).stdout == "\n".join([*came_lines(found), ""])
    held = "1 of 1 prediction held for the advised settings"
    drawn = ctxsim(*line, "--out", "score.svg", cwd=tmp_path, drawn=True).stdout
    assert drawn.startswith(held) and drawn.endswith("\nwritten: score.svg\n")
    assert held in (tmp_path / "score.svg").read_text()
    (tmp_path / "score.svg").unlink()
    rows = ctxsim(*line, "--out", "score.svg", "--format", "json", cwd=tmp_path, drawn=True).stdout
    [came] = json.loads(rows)["came"]
    assert (came["usd"], came["advised"], came["prediction"]["advised"]["5"]) == (7.5, True, [4.0, 8.0])
    assert "--score prints lines, or --format json" in ctxsim(*line, "--format", "csv", cwd=tmp_path).stderr
    found.clear()
    (tmp_path / "score.svg").unlink()
    assert "fewer than 5 sessions began" in ctxsim(*line, "--out", "score.svg", cwd=tmp_path).stdout
    assert not (tmp_path / "score.svg").exists(), "there is nothing to draw"
