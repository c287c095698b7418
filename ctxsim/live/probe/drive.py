"""Runs one probe of an installed agent, with its settings written into a temporary home."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from ctxsim.errors import CtxsimError
from ctxsim.live.agent import Agent
from ctxsim.live.configs.edit import Value, edited
from ctxsim.live.drive import run_apart
from ctxsim.live.faults import Faults
from ctxsim.live.plan import OUTCOME, SAID
from ctxsim.live.probe.expected import Situation
from ctxsim.live.probe.plan import Probed, ProbePlan
from ctxsim.policies.agents.given import known_setting
from ctxsim.policies.agents.settings import AgentSettings, ConfigFile, Setting, shown
from ctxsim.policies.agents.settings_file import settings_of
from ctxsim.simulator.provider import Provider
from ctxsim.transcript import Head, Transcript

LIMIT_S = 60.0
"""The time limit of a probe."""


def probe(
    here: Situation, programs: str, given: Mapping[str, Value], waypoints: tuple[int, ...], **more: Any
) -> Probed:
    """Run an agent with settings, given by key, and return what it sent.

    `more` are the other fields of ProbePlan. Raises CtxsimError if the agent sends no request of the conversation, or
    if a setting can't be written.
    """
    agent, model, window, _ = here
    told = with_settings(agent, given, model)
    provider = Provider(window=window, model=model)
    with tempfile.TemporaryDirectory(prefix="ctxsim-probe-") as work:
        plan = ProbePlan(
            Transcript("probe", Head(), (), ()), provider, told, Faults(), work, programs, LIMIT_S,
            agent.probe.output, model, waypoints, **more,
        )  # fmt: skip
        Path(plan.project).mkdir()
        run_apart("probe", plan)
        probed = msgspec.json.decode(Path(work, OUTCOME).read_bytes(), type=Probed)
        if not any(one.kind == "main" for one in probed.sent):
            said = Path(work, SAID).read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise CtxsimError(f"{agent.name} sent no request; it said: {' / '.join(said[-3:])[:300] or 'nothing'}")
    return probed


def with_settings(agent: Agent, given: Mapping[str, Value], model: str) -> Agent:
    """Return the agent with settings added to the files and variables that it is started with.

    Raises CtxsimError for a setting that is unknown or can't be written.
    """
    known = settings_of(agent.name)
    files, env = dict(agent.files), dict(agent.env)
    for key, value in given.items():
        one = known_setting(agent.name, key)
        if one.env:
            env[one.env] = shown(value)
            continue
        config, name = _file(known, one, files)
        path = agent.probe.keys.get(one.key) or tuple(part.replace("MODEL", model) for part in one.key.split("."))
        text = edited(_replaced(files.get(name, ""), FILLED), config.format, path, value)
        files[name] = _replaced(text, {number: place for place, number in FILLED.items()})
    return msgspec.structs.replace(agent, files=files, env=env)


FILLED = {"{window}": "987654321001", "{output}": "987654321002", "{share}": "0.987654321003"}
"""Numbers that replace placeholders while a file is edited, since a placeholder without quotes doesn't parse."""


def _replaced(text: str, words: Mapping[str, str]) -> str:
    for old, new in words.items():
        text = text.replace(old, new)
    return text


def _file(known: AgentSettings, one: Setting, files: Mapping[str, str]) -> tuple[ConfigFile, str]:
    """Return a setting's configuration file and its name in `files`: one that is there, else the user's own file."""
    fits = [file for file in known.files if one.file and file.path.endswith(one.file)]
    named = [(file, file.path.removeprefix("~/") if file.scope == "user" else f"folder:{file.path}") for file in fits]
    found = [pair for pair in named if pair[1] in files] or [pair for pair in named if pair[0].scope == "user"]
    if not found:
        raise CtxsimError(f"{known.agent}: no file is known that holds {one.key}")
    return found[0]
