"""Finds an agent's program, on the path or in a cache folder, installs it there on request, and lists its versions."""

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec

from ctxsim.errors import CtxsimError
from ctxsim.live.agent import Agent
from ctxsim.policies.agents.versions import numbers_of
from ctxsim.safety.processes import without_keys

INSTALL_S, ASK_S = 1_200, 120
_TOLD = re.compile("error|not found", re.IGNORECASE)
"""In a line that says why; behind it come hints, as of pyenv, whose programs only stand for those of some versions."""
_TOLD_BY_NPM = re.compile(r"npm (?:error|ERR!) \S+ \S+ \S")
"""In npm's line that says why: before it come a code and a path, behind it hints and the name of a log."""

_VERSION = re.compile(r"\d+\.\d+\.\d+[\w.+-]*")


def cache_folder(agent: Agent) -> Path:
    """Return the folder in which this version of an agent is, or would be, installed."""
    root = os.environ.get("CTXSIM_AGENTS") or Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"), "ctxsim")
    return Path(root, f"{agent.name}@{agent.version}")


def located(agent: Agent, install: bool) -> tuple[Agent, str]:
    """Return the agent with the version that was found, and the search path that finds its program.

    The cache folder comes first, then this process's PATH. Raises CtxsimError if it isn't found or can't be installed.
    """
    folder, own_path = cache_folder(agent), os.environ.get("PATH", os.defpath)
    if install and not _installed(agent, folder):
        _install(agent, folder)
    inside = _installed(agent, folder)
    if inside:
        return agent, os.pathsep.join([*map(str, inside), own_path])
    binary = agent.binary or agent.command[0]
    found = shutil.which(binary)
    if found is None:
        raise CtxsimError(f"{agent.name}: no '{binary}' on the path; install {package_of(agent)}, or add --install")
    programs = os.pathsep.join([str(Path(found).parent), own_path])
    version = _version(found) if agent.binary else agent.version
    return msgspec.structs.replace(agent, version=version), programs


def _installed(agent: Agent, folder: Path) -> list[Path]:
    """Return the folders with the agent's programs; none if it isn't installed."""
    modules = folder / "node_modules"
    programs = modules / ".bin" if agent.installer == "npm" else folder / "bin"
    own = [modules / agent.programs.replace("{machine}", machine())] if agent.programs else []
    if not any((place / (agent.binary or "python")).exists() for place in (*own, programs)):
        return []
    # A virtual environment's Python is a link, whose target the agent must be able to read too.
    linked = [(programs / "python").resolve().parent] if agent.installer == "pip" else []
    return [*own, *([modules / f"node-{machine()}" / "bin"] if agent.node else []), programs, *linked]


def package_of(agent: Agent) -> str:
    """Return the name of an agent's package for this machine."""
    return agent.package.replace("{machine}", machine())


def machine() -> str:
    """Return this machine's platform as in names of npm packages, such as linux-x64."""
    machine = {"x86_64": "x64", "AMD64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return f"{sys.platform}-{machine}"


def _install(agent: Agent, folder: Path) -> None:
    """Install the pinned version, without running any script of the packages."""
    folder.mkdir(parents=True, exist_ok=True)
    pinned = f"{package_of(agent)}@{agent.version}"
    if agent.installer == "npm":
        node = [f"node-{machine()}@{agent.node}"] if agent.node else []
        options = ["--prefix", str(folder), "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel", "error"]
        _run(agent, [program(agent, "npm"), "install", *options, pinned, *agent.also, *node])
    elif agent.installer == "pip":
        _run(agent, [_python(agent), "-m", "venv", str(folder)])
        pip = [str(folder / "bin" / "python"), "-P", "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
        _run(agent, [*pip, f"{agent.package}=={agent.version}", *agent.also])
    else:
        raise CtxsimError(f"{agent.name}: it isn't known how to install it")


def _python(agent: Agent) -> str:
    """Return this Python, or the one that the agent needs. Raises CtxsimError if that isn't on the path."""
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    return sys.executable if agent.python in ("", own) else program(agent, f"python{agent.python}")


def program(agent: Agent, name: str) -> str:
    """Return the path of a program that installs an agent. Raises CtxsimError if it isn't on the search path."""
    found = shutil.which(name)
    if found is None:
        raise CtxsimError(f"{agent.name}: '{name}' is needed to install it")
    return found


def _run(agent: Agent, command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_S)
    except subprocess.TimeoutExpired:
        raise CtxsimError(f"{agent.name}: installing took more than {INSTALL_S} s") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no word of why"]
        told = [line for line in lines if _TOLD.search(line)] or lines
        why = next(filter(_TOLD_BY_NPM.match, lines), told[-1])
        raise CtxsimError(f"{agent.name}: it can't be installed: {why}")


def _version(program: str) -> str:
    """Return the version that a program prints; '' if it prints none."""
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=60, env=without_keys(os.environ)
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = _VERSION.search(done.stdout)
    return found[0] if found else ""


def published(agent: Agent, first: str, last: str) -> list[str]:
    """Return the published versions from `first` to `last`, ascending, without prereleases.

    Raises CtxsimError if the agent is no npm package, or if the registry fails or has fewer than two of the versions.
    """
    if agent.installer != "npm":
        raise CtxsimError(f"{agent.name}: versions between two are known of npm packages only; use --version")
    try:
        low, high = numbers_of(first), numbers_of(last)
    except ValueError as error:
        raise CtxsimError(f"{agent.name}: {error}") from None
    asked = [program(agent, "npm"), "view", package_of(agent), "versions", "--json"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, timeout=ASK_S)
        said = msgspec.json.decode(done.stdout, type=list[str])
    except (subprocess.TimeoutExpired, msgspec.DecodeError) as error:
        raise CtxsimError(f"{agent.name}: npm doesn't say which versions there are: {error}") from None
    found = sorted((one for one in said if "-" not in one and low <= numbers_of(one) <= high), key=numbers_of)
    if len(found) < 2:
        raise CtxsimError(f"{agent.name}: npm has fewer than two versions from {first} to {last}")
    return found
