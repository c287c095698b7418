"""An agent that is driven: its requests as a policy, replayed by the loop that replays every policy."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from command_line import ctxsim
from endpoint import FIRST, SECOND, Spoken, client, sample
from own_agent import AGENT, SUMMARIZES
from samples import conversation

from ctxsim.api.live import TRIED, drive
from ctxsim.errors import CtxsimError
from ctxsim.live.agent import load_agent
from ctxsim.live.differences import compared
from ctxsim.live.log import Entry
from ctxsim.live.observed import Observation, Shown, observe
from ctxsim.live.script import Script, script_of
from ctxsim.results import read_run
from ctxsim.runs.doctor import load_defect
from ctxsim.runs.driven import examine_driven
from ctxsim.runs.observed import write_observed
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.replay import replay
from ctxsim.transcript import Transcript

CUT = "\n".join([*FIRST.splitlines()[:10], "[30 lines cut]"])


def lived(path: Path, compacts: bool, refused: bool = False) -> tuple[Observation, list[Entry]]:
    """An agent that wraps its prompt, cuts the first result, and before its last request may summarize."""
    window = 700 if refused else 200_000
    with client(path, window=window) as http:
        spoken = Spoken(http, "chat")
        spoken.user("<env>Linux</env>")
        spoken.user('"Do the task."')
        first = spoken.ask()
        spoken.result(first.calls[0], CUT)
        second = spoken.ask()
        spoken.result(second.calls[0], SECOND + ("\nmore" * 400 if refused else ""))
        if refused:
            assert spoken.ask().status == 400
        if compacts:
            spoken.messages[2:] = []
            spoken.user("Summary: both results were read.")
        assert spoken.ask().text == "Done."
    entries = [msgspec.json.decode(line, type=Entry) for line in path.read_bytes().splitlines()]
    return observe("observed:mine@1.0", script_of(sample()), entries), entries


def test_an_agent_that_was_only_refused_is_told(tmp_path: Path) -> None:
    _, entries = lived(tmp_path / "log.jsonl", compacts=False)
    refused = [msgspec.structs.replace(entries[0], status=429)]
    with pytest.raises(CtxsimError, match=r"^observed:mine: no request of the script was answered"):
        observe("observed:mine", script_of(sample()), refused)


def test_what_an_agent_sent_is_replayed_to_the_token(tmp_path: Path) -> None:
    observation, entries = lived(tmp_path / "log.jsonl", compacts=True)
    provider = Provider()
    sent = list(replay(observation.transcript, observation.spec(), provider, provider.counter()))
    assert [one.tokens_sent for one in sent] == [entry.tokens for entry in entries]
    # What stands before the prompt is the agent's own head.
    assert observation.transcript.head.system == "You help.\n\n<env>Linux</env>"
    assert [(moment, edit.action) for moment, edit in sent[1].edits] == [("on_tool_result", "edited")]
    actions = sorted(edit.action for _, edit in sent[2].edits)
    # The two calls and the two results left, one summary came.
    assert actions == ["dropped"] * 4 + ["inserted"]
    made = next(edit.after for _, edit in sent[2].edits if edit.after)
    assert made.kind == "summary" and made.sources == (1, 2, 3, 4)


def test_a_refused_request_and_the_next_try_are_one_call(tmp_path: Path) -> None:
    observation, entries = lived(tmp_path / "log.jsonl", compacts=True, refused=True)
    assert [len(tries) for tries in observation.attempts] == [1, 1, 2] and not observation.refused
    unfinished = observe("observed:mine", script_of(sample()), entries[:-1]).refused
    assert list(unfinished) == [3] and "700" in unfinished[3], "what the endpoint said"
    provider = Provider(window=700)
    sent = list(replay(observation.transcript, observation.spec(), provider, provider.counter()))
    assert [(one.status, one.attempts) for one in sent] == [("ok", 1), ("ok", 1), ("ok", 2)]
    assert sent[-1].tokens_sent == entries[-1].tokens


def reading(path: Path, played: Transcript, *results: str) -> Observation:
    """An agent that reads two results, as they are given here, and answers."""
    with client(path, transcript=played) as http:
        spoken = Spoken(http, "chat")
        spoken.user("Do the task.")
        for text in results:
            spoken.result(spoken.ask().calls[0], text)
        spoken.ask()
    entries = [msgspec.json.decode(line, type=Entry) for line in path.read_bytes().splitlines()]
    return observe("observed:mine", script_of(played), entries)


def test_a_conversation_that_goes_on_by_ids_is_observed_as_one_that_is_sent_whole(tmp_path: Path) -> None:
    def seen(by_id: bool) -> Observation:
        items: list[Any] = [{"role": "user", "content": "Do the task."}]
        given: dict[str, Any] = {"model": "m", "tools": [{"type": "function", "name": "tool"}]}
        with client(log := tmp_path / f"{by_id}.jsonl") as http:
            for text in (FIRST, CUT, ""):
                done = http.post("/v1/responses", json={**given, "input": items}).json()
                if by_id:
                    given["previous_response_id"], items = done["id"], []
                else:
                    items += done["output"]
                calls = [one["call_id"] for one in done["output"] if one["type"] == "function_call"]
                items += [{"type": "function_call_output", "call_id": call, "output": text} for call in calls]
        entries = [msgspec.json.decode(line, type=Entry) for line in log.read_bytes().splitlines()]
        return observe("observed:mine", script_of(sample()), entries)

    assert seen(True) == seen(False)


def test_a_policy_gets_summaries_as_large_as_the_agents(tmp_path: Path) -> None:
    results = ["\n".join(f"ticket-{number} is open" for number in range(low, low + 400)) for low in (1_000, 2_000)]
    seen = reading(tmp_path / "log.jsonl", conversation(*results, system="You help."), *results)
    # Before its last call it makes a summary of everything but the newest result.
    label = "qwen-code:auto_compact_threshold=0.001"
    found = [compared(seen, f"{label}{size}", Provider()).policy.tokens
             for size in ("", ",summary_tokens=800", ",summary_tokens=100")]  # fmt: skip
    assert found[0] == found[1] > found[2] + 500


def test_it_stands_beside_built_in_policies(tmp_path: Path) -> None:
    seen = lived(tmp_path / "log.jsonl", compacts=True)
    played = script_of(sample()).transcript
    write_observed(tmp_path / "run", "A run", played, Provider(), ("keep-all", "mask:keep=1"), [seen])
    run = read_run(tmp_path / "run")
    assert run.labels == ["keep-all", "mask:keep=1,batch=1", "observed:mine@1.0"]
    calls = run.table("calls", policy=["observed:mine@1.0"])
    assert list(calls.tokens_sent) == list(calls.tokens_recorded) == [entry.tokens for entry in seen[1]]
    assert list(calls.compactions) == [0, 0, 1]
    assert not (tmp_path / "run" / "parts").exists()
    assert (tmp_path / "run" / "requests.csv").read_text().count("\n") == 1 + len(seen[1])


def test_a_key_that_only_the_agent_wrote_is_marked(tmp_path: Path) -> None:
    key = "sk-ant-api03-" + "aB3dE6gH9jK2mN5p" * 5 + "AA"
    observation, entries = lived(tmp_path / "log.jsonl", compacts=True)
    attempts = tuple(((*tries[0], Shown(None, f"Use {key}.")),) for tries in observation.attempts)
    seen = msgspec.structs.replace(observation, attempts=attempts)
    played = script_of(sample()).transcript
    write_observed(tmp_path / "run", "A run", played, Provider(), ("keep-all",), [(seen, entries)])
    texts = read_run(tmp_path / "run").table("events").text
    assert "Use [redacted: Anthropic key]." in set(texts) and not texts.str.contains(key).any()


def test_two_identical_conversations_give_equal_rows(tmp_path: Path) -> None:
    for name in ("a", "b"):
        seen = lived(tmp_path / f"{name}.jsonl", compacts=True)
        write_observed(tmp_path / name, "A run", script_of(sample()).transcript, Provider(), ("keep-all",), [seen])
    assert (tmp_path / "a" / "calls.csv").read_bytes() == (tmp_path / "b" / "calls.csv").read_bytes()
    assert (tmp_path / "a" / "events.parquet").read_bytes() == (tmp_path / "b" / "events.parquet").read_bytes()


BY_USAGE = "adk-compact:token_threshold=100,event_retention_size=1"


def own_agent(folder: Path) -> str:
    """Write an agent and a conversation, `talk.json`, and return the agent's command."""
    (folder / "mine.py").write_text(AGENT)
    function = {"name": "read", "arguments": "{}"}
    talk = [
        {"role": "user", "content": "Do the task."},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "c", "content": FIRST},
        {"role": "assistant", "content": "One."},
        {"role": "user", "content": "And then?"},
        {"role": "assistant", "content": "Two."},
    ]
    (folder / "talk.json").write_text(json.dumps(talk))
    return f"{sys.executable} {folder / 'mine.py'}"


@pytest.mark.slow
def test_policies_beside_an_agent_hear_of_no_usage_where_it_heard_of_none(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn")
    made = drive(
        [], tmp_path / "talk.json", command=own_agent(tmp_path), faults=["usage=none"], out=tmp_path / "out",
        policies=["keep-all", BY_USAGE],
    )  # fmt: skip
    (run,) = made.agents
    assert compared(run.observation, BY_USAGE, run.driven.provider).first is None
    calls = made.table("calls")
    assert calls[calls.policy.str.startswith("adk-")].compactions.sum() == 0


@pytest.mark.slow
def test_somebodys_own_agent_is_driven_to_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("uvicorn")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("SECRET", "not for agents")
    done = ctxsim(
        "drive", "--command", own_agent(tmp_path), "--play", "talk.json",
        "--policy", "keep-all", "--policy", BY_USAGE, "--out", "run", "--limit", "30", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "keep-all sends what observed:python" in done.stdout
    rows = read_run(tmp_path / "run").table("calls")
    mine = rows[rows.policy.str.startswith("observed:")]
    assert len(mine) == 3 and (mine.tokens_sent == mine.tokens_full).all()
    # Of the usage that the agent heard of, a policy hears too.
    assert rows[rows.policy.str.startswith("adk-")].compactions.sum() > 0
    assert not list(tmp_path.glob("ctxsim-drive-*"))
    (output,) = (tmp_path / "run").glob("output-*.txt")
    assert output.read_text().split() == ["clean", "clean"]


@pytest.mark.slow
def test_an_agent_that_a_file_describes_is_tried_and_its_summary_request_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("uvicorn")

    (tmp_path / "mine.py").write_text(SUMMARIZES)
    described = f'command = ["{sys.executable}", "mine.py", "{{prompt}}"]'
    (tmp_path / "mine.toml").write_text(described)
    assert TRIED == ("documented-53k", "one-prompt", "sixty-calls")
    monkeypatch.setattr("ctxsim.api.live.TRIED", ("documented-53k",))
    done = ctxsim("check", "agent", "mine.toml", "--learn", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert r'pattern = "^Summarize what was done, for another model\\."' in done.stderr
    assert [helper.pattern for helper in load_agent(str(tmp_path / "mine.toml")).helpers] == [
        r"^Summarize what was done, for another model\."
    ]
    (told,) = [line for line in done.stderr.splitlines() if " steps, " in line]
    assert "documented-53k: " in told and "7 of 7 steps" in told and "3 summary" in told
    # A file whose agent gives up is told.
    (tmp_path / "mine.py").write_text(AGENT.replace("while True:", "while len(messages) < 8:"))
    done = ctxsim("check", "agent", "mine.toml", cwd=tmp_path)
    assert done.returncode == 1 and "documented-53k: it ended after" in done.stderr


def diagnosed(seen: Observation, defect: str, script: Script | None = None) -> bool | None:
    found = examine_driven(load_defect(defect), seen, script or script_of(sample()), Provider(window=700))
    return None if found is None else found.has_it


def test_the_doctor_counts_what_a_driven_agent_had_refused_even_if_it_then_passed(tmp_path: Path) -> None:
    refused, _ = lived(tmp_path / "refused.jsonl", compacts=True, refused=True)
    passed, _ = lived(tmp_path / "passed.jsonl", compacts=True)
    assert diagnosed(refused, "zero-usage") and not diagnosed(passed, "zero-usage")
    assert not diagnosed(refused, "parallel-results"), "refused for its size, not for its pairs"


def test_the_doctor_knows_a_prompt_by_the_users_own_words_and_a_cut_before_it_was_read(tmp_path: Path) -> None:
    compacted, _ = lived(tmp_path / "log.jsonl", compacts=True)
    assert not diagnosed(compacted, "task-lost"), "the agent wraps the prompt, and keeps it"
    gone = tuple(
        tuple(tuple(one for one in shown if one.place != 0) for shown in tries) for tries in compacted.attempts
    )
    assert diagnosed(msgspec.structs.replace(compacted, attempts=gone), "task-lost")
    quoted = tuple(((*shown[0], Shown(None, "Asked was: Do the task. It goes on.")),) for shown in gone)
    assert not diagnosed(msgspec.structs.replace(compacted, attempts=quoted), "task-lost"), "without its wrapping"
    assert diagnosed(compacted, "unread-results"), "it cuts the first result on arrival"


def test_the_doctor_says_nothing_of_an_agent_that_ended_early(tmp_path: Path) -> None:
    early, _ = lived(tmp_path / "log.jsonl", compacts=True)
    script = script_of(sample())
    longer = msgspec.structs.replace(script, steps=(*script.steps, script.steps[-1]))
    assert diagnosed(early, "zero-usage", longer) is None
    assert diagnosed(early, "unread-results", longer), "what it has shown it has"


@pytest.mark.slow
def test_the_doctor_drives_agents(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn")
    (tmp_path / "my_agent.py").write_text(AGENT)
    (tmp_path / "my.toml").write_text('command = ["python3", "my_agent.py", "{prompt}"]')
    asked = ("drive", "my.toml", "--doctor", "--play", "defects/one-user-message", "--play", "defects/images")
    done = ctxsim(*asked, cwd=tmp_path)
    assert done.returncode == 1 and "observed:my: 1 of 1 known defects" in done.stdout
    assert done.stderr == "ctxsim: images: results are files of text\n"
    assert ctxsim("drive", "my.toml", "--doctor", "--policy", "keep-all", cwd=tmp_path).returncode == 2
