"""What `claude --output-format stream-json`, the Claude Agent SDK and Claude Cowork write, as lines of a session.

Documentation: https://code.claude.com/docs/en/headless and https://docs.claude.com/en/api/agent-sdk/typescript

    {"type": "system", "subtype": "init", "session_id": "s", "cwd": "/w", "model": "m", "tools": ["Bash"]}
    {"type": "assistant", "session_id": "s", "parent_tool_use_id": null, "message": {"id": "msg_1", "content": [
      {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}], "usage": {"input_tokens": 9}}}
    {"type": "user", "session_id": "s", "parent_tool_use_id": null, "message": {"role": "user", "content": [
      {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]}}
    {"type": "result", "session_id": "s", "total_cost_usd": 0.02}
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from ctxsim.readers.assembly.conversations import entries
from ctxsim.readers.source import Record, Sample, Source, has, under

_COMPACTED = (
    ("trigger", "trigger"), ("preTokens", "pre_tokens"), ("postTokens", "post_tokens"), ("durationMs", "duration_ms"),
)  # fmt: skip
"""Of a compaction's details, their names in a session and in a stream."""


def is_stream(records: Sequence[Any]) -> bool:
    """Whether some values are messages of a stream, or parts of messages: unlike lines, they name no line before."""
    known = [one for one in records if has(one, session_id=str, parent_tool_use_id=object) and "parentUuid" not in one]
    return any(isinstance(one.get("message", one.get("event")), dict) for one in known)


def values_of(sample: Sample) -> list[Any]:
    """Return the first values of a file, which may be one list, as claude-code-action writes it."""
    return sample.document if isinstance(sample.document, list) else sample.records


def records_of(source: Source, sample: Sample, notes: list[str]) -> Iterable[Record]:
    """Return the lines of a session file, or those that a stream stands for."""
    found = entries(sample, notes) if isinstance(sample.document, list) else source.records(notes)
    return _as_lines(found) if is_stream(values_of(sample)) else found


def _as_lines(records: Iterable[Record]) -> Iterator[Record]:
    """Yield lines in which each names the one before it, of the main agent or of the same sub-agent, as its parent."""
    last: dict[str, str] = {}
    started: dict[str, Any] = {}
    for number, record in enumerate(records):
        value = record.value
        if not has(value, type=str):
            yield record
            continue
        if value.get("subtype") == "init":
            started = {"cwd": value.get("cwd"), "version": value.get("claude_code_version")}
        agent = value.get("parent_tool_use_id")
        line = {
            "uuid": f"{number}", "parentUuid": last.get(str(agent)), "isSidechain": agent is not None, "agentId": agent,
            "sessionId": value.get("session_id"), "timestamp": value.get("_audit_timestamp"),
            "compactMetadata": {name: under(value, "compact_metadata", told) for name, told in _COMPACTED},
        }  # fmt: skip
        last[str(agent)] = line["uuid"]
        yield replace(record, value=value | started | {name: one for name, one in line.items() if one is not None})
