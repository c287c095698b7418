"""Responses of sub-agents in a session's progress lines: the only record of their cost if their files are gone."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from ctxsim.readers.formats.claude_code.tree import LineMessage
from ctxsim.readers.source import has, under

ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.zst")


class ToldOfAgents:
    """Collects these responses from the lines of a file; `responses` leaves out agents with a file of their own.

    Without a path, no agent has a file, and all responses are given.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._found: dict[str, tuple[str, dict[str, Any], Any]] = {}

    def hear(self, line: Any) -> None:
        """Add a line of progress. The last one of a response holds its usage."""
        data = under(line, "data") if under(line, "type") == "progress" else None
        message = under(data, "message", "message")
        if has(message, id=str, usage=dict):
            self._found[message["id"]] = str(under(data, "agentId") or ""), message, under(line, "timestamp")

    def responses(self) -> Iterator[tuple[LineMessage, Any]]:
        """Yield message and time of each response that no other file holds."""
        own = {agent: self._has_file(agent) for agent, _, _ in self._found.values()}
        for agent, message, when in self._found.values():
            if own[agent]:
                continue
            try:
                yield msgspec.convert({**message, "content": None}, LineMessage), when
            except msgspec.ValidationError:
                # Progress is for display: usage in another form is skipped.
                continue

    def _has_file(self, agent: str) -> bool:
        if self._path is None or not agent or "/" in agent:
            return False
        session = self._path.name.split(".", 1)[0]
        folders = (self._path.parent, self._path.parent / session / "subagents")
        return any((folder / f"agent-{agent}{ending}").exists() for folder in folders for ending in ENDINGS)
