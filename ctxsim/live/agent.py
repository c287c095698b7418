"""What is known of one agent, as data: how to get it, point it at an endpoint, start it, and read its requests.

The file `drive.toml` in the folder of each agent.
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
    """A request that isn't the conversation: `kind` says what it is, `pattern` is searched where `where` says.

    `where`: the last message's text, the system prompt, or the header named by `header`. `answer` is what it gets;
    `{summary}` stands for a summary of what it sends.
    """

    pattern: str
    kind: str = "summary"
    where: Literal["text", "system", "header"] = "text"
    header: str = ""
    answer: str = "{summary}"


Decides = Literal["sent", "usage", "beside"]


class Probing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a setting of it is tried.

    `model` is asked for, `window` declared for it; 0 where the agent knows its models, whose windows are then `windows`
    by pattern, from specific to general. `window_key` is the setting that is the window, of which the agent takes at
    most `window_most`. `decides`: it compacts by what it is about to send, by the usage of the step that is over, or
    beside a request that is as large. `counts`: by the usage that is reported, or by its own count. `largest` are the
    tokens of a result that it passes on whole, `cuts_by` the tool whose results it cuts. `turns`: it compacts only
    where a run ends, so that each result is a run of its own; `prompts` are then given at once, or one after the other
    to the command `acp`, by the Agent Client Protocol. `keys` are places of settings in the files that are written,
    where they aren't their keys. `formula` says in words when it compacts.
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
    prompts: int = 1
    acp: tuple[str, ...] = ()
    keys: dict[str, tuple[str | int, ...]] = {}
    window_key: str = ""
    window_most: int = 0
    limit_s: float = 60.0
    formula: str = ""


class Agent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One agent. Texts may hold `{url}`, `{window}`, `{output}`, `{share}`, `{prompt}`, `{home}` and `{folder}`,
    `{model}`.

    `programs` is the folder of an npm package that holds the binary itself, with `{machine}` as in linux-x64. `also` is
    installed beside the package. `python` is the version that a pip package needs, as 3.12. `files` are written before
    the first prompt, by path under its home or, with `folder:`, its working folder. `command` is for one prompt,
    `resume` for a later one; `stdin`: it goes there.
    `tools` are templates of the calls that read a file, in order of preference; `ends` is the call that ends a turn,
    where a text doesn't. `tells`: what the run can't enforce, in one line.
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
        """The policy's name in results, as in `observed:codex@0.169.0`."""
        return f"{OBSERVED}{self.name}@{self.version}" if self.version else f"{OBSERVED}{self.name}"

    def helper_of(self, text: str, system: str, headers: dict[str, str]) -> Helper | None:
        """Return which helper request this is, if any that is known."""
        for helper in self.helpers:
            found = {"text": text, "system": system, "header": headers.get(helper.header.lower(), "")}[helper.where]
            if re.search(helper.pattern, found):
                return helper
        return None


UNNAMED = Agent("client")
"""Somebody's own client, of which nothing is known."""


def agent_names() -> list[str]:
    """Return the agents that can be driven."""
    return [name for name, (_, place) in folders(FOLDERS[0]).items() if (place / DRIVE).exists()]


def is_file(name: str) -> bool:
    """Return whether what names an agent is a file of the user's, like a `drive.toml`."""
    return name.endswith(".toml")


def load_agent(name: str, version: str = "") -> Agent:
    """Return what is known of an agent, or what a file of the user's says, in the pinned version unless one is named.

    Such a file is code, since it names a command: only name one that you trust. Raises UnknownName or InputError.
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
    """The same agent, which works in another folder, with the files beside its own file by their whole path."""
    here = {part: str(folder / part) for part in (*agent.command, *agent.resume) if (folder / part).is_file()}
    commands = [tuple(here.get(part, part) for part in command) for command in (agent.command, agent.resume)]
    return msgspec.structs.replace(agent, command=commands[0], resume=commands[1])


def parsed_agent(name: str, text: bytes, where: str) -> Agent:
    """Return what a `drive.toml` says. Raises InputError naming the field that doesn't fit."""
    try:
        return msgspec.convert({"name": name, **toml_values(text, where)}, Agent)
    except msgspec.ValidationError as error:
        raise InputError(where, str(error)) from None


def agent_problems(name: str) -> list[str]:
    """Return what is wrong with what is known of an agent. Raises UnknownName for one that has no folder."""
    if is_file(name):
        return _drive_problems(name, Path(name).name)
    known = folders(FOLDERS[0])
    if name not in known:
        raise unknown("agent", name, known)
    found = _drive_problems(name, DRIVE) if (known[name][1] / DRIVE).exists() else []
    if (known[name][1] / SETTINGS).exists():
        try:
            parsed(name, (known[name][1] / SETTINGS).read_text(encoding="utf-8"), SETTINGS)
        except InputError as error:
            found.append(str(error))
    if not any((known[name][1] / part).exists() for part in (DRIVE, SETTINGS, "policy.py", "estimator.py")):
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
