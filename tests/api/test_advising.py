"""`ctxsim.advise`, `construct` and `score`: what to set."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from invented import write_logs

import ctxsim
from ctxsim.answers.advice.predicted import Prediction, mark
from ctxsim.api import advising
from ctxsim.api.advising import _of_passes, by_agent, score, some_of, some_of_each
from ctxsim.errors import CtxsimError, UnknownName
from ctxsim.readers import sources
from ctxsim.readers.paths import FOUND
from ctxsim.readers.source import Source
from ctxsim.readers.source.placed import Placed
from ctxsim.results import InputInfo
from ctxsim.runs.conduct import Watch


def test_what_to_construct_is_tried_near_the_best_and_with_the_other_arguments_of_its_class(tmp_path: Path) -> None:
    turns: list[Any] = [{"role": "user", "content": "Go."}]
    for step in range(12):
        asked = {"id": f"c{step}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        turns.append({"role": "assistant", "content": None, "tool_calls": [asked]})
        turns.append({"role": "tool", "tool_call_id": f"c{step}", "content": f"{step}: " + "word " * 4_000})
    (tmp_path / "chat.json").write_text(json.dumps([*turns, {"role": "assistant", "content": "Done."}]))
    heard: list[int] = []
    watch = Watch(lambda info, total: heard.append(total))
    found = ctxsim.construct("pydantic-ai", tmp_path, goal="tokens", watch=watch)
    assert found.code == ("ClearToolResults(max_tokens=20000)",)
    # First two classes' budgets of 20, 40 and 80 thousand tokens, and 10 and 30 pairs of the one: 8. Then 30,000,
    # between the best and the next, and both with 10 and 30 pairs, never two budgets of one class: 1 + 2 x 2.
    assert found.tried == 8 + 5
    assert heard == [2, 2], "each source is replayed twice"
    assert (found.framework, found.amount) == ("pydantic-ai", "tokens") and found.share is not None
    assert found.share.value == pytest.approx(found.take.tokens / found.now.tokens) and found.share.value < 1
    rows = found.frame().to_dict("list")
    assert rows["advised"] == [False, True] and rows["policy"] == [found.now.policy, found.policy]
    assert rows["tokens"] == [found.now.tokens, found.take.tokens] and rows["refused"] == [0, 0]


def test_goals_and_frameworks_are_known_before_anything_runs() -> None:
    for call in (lambda: ctxsim.advise("nowhere", goal="speed"), lambda: ctxsim.construct("langchain", goal="speed")):
        with pytest.raises(UnknownName, match="unknown goal 'speed'"):
            call()
    with pytest.raises(UnknownName, match="did you mean langchain"):
        ctxsim.construct("langhcain", "nowhere")
    # An agent's settings stand in files: it has no constructor.
    with pytest.raises(
        UnknownName, match="unknown framework 'codex'; known: adk, agent-framework, langchain, openai-ag"
    ):
        ctxsim.construct("codex", "nowhere")


def files(folder: Path, sizes: list[int], kind: str = "json") -> list[Source]:
    folder.mkdir(exist_ok=True)
    for number, size in enumerate(sizes):
        (folder / f"{number:03}.{kind}").write_bytes(b"x" * size)
    return [Source(one.name, one) for one in sorted(folder.iterdir())]


def test_of_many_files_some_of_all_sizes_are_looked_at(tmp_path: Path) -> None:
    assert some_of(files(tmp_path / "a", [1] * 5)) == [], "few are all replayed"
    six = files(tmp_path / "b", [1, 2, 3, 4, 5, 6])
    assert [Path(one).name for one in some_of(six)] == ["005.json", "002.json"], "every third, the largest first"
    many = files(tmp_path / "c", list(range(1, 65)))
    # Of 64 about 16 are looked at: every fourth.
    assert [Path(one).stem for one in some_of(many)] == [f"{n:03}" for n in range(63, 0, -4)]


def test_a_folder_is_as_large_as_its_files_and_a_dead_link_has_no_size(tmp_path: Path) -> None:
    five = files(tmp_path / "tasks", [4] * 5)
    # Its name comes before those of the others: only its size makes it the first.
    (whole := tmp_path / "tasks" / "-whole").mkdir()
    (whole / "a").write_bytes(b"12345")
    (whole / "gone").symlink_to(tmp_path / "nowhere")
    assert Path(some_of([*five, Source("whole", whole)])[0]).name == "-whole"


def test_each_agent_has_its_own_part_and_what_is_no_file_has_none(tmp_path: Path) -> None:
    write_logs(tmp_path / "logs", 7)
    found = [one for one in sources(str(tmp_path / "logs")) if "chat" not in one.name]
    looked = [Path(one).name for one in some_of_each(found, by_agent(found, []))]
    # Of seven of each agent every third by size, the largest first, which are three.
    assert [name.partition("-")[0] for name in looked] == ["claude"] * 3 + ["rollout"] * 3
    few = [one for one in found if "claude" in one.name or one.name.endswith("1.jsonl")]
    assert [Path(one).name for one in some_of_each(few, by_agent(few, []))][3:] == ["rollout-1.jsonl"], "of few all"
    least = [one for one in found if one.name.endswith("1.jsonl")]
    assert some_of_each(least, by_agent(least, [])) == [], "that would be all"
    # A task's folder is a whole source, as large as its files.
    task = tmp_path / "task"
    files(task, [99_999])
    made = [*found, Source(str(task), task)]
    assert some_of_each(made, {"codex": made})[0] == str(task)
    of_an_archive = Placed("a.zip!x", "/copies/", "a.zip!", archive=tmp_path / "a.zip", path=found[0].path)
    parts = (Source(found[0].name, found[0].path, column="x"), Source(found[0].name, found[0].path, reader="x"))
    for other in (*parts, of_an_archive):
        assert some_of_each([*found, other], by_agent(found, [])) == []


def test_a_session_that_has_only_begun_has_no_advice(tmp_path: Path) -> None:
    begun = {"type": "user", "id": "1", "timestamp": "2026-01-01T00:00:00Z", "content": "Any mail?"}
    (tmp_path / "s.json").write_text(json.dumps({"sessionId": "s", "projectHash": "h", "messages": [begun]}))
    why = f"{tmp_path}: no call to replay; to see why: ctxsim transcripts check {tmp_path}"
    with pytest.raises(CtxsimError, match=f"^{re.escape(why)}$"):
        ctxsim.advise(tmp_path)


def test_agents_are_those_of_recordings_and_none_is_told(tmp_path: Path) -> None:
    write_logs(tmp_path / "logs", 1)
    found = list(sources(str(tmp_path / "logs")))
    each = by_agent(found, ["logs"])
    assert {agent: [one.name.rpartition("/")[2] for one in of] for agent, of in each.items()} == {
        "claude-code": ["claude-1.jsonl"],
        "codex": ["rollout-1.jsonl"],
    }
    with pytest.raises(CtxsimError, match=r"^a, b: no session of an agent that we know; for others: ctxsim bench$"):
        by_agent(found[:1], ["a", "b"])


def test_progress_is_of_all_passes() -> None:
    heard: list[tuple[str, int]] = []
    options: Any = {"watch": Watch(lambda info, total: heard.append((info.name, total)))}
    _of_passes(options, 12)
    options["watch"].finished(InputInfo("a", "", 1, 1), 3)
    assert heard == [("a", 12)]
    bare: Any = {}
    _of_passes(bare, 12)
    assert bare["watch"].finished(InputInfo("a", "", 1, 1), 3) is None


def test_predictions_of_the_same_paths_are_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = Prediction("codex", {}, {}, {}, None, 1.0, over=mark(["logs"]))
    monkeypatch.setattr(advising, "kept", lambda: [mine, Prediction("pi", {}, {}, {}, None, 1.0, over=mark([]))])
    asked: list[Any] = []

    def bench(*given: Any, **named: Any) -> Any:
        asked.append((given, named))
        recorders = (SimpleNamespace(agent="codex"),)
        return SimpleNamespace(info=SimpleNamespace(recorders=recorders))

    monkeypatch.setattr(advising, "bench", bench)
    monkeypatch.setattr(advising, "AsSetRun", lambda run, label, agent: agent)
    monkeypatch.setattr(advising, "sessions_of", lambda run, label: (run, label))
    monkeypatch.setattr(advising, "scored", lambda predictions, sessions: [predictions, sessions])
    assert score("logs") == [[mine], {"codex": ("codex", "keep-all")}]
    assert asked == [((["logs"], ["keep-all"]), {"text": "none", "brackets": False})]
    score()
    assert asked[1][0][0] == [FOUND]
    assert asked[1][0][1] == ["keep-all"]
    with pytest.raises(CtxsimError, match="nothing was predicted from these sessions yet; run ctxsim advise first"):
        score("other")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_logs(tmp_path_factory.mktemp("advise") / "logs", 1)


def test_agents_without_a_setting_are_counted(logs: Path, tmp_path: Path) -> None:
    log = {"trajectory_format": "mini-swe-agent-1.1", "info": {}, "messages": [
        {"role": "user", "content": "Go."}, {"role": "assistant", "content": "Done."}
    ]}  # fmt: skip
    (tmp_path / "a.traj.json").write_text(json.dumps(log))
    found = ctxsim.advise([tmp_path / "a.traj.json", logs / "chat-1.json", logs / "rollout-1.jsonl"])
    assert found.unadvised == {"mini-SWE-agent": 1} and [one.agent for one in found] == ["codex"]
    with pytest.raises(CtxsimError, match=r"^ctxsim can't replay any setting of mini-SWE-agent; for what policies do"):
        ctxsim.advise(tmp_path / "a.traj.json")


def test_advice_has_a_row_for_each_setting_that_was_tried(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[tuple[Any, Any, Any]] = []
    real = advising.bench

    def bench(what: Any, policies: Any, **how: Any) -> Any:
        runs.append((what, policies, how))
        return real(what, policies, **how)

    monkeypatch.setattr(advising, "bench", bench)
    heard: list[int] = []
    found = ctxsim.advise(
        logs / "rollout-1.jsonl", goal="tokens", watch=Watch(lambda info, total: heard.append(total))
    )  # fmt: skip
    (agent,) = found
    assert agent.agent == "codex" and agent.amount == "tokens" and agent.defaults
    looked, whole = runs
    assert looked[0] == whole[0] == [str(logs / "rollout-1.jsonl")] and heard == [2, 2]
    assert looked[1][:2] == ["keep-all", "as-set"] and len(set(looked[1])) == len(looked[1])
    assert (looked[2]["text"], looked[2]["refetch"], looked[2]["brackets"]) == ("none", 0, False)
    assert "text" not in whole[2] and "refetch" not in whole[2] and whole[2]["brackets"] is False
    frame = found.frame()
    assert frame.columns.tolist() == ["agent", "settings", "advised", "tokens", "kept"]
    assert len(frame) == len(agent.tried) and frame.tokens.tolist() == [one.amount for one in agent.tried]
    assert frame.advised.tolist() == [one.settings == agent.settings for one in agent.tried]
    assert found.replays == len({*looked[1][2:], *whole[1][2:]}) + 1


def test_only_settings_of_the_users_own_files_are_as_old_as_these(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[tuple[str, float]] = []
    real = advising.of_agent
    monkeypatch.setattr(advising, "of_agent", lambda *given: heard.append((given[1], given[4])) or real(*given))
    monkeypatch.setenv("HOME", str(tmp_path))
    user, own = tmp_path / ".codex/config.toml", tmp_path / "project/.claude/settings.json"
    for file, text, at in ((user, "model_auto_compact_token_limit = 90000", 7), (own, "{}", 9)):
        file.parent.mkdir(parents=True)
        file.write_text(text)
        os.utime(file, (0, at))
    ctxsim.advise(logs)
    ctxsim.advise(logs, settings=user)
    assert {at for _, at in heard} == {0.0}
    heard.clear()
    ctxsim.advise(logs, project=tmp_path / "project")
    assert dict(heard) == {"claude-code": 9.0, "codex": 7.0}


def test_settings_that_no_policy_can_have_are_told(logs: Path, tmp_path: Path) -> None:
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex/config.toml").write_text("tool_output_token_limit = 0\n")
    label = "as-set:given=codex/tool_output_token_limit=0"
    with pytest.raises(CtxsimError, match=rf"can be replayed as set; to see why: ctxsim bench --policy '{label}'"):
        ctxsim.advise(logs / "rollout-1.jsonl", settings=tmp_path / ".codex/config.toml")
