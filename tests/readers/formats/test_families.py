"""Sub-agents and their sessions, which lie beside each other: in a folder, in an archive, or in a commit."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

from read_back import Json, text, write

from ctxsim.readers import read

CODEX = {"type": "session_meta", "payload": {"id": "thread-1"}}
CODEX_AGENT = {"type": "session_meta", "payload": {"id": "thread-2", "parent_thread_id": "thread-1"}}
SAID = {"type": "response_item", "payload": {"type": "message", "role": "assistant", "content": [text("Done.")]}}
GEMINI = {"sessionId": "s-1", "projectHash": "h", "kind": "main"}
ANSWER = {"id": "1", "type": "gemini", "content": "Done."}
CURSOR = {"role": "assistant", "message": {"content": [text("Done."), {"type": "tool_use", "name": "f", "input": {}}]}}
TOLD = {"uiEvent": {"prompt_id": "s#explore-b1#0", "input_token_count": 60}}


def qwen(session: str, uuid: str, parent: str | None, kind: str, **fields: object) -> Json:
    return {"uuid": uuid, "parentUuid": parent, "sessionId": session, "type": kind, **fields}


QWEN = qwen("s", "a1", None, "assistant", message={"role": "model", "parts": [{"text": "One."}]})
FAMILY = {
    "codex/rollout-1-thread-1.jsonl": [CODEX, SAID], "codex/rollout-2-thread-2.jsonl": [CODEX_AGENT, SAID],
    "gemini/session-1-abcdef12.jsonl": [GEMINI, ANSWER],
    "gemini/abcdef12-3456/sub.jsonl": [GEMINI | {"kind": "subagent", "sessionId": "sub"}, ANSWER],
    "cursor/main.jsonl": [CURSOR], "cursor/subagents/agent.jsonl": [CURSOR, CURSOR],
    "qwen/chats/s.jsonl": [
        QWEN, qwen("s", "y1", "a1", "system", subtype="ui_telemetry", systemPayload=TOLD),
    ],
    "qwen/subagents/s/agent-explore-call_1.jsonl": [QWEN | {"isSidechain": True, "agentId": "x"}],
}  # fmt: skip


def test_whose_a_sub_agent_is_does_not_depend_on_where_its_file_lies(tmp_path: Path) -> None:
    folder, packed = tmp_path / "in", tmp_path / "in.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for name, lines in FAMILY.items():
            archive.write(write(folder / name, *lines), name)
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "logs"]):
        subprocess.run([*git, *command], check=True)
    parents = {
        "codex/rollout-2-thread-2.jsonl": "codex/rollout-1-thread-1.jsonl",
        "gemini/abcdef12-3456/sub.jsonl": "gemini/session-1-abcdef12.jsonl",
        "cursor/subagents/agent.jsonl": "cursor/main.jsonl",
        "qwen/subagents/s/agent-explore-call_1.jsonl": "qwen/chats/s.jsonl",
    }
    for path, root in (
        (str(folder), f"{folder}/"),
        (str(packed), f"{packed}!"),
        (f"git:{folder}", f"git:{folder}@HEAD:"),
    ):
        found = {one.name.removeprefix(root): one for one in read(path)}
        assert list(found) == sorted(found) and found.keys() == FAMILY.keys(), path
        assert {name: one.parent.removeprefix(root) for name, one in found.items() if one.parent} == parents, path
        assert [one.beside for one in found.values() if one.beside] == [], f"{path}: a sub-agent is billed by its file"
