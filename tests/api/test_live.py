"""The mock endpoint, and agents that are driven, as values."""

from __future__ import annotations

import json
import sys
import tempfile
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pandas
import pytest
from invented import write_logs
from own_agent import AGENT
from samples import conversation

import ctxsim
from ctxsim.api import live as room
from ctxsim.api.defects import diagnose_driven
from ctxsim.errors import CtxsimError, InputError, LabelError
from ctxsim.live.drive import run_apart
from ctxsim.live.faults import parse_faults
from ctxsim.live.log import Entry
from ctxsim.live.session import ask

RESULTS = [f"result {n}: order A{n}000 of 20 pieces\n" + "x " * 400 for n in range(6)]


def test_an_endpoint_plays_a_conversation_and_stops() -> None:
    pytest.importorskip("uvicorn")
    heard = []
    with ctxsim.serve(conversation(*RESULTS), told=heard.append, window=100_000) as endpoint:
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Go."}]}).encode()
        with urllib.request.urlopen(
            urllib.request.Request(f"{endpoint.url}/v1/chat/completions", body, {"Content-Type": "application/json"})
        ) as answer:
            assert json.load(answer)["choices"]
        assert endpoint.requests == heard and endpoint.provider.window == 100_000
        assert endpoint.frame().status.tolist() == [200] and endpoint.steps == len(RESULTS) + 1
    with pytest.raises(OSError):
        urllib.request.urlopen(endpoint.url, timeout=5)
    with pytest.raises(CtxsimError, match="fewer than 9"):
        ctxsim.serve(conversation("x"), number=9)


def test_a_log_of_another_run_is_not_added_to(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn")
    log = tmp_path / "log.jsonl"
    log.touch()
    ctxsim.serve("documented-53k", log=log).close()
    log.write_text("{}\n")
    for given in (log, tmp_path):
        with pytest.raises(InputError) as caught:
            ctxsim.serve("documented-53k", log=given)
        said = "is no empty file; a log holds the requests of one run, so name a new file"
        assert str(caught.value) == f"{given}: {said}"
    assert log.read_text() == "{}\n"


@pytest.mark.parametrize(
    "ask",
    [
        lambda: ctxsim.serve(conversation("x")), lambda: run_apart("run", None),
        lambda: diagnose_driven(["codex"]),
    ],
)  # fmt: skip
def test_what_needs_the_endpoint_says_how_to_install_it(
    ask: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ctxsim.live.drive.find_spec", lambda name: None)
    with pytest.raises(CtxsimError, match="the endpoint needs two more packages: "):
        ask()


@pytest.mark.slow
def test_an_agent_of_ones_own_is_driven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("uvicorn")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "mine.py").write_text(AGENT)
    heard = []
    mine = f"{sys.executable} {tmp_path}/mine.py"
    run = ctxsim.drive(
        [], "documented-53k", command=mine, policies=["keep-all"], out=tmp_path / "run", told=heard.append
    )  # fmt: skip
    (agent,) = run.agents
    assert run.folder == tmp_path / "run"
    assert heard == [agent] and agent.observation.label == run.labels[-1] and run.labels[0] == "keep-all"
    assert isinstance(run.frame(), pandas.DataFrame) and set(run.frame().policy) == set(run.labels)
    with pytest.raises(CtxsimError, match="name an agent"):
        ctxsim.drive([], "documented-53k")


def test_a_command_of_ones_own_gets_the_prompt_and_whole_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/some/bin")
    (tmp_path / "mine.py").touch()
    agent, programs = room._own("python mine.py --ask 'two words'")
    assert (agent.name, programs) == ("python", "/some/bin")
    assert agent.command == ("python", str(tmp_path / "mine.py"), "--ask", "two words", "{prompt}")
    assert room._own("./run --ask={prompt} now")[0].command == ("./run", "--ask={prompt}", "now")
    with pytest.raises(CtxsimError, match="--command is empty"):
        room._own(" ")


def test_a_fault_is_at_a_step_of_the_longest_conversation() -> None:
    short, long = conversation("x"), conversation("x", "y")
    assert room.faults_of((), []) == parse_faults(())
    assert room.faults_of(("429@3",), [short, long]) == parse_faults(("429@3",))
    with pytest.raises(LabelError, match="fault at step 4: there are 3 steps; name one of them"):
        room.faults_of(("429@1", "stream-error@4"), [short, long])
    with pytest.raises(LabelError, match="fault at step 3: there are 2 steps"):
        room.faults_of(("429@3",), [short])
    with pytest.raises(LabelError, match="fault at step 1: there are 0 steps"):
        room.faults_of(("429@1",), [])


def test_an_agent_or_a_command_is_named_and_not_both() -> None:
    for agents, command in (([], None), (["codex"], "true"), ([], "")):
        with pytest.raises(CtxsimError, match=r"name an agent \(claude-code, .*\), or give your own as --command"):
            ctxsim.drive(agents, "one-prompt", command=command)


def test_a_recording_is_played_as_it_was_recorded(tmp_path: Path) -> None:
    logs = write_logs(tmp_path / "logs", 1)
    fields: Any = {"window": 9_000}
    played, provider = room._played(logs, 2, None, fields)
    assert played.name.endswith("claude-1.jsonl") and provider.window == 9_000
    assert room._played(conversation("x"), 1, None, fields)[0].name == "sample"
    scenario, rules = room._played("documented-53k", 1, None, fields)
    assert (scenario.name, rules.window) == ("documented-53k", 9_000)
    with pytest.raises(CtxsimError, match="has fewer than 4 transcripts"):
        room._played(logs, 4, None, fields)
    with pytest.raises(CtxsimError, match="documented-53k has fewer than 2 transcripts"):
        room._played("documented-53k", 2, None, fields)


def entry(kind: str = "main", step: int = 1, status: int = 200, tokens: int = 100, **more: Any) -> Entry:
    return Entry("default", 1, kind, step, status, tokens, 5, None, {"ask": kind}, {}, **more)


@pytest.fixture
def lived(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """What an agent did in each of the three conversations of three steps: its requests, steps, notes and words."""
    told: dict[str, Any] = {"entries": [entry()], "steps": 3, "notes": (), "said": "", "helpers": ()}

    def drive(file: str, scenario: str, policies: Any, out: str) -> Any:
        assert policies == ("keep-all",) and Path(out).is_dir()
        (tmp_path / "said.txt").write_text(told["said"])
        run = SimpleNamespace(
            driven=SimpleNamespace(
                said=tmp_path / "said.txt", entries=told["entries"], outcome=SimpleNamespace(steps=told["steps"]),
                script=SimpleNamespace(steps=(1, 2, 3)), agent=SimpleNamespace(helpers=told["helpers"]),
            ),
            observation=SimpleNamespace(notes=told["notes"]),
        )  # fmt: skip
        return SimpleNamespace(agents=(run,))

    monkeypatch.setattr(room, "drive", drive)
    monkeypatch.setattr("ctxsim.api.live.ask", lambda api, request, *rest: SimpleNamespace(text=f" {api}: be brief "))
    return told


def of_each(line: str) -> tuple[str, ...]:
    return tuple(f"{scenario}: {line}" for scenario in ("documented-53k", "one-prompt", "sixty-calls"))


WHOLE = of_each("3 of 3 steps, 1 requests of the conversation")


def test_an_agent_that_works_is_told_what_it_did(lived: dict[str, Any]) -> None:
    assert room.tried("mine.toml") == ((), WHOLE)
    lived |= {"entries": [entry(), entry("title"), entry("check"), entry("title")], "steps": 7}
    assert room.tried("mine.toml") == (
        (), of_each("3 of 3 steps, 1 requests of the conversation, 1 check, 2 title")
    )  # fmt: skip


def test_an_agent_that_ends_early_is_bad_unless_it_was_refused(lived: dict[str, Any]) -> None:
    lived |= {"steps": 2, "said": "one\nlast words\n"}
    bad, seen = room.tried("mine.toml")
    assert bad == of_each("it ended after 2 of 3 steps; the last answer was 200; it said: last words")
    assert seen == of_each("2 of 3 steps, 1 requests of the conversation")
    lived |= {"entries": [entry(status=400)], "said": ""}
    bad, seen = room.tried("mine.toml")
    early = of_each("it ended after 2 of 3 steps; the last answer was 400")
    assert bad == () and set(seen) == {*of_each("2 of 3 steps, 1 requests of the conversation"), *early}


def test_tools_that_nothing_stands_for_and_prompts_that_nobody_knows_are_bad(lived: dict[str, Any]) -> None:
    lived |= {"entries": [entry(unused="b"), entry(unused="a")], "notes": ("a prompt wasn't recognised", "other")}
    bad, _ = room.tried("mine.toml")
    assert bad == tuple(
        one for pair in zip(
            of_each("no tool of its requests could stand for a, b"), of_each("a prompt wasn't recognised"), strict=True
        ) for one in pair
    )  # fmt: skip


@pytest.mark.parametrize(("tokens", "fell"), [((100, 49), True), ((100, 50), False)])
def test_a_request_of_less_than_half_is_a_compaction_that_nobody_knows(
    tokens: tuple[int, int], fell: bool, lived: dict[str, Any]
) -> None:
    requests = [entry(tokens=tokens[0]), entry(tokens=1, status=400), entry(step=2, tokens=tokens[1])]
    lived["entries"] = requests
    seen = room.tried("mine.toml")[1]
    said = "no summary request was recognised, but at step 2 the request became less than half as large"
    assert any(said in line for line in seen) is fell
    lived["entries"] = [*requests, entry("summary")]
    assert not any(said in line for line in room.tried("mine.toml")[1])


def test_a_summary_request_is_learned_by_its_text(lived: dict[str, Any], tmp_path: Path) -> None:
    lived["entries"] = [entry(), entry("summary", api="chat"), entry("summary", api="chat")]
    file = tmp_path / "mine.toml"
    file.write_text("name = 'mine'\n\n")
    lines = '[[helpers]]\nkind = "summary"\npattern = "^chat: be brief"\n'
    assert room.tried(str(file))[1][-1] == f"its summary request: {lines}"
    assert file.read_text() == "name = 'mine'\n\n", "it is written only where that is asked for"
    assert room.tried(str(file), True)[1][-1] == f"written into {file}"
    assert file.read_text() == f"name = 'mine'\n\n{lines}"
    lived["helpers"] = ("known",)
    assert not any("its summary request" in line for line in room.tried(str(file), True)[1])


def test_a_summary_request_that_goes_on_by_an_id_is_learned(
    lived: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "ask", ask)
    going_on = {"input": "Be brief", "previous_response_id": "resp_1"}
    lived["entries"] = [entry(), msgspec.structs.replace(entry("summary", api="responses"), request=going_on)]
    assert 'pattern = "^Be brief"' in room.tried("mine.toml")[1][-1]
