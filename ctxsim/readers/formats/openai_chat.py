"""OpenAI chat-completions messages: `tool_calls` and role `tool`, as a list, an object with `messages`, or JSONL.

Documentation: https://platform.openai.com/docs/api-reference/chat

    {"messages": [
      {"role": "user", "content": "Any mail?"},
      {"role": "assistant", "content": null, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{\\"q\\": \\"mail\\"}"}}]},
      {"role": "tool", "tool_call_id": "c1", "content": "2 messages"},
      {"role": "assistant", "content": "Two."}]}
"""

from collections.abc import Iterator
from typing import Any

from ctxsim.readers.assembly import Assembly
from ctxsim.readers.assembly.anthropic_content import has_tool_blocks
from ctxsim.readers.assembly.chat_messages import ROLES, add_messages
from ctxsim.readers.assembly.conversations import Conversation, conversations, message_list
from ctxsim.readers.source import Sample, Source, has
from ctxsim.transcript import Transcript

NAME = "openai-chat"
TITLE = "OpenAI chat-completions messages"
VERSIONS = "any version, with `tool_calls`, the older `function_call`, and `reasoning_content`"
READS = "A list, an object with `messages` (and `tools`), JSONL of either; used by most frameworks and evidence."
NOT_READ = "Log probabilities, audio bytes, refusals apart from their text."


def matches(sample: Sample) -> bool:
    """A list of chat messages, or objects that hold one under `messages`; `tool` or `system` roles, no block types."""
    messages = message_list(sample.first) or _bare_messages(sample)
    return (
        bool(messages)
        and all(has(message, role=str) for message in messages)
        and any(message["role"] in ROLES for message in messages)
        and any({"content", "tool_calls", "function_call"} & message.keys() for message in messages)
        and not any(has_tool_blocks(message.get("content")) or "parts" in message for message in messages)
    )


def _bare_messages(sample: Sample) -> list[Any]:
    return sample.records if all(has(record, role=object, content=object) for record in sample.records) else []


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return one transcript per message list."""
    yield from conversations(source, sample, not _bare_messages(sample), _read)


def _read(found: Conversation) -> Transcript:
    assembly = Assembly(found.name, NAME)
    add_messages(assembly, found.messages(assembly), found.where)
    return assembly.finished()
