"""The data of one agent: how to install it, point it at an endpoint, start it, and recognise its requests.

It is read from the file `drive.toml` in the agent's folder.
"""

import re
from pathlib import Path
from typing import Any, Literal

import msgspec

from ctxsim.errors import InputError, unknown
from ctxsim.plugins import FOLDERS, SETTINGS, folders
from ctxsim.plugins.files import small_file, toml_values
from ctxsim.policies.agents.settings_file import parsed
from ctxsim.results.run_info import OBSERVED

DRIVE = "drive.toml"


class Helper(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request that isn't part of the conversation, such as one for a summary (its `kind`).

    It is recognised by the regular expression `pattern` in the last message's text, the system prompt, or the header
    named by `header`, as `where` says. `answer` is the reply; `{summary}` in it stands for a summary of the request.
    """

    pattern: str
    kind: str = "summary"
    where: Literal["text", "system", "header"] = "text"
    header: str = ""
    answer: str = "{summary}"


Decides = Literal["sent", "usage", "beside"]


class Probing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How an agent's settings are tested.

    `window` is declared for `model`; it is 0 if the agent knows the windows of its models, which are then in `windows`
    by pattern, from specific to general. `window_key` is the setting of the window, and `window_most` the largest that
    the agent accepts (0: any). `decides`: it compacts by the tokens it is about to send, by the usage of the last step,
    or beside an ordinary request of the same size. `counts`: by reported usage, or by its own count. `largest` is the
    size, in tokens, of a result that it passes on whole; `cuts_by` is the tool whose results it cuts. `turns`: it
    compacts only at the end of a run, so each result gets its own run, by a prompt to the command `acp` in the Agent
    Client Protocol. `keys` are the paths of settings in the written files, by key, where they differ from the key.
    `formula` says in words when the agent compacts.
    """

    model: str = "mock"
    window: int = 0
    windows: dict[str, int] = {}
    output: int = 4_096
    decides: Decides = "sent"
    counts: Literal["usage", "own"] = "usage"
    largest: int = 2_000
    cuts_by: str = ""
    turns: bool = False
    acp: tuple[str, ...] = ()
    keys: dict[str, tuple[str | int, ...]] = {}
    window_key: str = ""
    window_most: int = 0
    formula: str = ""


class Agent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One agent. Its texts may hold the placeholders `{url}`, `{window}`, `{output}`, `{share}`, `{prompt}`, `{home}`,
    `{folder}` and `{model}`.

    `programs` is the folder of an npm package that holds the binary itself, with `{machine}` as in linux-x64. `also`
    are packages to install beside it. `python` is the version that a pip package needs, such as 3.12. `files` are
    written before the first prompt; their paths are relative to the agent's home or, with `folder:`, to its working
    folder. `command` runs the first prompt and `resume` later ones; with `stdin` the prompt goes to standard input.
    `tools` are templates of calls that read a file, in order of preference; `ends` is the call that ends a turn, if a
    text doesn't end it. `tells` is one line about what a run can't enforce.
    """

    name: str
    version: str = ""
    package: str = ""
    also: tuple[str, ...] = ()
    installer: Literal["npm", "pip", ""] = ""
    python: str = ""
    binary: str = ""
    programs: str = ""
    node: str = ""
    source: str = ""
    date: str = ""
    command: tuple[str, ...] = ()
    resume: tuple[str, ...] = ()
    stdin: bool = False
    files: dict[str, str] = {}
    env: dict[str, str] = {}
    tools: dict[str, dict[str, Any]] = {}
    ends: dict[str, dict[str, Any]] = {}
    helpers: tuple[Helper, ...] = ()
    tells: str = ""
    probe: Probing = Probing()

    @property
    def label(self) -> str:
        """The name of the agent's row in results, such as `observed:codex@0.169.0`."""
        return f"{OBSERVED}{self.name}@{self.version}" if self.version else f"{OBSERVED}{self.name}"

    @property
    def takes_model(self) -> bool:
        """Whether it can be run with any model. Without a place for one it is run with the model of `probe` only."""
        texts = (*self.command, *self.probe.acp, *self.files.values(), *self.env.values())
        return not self.probe.window or any("{model}" in text for text in texts)

    def helper_of(self, text: str, system: str, headers: dict[str, str]) -> Helper | None:
        """Return the first helper whose pattern a request matches; None if there is none."""
        for helper in self.helpers:
            found = {"text": text, "system": system, "header": headers.get(helper.header.lower(), "")}[helper.where]
            if re.search(helper.pattern, found):
                return helper
        return None


UNNAMED = Agent("client")
"""A client of the user's own, without any data."""


def agent_names() -> list[str]:
    """Return the names of the agents that can be driven."""
    return [name for name, (_, place) in folders(FOLDERS[0]).items() if (place / DRIVE).exists()]


def is_file(name: str) -> bool:
    """Return whether an agent is named by a file of the user's in the format of `drive.toml`."""
    return name.endswith(".toml")


def load_agent(name: str, version: str = "") -> Agent:
    """Return an agent by its name or by the path of a user's file, in the pinned version unless `version` is given.

    Such a file is code, since it names a command: only use one that you trust. Raises UnknownName or InputError.
    """
    if is_file(name):
        file, called = Path(name), Path(name).stem
    elif name in agent_names():
        file, called = folders(FOLDERS[0])[name][1] / DRIVE, name
    else:
        raise unknown("agent", name, agent_names())
    agent = _beside(parsed_agent(called, small_file(file), str(file)), file.absolute().parent)
    return msgspec.structs.replace(agent, version=version) if version else agent


def _beside(agent: Agent, folder: Path) -> Agent:
    """Return the agent with absolute paths for files of `folder` in its commands, since it runs in another folder."""
    here = {part: str(folder / part) for part in (*agent.command, *agent.resume) if (folder / part).is_file()}
    commands = [tuple(here.get(part, part) for part in command) for command in (agent.command, agent.resume)]
    return msgspec.structs.replace(agent, command=commands[0], resume=commands[1])


def parsed_agent(name: str, text: bytes, where: str) -> Agent:
    """Return the agent that a `drive.toml` describes. Raises InputError that names the invalid field."""
    try:
        return msgspec.convert({"name": name, **toml_values(text, where)}, Agent)
    except msgspec.ValidationError as error:
        raise InputError(where, str(error)) from None


def agent_problems(name: str) -> list[str]:
    """Return what is wrong in an agent's files, one line each. Raises UnknownName for an agent without a folder."""
    if is_file(name):
        return _drive_problems(name, Path(name).name)
    known = folders(FOLDERS[0])
    if name not in known:
        raise unknown("agent", name, known)
    _, place = known[name]
    found = _drive_problems(name, DRIVE) if (place / DRIVE).exists() else []
    if (place / SETTINGS).exists():
        try:
            parsed(name, (place / SETTINGS).read_text(encoding="utf-8"), SETTINGS)
        except InputError as error:
            found.append(str(error))
    if not any((place / part).exists() for part in (DRIVE, SETTINGS, "policy.py", "estimator.py")):
        found.append(f"its folder has none of policy.py, estimator.py, {SETTINGS}, {DRIVE}")
    return found


def _drive_problems(name: str, where: str) -> list[str]:
    try:
        agent = load_agent(name)
    except InputError as error:
        return [f"{where}: {error.what}"]
    found = []
    if not agent.command:
        found.append(f"{where}: says no command")
    elif not agent.stdin and not any("{prompt}" in part for part in agent.command):
        found.append(f"{where}: command has no place for {{prompt}}, and stdin isn't true")
    for helper in agent.helpers:
        try:
            re.compile(helper.pattern)
        except re.error as error:
            found.append(f"{where}: helper {helper.kind}: {helper.pattern!r} is no pattern: {error}")
    return found
