"""Hermes Agent sessions: one JSON document with chat messages, the system prompt and the tools.

Documentation: https://github.com/NousResearch/hermes-agent

    {"session_id": "s", "model": "m", "platform": "cli", "session_start": "2026-01-01T12:00:00Z",
     "system_prompt": "Be brief.", "messages": [
      {"role": "user", "content": "Any mail?"},
      {"role": "assistant", "content": "I look.", "reasoning": "Where?", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}]},
      {"role": "tool", "tool_call_id": "c1", "tool_name": "search", "content": "2 messages"},
      {"role": "session_meta"}]}
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from ctxsim.readers.assembly import Assembly, chat_messages
from ctxsim.readers.source import Sample, Source, compact_json, convert, has, under
from ctxsim.transcript import Transcript

NAME = "hermes"
TITLE = "Hermes Agent sessions"
MARKS = ("session_start",)
VERSIONS = "session documents of 2026"
READS = "Chat messages, reasoning, the system prompt and the tools where they are stored."
NOT_READ = "The SQLite database of sessions; usage and times of messages are not in these files."


class _Message(chat_messages.Message):
    # Instead of `name`, or beside it.
    tool_name: str | None = None


class _Session(msgspec.Struct):
    messages: list[Any]
    model: str = ""
    system_prompt: str | None = None
    tools: list[Any] | None = None


def matches(sample: Sample) -> bool:
    """An object with `session_id`, `platform`, `session_start` and `messages`."""
    return has(sample.document, messages=list, session_id=str, platform=str, session_start=str)


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return the one transcript of a session."""
    session = convert(sample.document, _Session, source.name)
    assembly = Assembly(source.name, NAME)
    assembly.system += filter(None, [session.system_prompt])
    assembly.tools += map(compact_json, session.tools or [])
    for number, value in enumerate(session.messages):
        role = under(value, "role")
        if not isinstance(role, str) or role not in chat_messages.ROLES:
            assembly.left_out[role if isinstance(role, str) else "entry without a role"] += 1
            continue
        message = convert(value, _Message, f"{source.name} message {number}")
        message.name = message.name or message.tool_name
        chat_messages.add_message(assembly, message, session.model)
    yield assembly.finished()
