"""Sessions of the agents on a machine: found by their documented places, and not read for that."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import ctxsim
from invented import claude_session

from ctxsim.errors import InputError
from ctxsim.plugins.files import MOVED
from ctxsim.policies.agents.settings_file import settings_names, settings_of
from ctxsim.readers import registered_formats, sources
from ctxsim.readers.agent_folders import PLACES, kept


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def put(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text or f"not read: {path.name}")
    return path


def test_every_place_is_of_a_known_format() -> None:
    assert {place.format for place in PLACES} <= set(registered_formats())


def test_what_lies_in_the_places_is_listed_and_nothing_else(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claude = put(home / ".claude/projects/p/s.jsonl")
    put(home / ".claude/history.jsonl")
    put(home / ".local/share/opencode/storage/session/p/ses_1.json")
    monkeypatch.setenv("CODEX_HOME", str(home / "elsewhere"))
    codex = put(home / "elsewhere/sessions/2026/01/rollout-1.jsonl")
    compressed = put(home / "elsewhere/archived_sessions/rollout-0.jsonl.zst")
    put(home / ".codex/sessions/2026/01/rollout-2.jsonl")
    found = {one.place.agent: one for one in kept()}
    assert set(found) == {"Claude Code", "Codex", "OpenCode"}
    assert found["Claude Code"].paths == (claude,)
    assert found["Claude Code"].bytes == len("not read: s.jsonl")
    assert found["Codex"].paths == (compressed, codex)
    assert [path.name for path in found["OpenCode"].paths] == ["storage"]
    assert [source.path for source in sources("@found")][:3] == [claude, compressed, codex]
    done = ctxsim("transcripts", "find", cwd=home)
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["Claude", "Codex", "OpenCode"]
    assert str(claude) in ctxsim("transcripts", "find", "--paths", cwd=home).stdout.splitlines()


def test_databases_stand_for_what_they_took_over_with_the_log_beside_them(home: Path) -> None:
    put(home / ".local/share/opencode/storage/session/p/ses_1.json")
    opencode = put(home / ".local/share/opencode/opencode.db")
    put(home / ".local/share/opencode/opencode.db-wal", "log")
    goose = put(home / ".local/share/goose/sessions/sessions.db")
    kilo = put(home / ".local/share/kilo/kilo.db")
    cursor = put(home / ".config/Cursor/User/globalStorage/state.vscdb")
    put(home / ".hermes/sessions/session_1.json")
    hermes = put(home / ".hermes/profiles/p/state.db")
    found = {one.place.agent: one for one in kept()}
    assert {agent: one.paths for agent, one in found.items()} == {
        "OpenCode": (opencode,), "Kilo Code": (kilo,), "Goose": (goose,), "Cursor": (cursor,),
        "Hermes": (hermes,),
    }  # fmt: skip
    assert found["OpenCode"].bytes == len("not read: opencode.dblog")
    assert {source.path for source in sources("@found")} == {opencode, kilo, goose, cursor, hermes}


def test_a_folder_that_is_read_as_a_whole_is_one_session(home: Path) -> None:
    task = home / ".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/1"
    session = home / ".kimi-code/sessions/p/s"
    for name in ("api_conversation_history.json", "ui_messages.json"):
        put(task / name)
    for name in ("state.json", "agents/main/wire.jsonl", "agents/sub/wire.jsonl"):
        put(session / name)
    old = put(home / ".kimi/sessions/p/old/wire.jsonl")
    put(home / ".grok/sessions/p/s/summary.json")
    grok = put(home / ".grok/sessions/p/s/chat_history.jsonl").parent
    cowork = home / ".config/Claude/local-agent-mode-sessions/a/b/local_1"
    put(cowork / "audit.jsonl")
    desktop = put(cowork / ".claude/projects/p/s.jsonl")
    made = put(home / ".cline/data/sessions/s/s.messages.json").parent
    cli = put(home / ".cline/data/tasks/1/api_conversation_history.json").parent
    kilo = home / ".config/Code/User/globalStorage/kilocode.kilo-code/tasks/1"
    put(kilo / "api_conversation_history.json")
    zed = put(home / ".local/share/zed/threads/threads.db")
    assert [(one.place.agent, one.paths) for one in kept()] == [
        ("Claude Code", (desktop,)), ("Grok Build", (grok,)), ("Kimi Code", (session,)), ("Kimi CLI", (old,)),
        ("Cline", (made, cli)), ("Cline", (task,)), ("Zed", (zed,)), ("Kilo Code", (kilo,)),
    ]  # fmt: skip


def test_what_lies_in_base_folders_lies_where_their_variables_say(home: Path) -> None:
    elsewhere = {"XDG_DATA_HOME": str(home / "data"), "XDG_CONFIG_HOME": str(home / "config")}
    opencode = put(home / "data/opencode/opencode.db")
    cursor = put(home / "config/Cursor/User/globalStorage/state.vscdb")
    put(home / ".local/share/opencode/opencode.db")
    claude = put(home / ".claude/projects/p/s.jsonl")
    assert [one.paths for one in kept(elsewhere)] == [(claude,), (opencode,), (cursor,)]


@pytest.mark.parametrize(("folder", "named"), MOVED.items())
def test_a_variable_that_moves_an_agents_sessions_moves_its_settings(
    folder: str, named: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable, _, below = named.partition("/")
    inside = [place for place in PLACES if Path("~", place.folder).is_relative_to(folder)]
    for place in inside:
        name = place.patterns[0].replace("**/", "").replace("*", "x")
        put(home / "mine" / below / Path("~", place.folder).relative_to(folder) / name)
    agents = {place.agent for place in inside}
    assert {one.place.agent for one in kept({variable: str(home / "mine")})} == agents
    files = [file for agent in settings_names() for file in settings_of(agent).files]
    theirs = [file for file in files if Path(file.path).is_relative_to(folder)]
    before = [file.place() for file in files]
    monkeypatch.setenv(variable, str(home / "mine"))
    assert [file for file, place in zip(files, before, strict=True) if file.place() != place] == theirs
    assert all(file.place().is_relative_to(home / "mine" / below) for file in theirs)
    assert agents or theirs


def test_settings_lie_where_each_agents_variable_says(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, agent, name in (
        ("PI_CODING_AGENT_DIR", "pi", "settings.json"), ("QWEN_HOME", "qwen-code", "settings.json"),
        ("KIMI_SHARE_DIR", "kimi-cli", "config.toml"), ("KIMI_CODE_HOME", "kimi-code", "config.toml"),
        ("CODEX_HOME", "codex", "config.toml"),
        ("CLAUDE_CONFIG_DIR", "claude-code", "settings.json"),
        ("XDG_CONFIG_HOME", "opencode", "opencode/opencode.json"),
        ("GEMINI_CLI_HOME", "gemini-cli", ".gemini/settings.json"),
    ):  # fmt: skip
        monkeypatch.setenv(variable, str(home / "mine"))
        assert settings_of(agent).files[0].place() == home / "mine" / name


def test_sub_agents_are_found_with_their_sessions(home: Path) -> None:
    claude = [put(home / ".claude/projects/p" / name) for name in ("s.jsonl", "s/subagents/agent-x.jsonl")]
    qwen = [put(home / "q/projects/p" / name) for name in ("chats/s.jsonl", "subagents/s/agent-x.jsonl")]
    assert [{*one.paths} for one in kept({"QWEN_HOME": str(home / "q")})] == [{*claude}, {*qwen}]


def test_found_sessions_are_benched(home: Path) -> None:
    put(home / ".claude/projects/p/s.jsonl", claude_session("s", "Go."))
    done = ctxsim("bench", "@found", "--policy", "keep-all", "--out", "out", cwd=home)
    assert done.returncode == 0, done.stderr


def test_a_machine_without_agents(home: Path) -> None:
    with pytest.raises(InputError, match="finds no sessions"):
        list(sources("@found"))
    assert ctxsim("transcripts", "find", cwd=home).stdout.startswith("no sessions of Claude Code, Codex")
