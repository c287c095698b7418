"""Anthropic messages: content blocks `tool_use` and `tool_result`, as a list, an object with `messages`, or JSONL.

Documentation: https://docs.anthropic.com/en/api/messages

    {"system": "Be brief.", "messages": [
      {"role": "user", "content": "Any mail?"},
      {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "search", "input": {"q": "mail"}}]},
      {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "2 messages"}]},
      {"role": "assistant", "content": [{"type": "text", "text": "Two."}]}]}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ctxsim.errors import InputError
from ctxsim.readers.assembly import Assembly
from ctxsim.readers.assembly.anthropic_content import Message, add_user_content, response_parts
from ctxsim.readers.assembly.blocks import text_and_media
from ctxsim.readers.assembly.conversations import conversations
from ctxsim.readers.source import Sample, Source, compact_json, convert
from ctxsim.transcript import Transcript

NAME = "anthropic-messages"
TITLE = "Anthropic messages"
DOCS = "https://docs.anthropic.com/en/api/messages"
VERSIONS = "any: tool, thinking and image blocks"
READS = "A list, an object with `messages` (and `system`, `tools`), JSONL of either."
NOT_READ = "Signatures, citations, the content of encrypted thinking."


def matches(sample: Sample) -> bool:
    """Messages of role user or assistant whose content has tool or thinking blocks."""
    return bool(sample.records) and looks_like_anthropic(_messages(sample.records[0]) or sample.records)


def looks_like_anthropic(messages: list[Any]) -> bool:
    """Whether a message list holds Anthropic tool blocks."""
    return all(isinstance(m, dict) and m.get("role") in ("user", "assistant", "system") for m in messages) and any(
        isinstance(block, dict) and block.get("type") in ("tool_use", "tool_result", "thinking")
        for message in messages
        if isinstance(message.get("content"), list)
        for block in message["content"]
    )


def _messages(value: Any) -> list[Any]:
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        return list(value["messages"])
    return list(value) if isinstance(value, list) else []


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return one transcript per message list."""
    for found in conversations(source, sample, one_per_line=bool(_messages(sample.records[0]))):
        yield _one(*found)


def _one(name: str, where: str, value: Any, notes: list[str]) -> Transcript:
    assembly = Assembly(name, NAME)
    assembly.notes += notes
    assembly.head_recorded = isinstance(value, dict) and bool(value.get("system"))
    if isinstance(value, dict):
        if value.get("system"):
            assembly.system.append(text_and_media(value["system"], 0)[0])
        tools = value.get("tools")
        assembly.tools += [compact_json(tool) for tool in tools] if isinstance(tools, list) else []
    messages = _messages(value)
    if not messages:
        raise InputError(where, "has no messages")
    for number, entry in enumerate(messages):
        message = convert(entry, Message, f"{where} message {number}")
        if message.role == "assistant":
            assembly.response(response_parts(message.content, f"{where} message {number}"))
        elif message.role == "system":
            assembly.system.append(text_and_media(message.content, 0)[0])
            assembly.head_recorded = True
        else:
            add_user_content(assembly, message.content, f"{where} message {number}")
    return assembly.transcript()
