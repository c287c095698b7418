"""Anthropic messages: content blocks `tool_use` and `tool_result`, as a list, an object with `messages`, or JSONL.

Documentation: https://docs.anthropic.com/en/api/messages

    {"system": "Be brief.", "messages": [
      {"role": "user", "content": "Any mail?"},
      {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "search", "input": {"q": "mail"}}]},
      {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "2 messages"}]},
      {"role": "assistant", "content": [{"type": "text", "text": "Two."}]}]}
"""

from collections.abc import Iterator

from ctxsim.readers.assembly import Assembly, text_of
from ctxsim.readers.assembly.anthropic_content import add_messages, has_tool_blocks
from ctxsim.readers.assembly.conversations import Conversation, conversations, message_list
from ctxsim.readers.source import Sample, Source
from ctxsim.transcript import Transcript

NAME = "anthropic-messages"
TITLE = "Anthropic messages"
VERSIONS = "any version, with tool, thinking and image blocks"
READS = "A list, an object with `messages` (and `system`, `tools`), JSONL of either."
NOT_READ = "Signatures, citations, the content of encrypted thinking."


def matches(sample: Sample) -> bool:
    """Messages of role user or assistant whose content has tool or thinking blocks."""
    messages = message_list(sample.first) or sample.records
    return all(
        isinstance(one, dict) and one.get("role") in ("user", "assistant", "system") for one in messages
    ) and any(has_tool_blocks(one.get("content")) for one in messages)


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return one transcript per message list."""
    yield from conversations(source, sample, bool(message_list(sample.first)), _read)


def _read(found: Conversation) -> Transcript:
    assembly = Assembly(found.name, NAME)
    if isinstance(found.value, dict) and found.value.get("system"):
        assembly.system.append(text_of(found.value["system"]))
    add_messages(assembly, found.messages(assembly), found.where)
    return assembly.transcript()
