"""OpenAI chat-completions messages: `tool_calls` and role `tool`, as a list, an object with `messages`, or JSONL.

Documentation: https://platform.openai.com/docs/api-reference/chat

    {"messages": [
      {"role": "user", "content": "Any mail?"},
      {"role": "assistant", "content": null, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{\\"q\\": \\"mail\\"}"}}]},
      {"role": "tool", "tool_call_id": "c1", "content": "2 messages"},
      {"role": "assistant", "content": "Two."}]}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ctxsim.errors import InputError
from ctxsim.readers.assembly import Assembly
from ctxsim.readers.assembly.chat_messages import ROLES, add_messages
from ctxsim.readers.assembly.conversations import conversations
from ctxsim.readers.source import Sample, Source, compact_json
from ctxsim.transcript import Transcript

NAME = "openai-chat"
TITLE = "OpenAI chat-completions messages"
DOCS = "https://platform.openai.com/docs/api-reference/chat"
VERSIONS = "any: `tool_calls`, the older `function_call`, `reasoning_content`"
READS = "A list, an object with `messages` (and `tools`), JSONL of either; used by most frameworks and evidence."
NOT_READ = "Log probabilities, audio bytes, refusals apart from their text."


def matches(sample: Sample) -> bool:
    """A list of chat messages, or objects that hold one under `messages`; `tool` or `system` roles, no block types."""
    if not sample.records:
        return False
    return looks_like_chat(_message_list(sample.records[0]) or _bare_messages(sample))


def looks_like_chat(messages: list[Any]) -> bool:
    """Whether these are chat messages, told from Anthropic's by roles, `tool_calls`, and the absence of tool blocks."""
    if not messages or not all(isinstance(m, dict) and isinstance(m.get("role"), str) for m in messages):
        return False
    if not any(m["role"] in ROLES for m in messages):
        return False
    return not any(
        isinstance(block, dict) and block.get("type") in ("tool_use", "tool_result", "thinking")
        for message in messages
        if isinstance(message.get("content"), list)
        for block in message["content"]
    ) and not any("parts" in message for message in messages)


def _message_list(value: Any) -> list[Any]:
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        return list(value["messages"])
    return list(value) if isinstance(value, list) else []


def _bare_messages(sample: Sample) -> list[Any]:
    """JSONL with one message a line."""
    return sample.records if all(isinstance(r, dict) and "role" in r and "content" in r for r in sample.records) else []


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return one transcript per message list."""
    for found in conversations(source, sample, one_per_line=not _bare_messages(sample)):
        yield _one(*found)


def _one(name: str, where: str, value: Any, notes: list[str]) -> Transcript:
    assembly = Assembly(name, NAME)
    assembly.notes += notes
    messages = _message_list(value)
    if isinstance(value, dict):
        tools = value.get("tools")
        assembly.tools += [compact_json(tool) for tool in tools] if isinstance(tools, list) else []
    if not messages:
        raise InputError(where, "has no messages")
    add_messages(assembly, messages, where)
    return assembly.transcript()
