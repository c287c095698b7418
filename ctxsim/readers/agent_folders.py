"""The folders where agents keep their sessions, as their documentation states. Files are listed, not read."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ctxsim.plugins.files import at_home
from ctxsim.readers.reader import load_reader


class Place(NamedTuple):
    """Where an agent keeps its sessions: `patterns` match files in `folder`, which is under the home folder, or where
    the agent's variable of `MOVED` says. `before` are earlier versions' patterns, used if `patterns` match nothing:
    newer versions took over those sessions.
    """

    agent: str
    format: str
    folder: str
    patterns: tuple[str, ...]
    before: tuple[str, ...] = ()


_COWORK = ("local-agent-mode-sessions/**/.claude/projects/**/*.jsonl",)
_SETTINGS = (".config", "Library/Application Support")
"""Where programs keep their settings on Linux and on macOS."""
_CODE = (*(f"{folder}/Code/User/globalStorage" for folder in _SETTINGS), ".vscode-server/data/User/globalStorage")
_ZED = (".local/share/zed", "Library/Application Support/Zed")
_EDITOR = ("globalStorage/state.vscdb",)
_CODEX = tuple(
    f"{folder}/**/*.jsonl{ending}" for folder in ("sessions", "archived_sessions") for ending in ("", ".zst")
)
_QWEN = ("projects/*/chats/*.jsonl", "projects/*/subagents/*/*.jsonl", "tmp/*/chats/*.json*")
_TASKS = ("tasks/*/api_conversation_history.json",)

PLACES = (
    # https://docs.claude.com/en/docs/claude-code/settings
    Place("Claude Code", "claude-code", ".claude", ("projects/**/*.jsonl",)),
    # https://github.com/ryoppippi/ccusage: where some versions kept them
    Place("Claude Code", "claude-code", ".config/claude", ("projects/**/*.jsonl",)),
    # https://github.com/simonw/claude-code-transcripts/issues/84 (Claude Cowork)
    *(Place("Claude Code", "claude-code", f"{folder}/Claude", _COWORK) for folder in _SETTINGS),
    # https://developers.openai.com/codex/local-config; rollouts of a week ago are compressed:
    # https://github.com/openai/codex/pull/24941
    Place("Codex", "codex-rollout", ".codex", _CODEX),
    # https://geminicli.com/docs/cli/session-management/
    Place("Gemini CLI", "gemini-cli", ".gemini", ("tmp/*/chats/**/*.json", "tmp/*/chats/**/*.jsonl")),
    # https://docs.github.com/en/copilot/concepts/agents/copilot-cli
    Place("Copilot CLI", "copilot-cli", ".copilot", ("session-state/**/*.jsonl",)),
    # https://opencode.ai/docs/troubleshooting/
    Place("OpenCode", "opencode", ".local/share/opencode", ("opencode*.db",), ("storage",)),
    # https://kilo.ai/docs/cli, a fork
    Place("Kilo Code", "opencode", ".local/share/kilo", ("kilo*.db",)),
    # https://github.com/badlogic/pi-mono
    Place("pi", "pi", ".pi/agent", ("sessions/**/*.jsonl",)),
    # https://docs.openclaw.ai/concepts/session
    # A session that was reset or deleted is renamed: https://github.com/openclaw/openclaw/pull/43215
    Place(
        "OpenClaw",
        "pi",
        ".openclaw",
        ("agents/*/sessions/*.jsonl", *(f"agents/*/sessions/*.jsonl.{end}.*" for end in ("reset", "deleted"))),
    ),
    # https://qwenlm.github.io/qwen-code-docs/
    Place("Qwen Code", "qwen-code", ".qwen", _QWEN),
    # https://cursor.com/docs
    Place("Cursor", "cursor", ".cursor", ("projects/*/agent-transcripts/**/*.jsonl",)),
    *(Place("Cursor", "cursor", f"{folder}/Cursor/User", _EDITOR) for folder in _SETTINGS),
    # https://block.github.io/goose/docs/guides/sessions/session-management
    Place("Goose", "goose", ".local/share/goose", ("sessions/sessions.db",)),
    # https://docs.factory.ai/
    Place("Droid", "droid", ".factory", ("sessions/**/*.jsonl",)),
    # https://hermes-agent.nousresearch.com/docs
    Place("Hermes", "hermes", ".hermes", ("state.db", "profiles/*/state.db"), ("sessions/session_*.json",)),
    # https://docs.x.ai/build
    Place("Grok Build", "grok", ".grok", ("sessions/*/*/chat_history.jsonl",)),
    # https://github.com/MoonshotAI/kimi-code
    Place("Kimi Code", "kimi", ".kimi-code", ("sessions/**/wire.jsonl",)),
    # https://moonshotai.github.io/kimi-cli/
    Place("Kimi CLI", "kimi", ".kimi", ("sessions/**/wire.jsonl",)),
    # https://docs.cline.bot/, https://github.com/cline/cline (`sdk`)
    Place("Cline", "cline", ".cline", ("data/sessions/*/*.messages.json", f"data/{_TASKS[0]}")),
    *(Place("Cline", "cline", f"{folder}/saoudrizwan.claude-dev", _TASKS) for folder in _CODE),
    # https://github.com/OpenHands/OpenHands-CLI
    Place("OpenHands", "openhands-sdk", ".openhands", ("conversations/*/base_state.json",)),
    # https://docs.roocode.com/
    *(Place("Roo Code", "roo-code", f"{folder}/rooveterinaryinc.roo-cline", _TASKS) for folder in _CODE),
    # https://zed.dev/docs/ai/agent-panel, https://github.com/zed-industries/zed (`crates/paths/src/paths.rs`)
    *(Place("Zed", "zed", f"{folder}/threads", ("threads.db",)) for folder in _ZED),
    # https://kilo.ai/docs, a fork until it became one of OpenCode
    *(Place("Kilo Code", "roo-code", f"{folder}/kilocode.kilo-code", _TASKS) for folder in _CODE),
)

NAMES = {place.format: place.agent for place in reversed(PLACES)} | {
    "crush": "Crush", "mini-swe-agent": "mini-SWE-agent", "openhands-completions": "OpenHands",
    "openhands-events": "OpenHands", "swe-agent": "SWE-agent",
}  # fmt: skip
"""Name of the agent that writes a format, by the format's name."""


class Kept(NamedTuple):
    """The sessions in a place: files or folders, their bytes, and the first and last change in epoch seconds."""

    place: Place
    folder: Path
    paths: tuple[Path, ...]
    bytes: int
    first_s: float
    last_s: float


def kept(environment: Mapping[str, str] = os.environ) -> Iterator[Kept]:
    """Yield the places on this machine that hold sessions. Reads only names, sizes and modification times."""
    met = set[Path]()
    for place in PLACES:
        folder = at_home(f"~/{place.folder}", environment)
        paths = _whole(_matching(folder, place.patterns) or _matching(folder, place.before), place)
        # A variable may name the folder of another place.
        paths = [path for path in paths if path not in met]
        met.update(paths)
        stats = [file.stat() for path in paths for file in session_files(path)]
        if stats:
            times = [stat.st_mtime for stat in stats]
            yield Kept(place, folder, tuple(paths), sum(stat.st_size for stat in stats), min(times), max(times))


def _matching(folder: Path, patterns: tuple[str, ...]) -> list[Path]:
    return sorted({path for pattern in patterns for path in folder.glob(pattern)})


def _whole(paths: list[Path], place: Place) -> list[Path]:
    """Return the paths with a folder in place of the files in it that the place's format reads together."""
    owns = getattr(load_reader(place.format), "owns", None) if paths else None
    return paths if owns is None else [*dict.fromkeys(next(filter(owns, path.parents), path) for path in paths)]


def session_files(path: Path) -> Iterator[Path]:
    """Yield a session's files: all in a storage folder, or a file and its database log, which holds the newest rows."""
    found = path.rglob("*") if path.is_dir() else (path, *path.parent.glob(f"{path.name}-wal"))
    yield from (file for file in found if file.is_file())
