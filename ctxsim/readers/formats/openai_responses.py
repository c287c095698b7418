"""OpenAI Responses API items: a list as of the Agents SDK's `to_input_list()`, a request or response object, or JSONL.

Documentation: https://platform.openai.com/docs/api-reference/responses

    [{"role": "user", "content": "Any mail?"},
     {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"},
     {"type": "function_call", "call_id": "c1", "name": "search", "arguments": "{\\"q\\": \\"mail\\"}"},
     {"type": "function_call_output", "call_id": "c1", "output": "2 messages"},
     {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Two."}]}]
"""

from collections.abc import Iterator
from typing import Any

from ctxsim.readers.assembly import Assembly
from ctxsim.readers.assembly.conversations import Conversation, conversations
from ctxsim.readers.assembly.responses import Document, Exchanges, add_request, add_response, is_known
from ctxsim.readers.source import Sample, Source, convert, has, under
from ctxsim.transcript import Transcript

NAME = "openai-responses"
TITLE = "OpenAI Responses API items"
MARKS = ("call_id", "summary", "type=message", "input", "items", "output")
VERSIONS = "Responses API of 2025 and 2026, and what `to_input_list()` of openai-agents returns"
READS = "Messages, reasoning, tool calls of every kind and their outputs, instructions, tools, usage of a response."
NOT_READ = "Reasoning summaries (the model is not sent them), item references, and what hosted tools read."


def matches(sample: Sample) -> bool:
    """A list of items, an object that holds one, or JSONL of either."""
    return _are_items(_items(sample.first)) or _are_items(sample.records)


def _are_items(values: list[Any]) -> bool:
    """Return whether all values are items of the API or messages with a role, and one of them is of no other format."""
    return all(map(_is_item, values)) and any(map(_distinct, values))


def _is_item(value: Any) -> bool:
    kind = value.get("type", "message") if isinstance(value, dict) else None
    if kind == "message":
        return has(value, role=str)
    return isinstance(kind, str) and (
        kind == "item_reference" or kind.startswith(("mcp_", "compaction")) or is_known(kind)
    )


def _distinct(item: dict[str, Any]) -> bool:
    match item.get("type", "message"):
        case "function_call" | "custom_tool_call":
            return has(item, call_id=str, name=str)
        case "function_call_output" | "custom_tool_call_output":
            return has(item, call_id=str, output=object)
        case "reasoning":
            return has(item, summary=list)
        case "message" if has(item, content=list):
            return any(has(one, type=str) and one["type"] in ("input_text", "output_text") for one in item["content"])
    return False


def _items(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    lists = (under(value, key) for key in ("input", "items", "output"))
    return [item for items in lists if isinstance(items, list) for item in items]


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return one transcript per list of items."""
    yield from conversations(source, sample, bool(_items(sample.first)), _read)


def _read(found: Conversation) -> Transcript:
    listed, where = isinstance(found.value, list), found.where
    held = Document(items=found.value) if listed else convert(found.value, Document, where)
    exchanges = Exchanges(Assembly(found.name, NAME))
    add_request(exchanges, held, where)
    if held.output:
        exchanges.close()
        add_response(exchanges, held, where)
    return exchanges.finished()
