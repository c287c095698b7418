"""The files of the agents, and how one is found and installed."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from samples import conversation

pytest.importorskip("starlette")

from ctxsim.api.lists import listed
from ctxsim.errors import UnknownName
from ctxsim.live import agent as room
from ctxsim.live.agent import Agent, agent_names, agent_problems, load_agent
from ctxsim.live.confined import enclose
from ctxsim.live.faults import Faults
from ctxsim.live.plan import Plan
from ctxsim.live.run_plan import write_files
from ctxsim.simulator.provider import Provider

PLACES = {"url", "window", "output", "home", "folder", "share", "prompt", "file", "summary", "model"}


@pytest.mark.parametrize("name", agent_names())
def test_an_agents_file_says_all_that_is_needed(name: str) -> None:
    agent = load_agent(name)
    assert agent.version and agent.package and agent.source and agent.date and agent.command and agent.tools
    assert agent.label == f"observed:{name}@{agent.version}"
    assert agent.stdin or any("{prompt}" in part for part in agent.command)
    assert any("{url}" in text for text in (*agent.env.values(), *agent.files.values(), *agent.command))
    texts = [*agent.command, *agent.resume, *agent.env.values(), *agent.files.values()]
    texts += [value for tool in agent.tools.values() for value in tool.values() if isinstance(value, str)]
    assert {found for text in texts for found in re.findall(r"\{([a-z]+)\}", text)} <= PLACES
    for helper in agent.helpers:
        re.compile(helper.pattern)
        assert helper.where != "header" or helper.header
    assert agent_problems(name) == []


def test_an_unknown_agent_is_told() -> None:
    with pytest.raises(UnknownName, match="did you mean codex"):
        load_agent("codx")


def plan(tmp_path: Path, agent: Agent) -> Plan:
    return Plan(conversation("text"), Provider(window=40_000), agent, Faults(), str(tmp_path), "/bin", 10)


@pytest.mark.parametrize("name", agent_names())
def test_settings_are_written_inside_its_own_folders(name: str, tmp_path: Path) -> None:
    made = plan(tmp_path, load_agent(name))
    Path(made.project).mkdir()
    write_files(made, "http://127.0.0.1:1")
    for file in tmp_path.rglob("*.*"):
        if file.is_file():
            text = file.read_text()
            assert not re.search(r"\{(url|window|output|share)\}", text)
            if file.suffix == ".json":
                assert msgspec.json.decode(text)


def test_inside_the_enclosure_there_is_no_network_and_nothing_stays_behind(tmp_path: Path) -> None:
    code = (
        "import os, socket, subprocess, sys\n"
        "from ctxsim.live.confined import enclose\n"
        "if not enclose(): sys.exit(77)\n"
        "subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
        "s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname())\n"
        "try: socket.create_connection(('192.0.2.1', 80), 1)\n"
        "except OSError as error: print(os.getpid(), error.strerror)\n"
    )
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20)
    if done.returncode == 77:
        assert not enclose.__doc__ or "doesn't allow" in enclose.__doc__
        pytest.skip("the system allows no namespaces")
    # It is the first process of its world; its pipe closed at once, so the sleeper is gone too.
    assert done.stdout == "1 Network is unreachable\n", done.stderr


def test_an_installed_folder_holds_its_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "drive.toml").write_text('command = ["python3", "mine.py", "{prompt}"]')
    (tmp_path / "mine.py").touch()
    monkeypatch.setattr(room, "folders", lambda package: {"mine": ("plug.mine", tmp_path)})
    assert load_agent("mine").command == ("python3", str(tmp_path / "mine.py"), "{prompt}")
    assert listed("agents")[1] == [("mine", "")]


def test_two_files_of_one_name_are_two_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("one", "other"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "mine.toml").write_text(f'command = ["{place}", "{{prompt}}"]')
        monkeypatch.chdir(tmp_path / place)
        assert load_agent("mine.toml").command[0] == place
