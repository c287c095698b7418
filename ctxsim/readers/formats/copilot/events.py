"""The events of a Copilot CLI session that hold the conversation, field by field.

Documentation: https://github.com/github/copilot-sdk/blob/main/nodejs/src/generated/session-events.ts
"""

from typing import Any

import msgspec
from msgspec import field

from ctxsim.readers.assembly import IMAGE_TOKENS, Part, text_and_media
from ctxsim.readers.assembly.responses_items import Result
from ctxsim.readers.source import compact_json


class Event(msgspec.Struct, rename="camel"):
    """What every line has; `agentId` names a sub-agent."""

    type: str
    data: Any = None
    timestamp: Any = None
    agent_id: str | None = None


class ToolRequest(msgspec.Struct, rename="camel"):
    """A tool call; `arguments` is an object, or a JSON string."""

    name: str
    tool_call_id: str = ""
    arguments: Any = None


class AssistantMessage(msgspec.Struct, rename="camel"):
    """A response, or a chunk of one; chunks share `apiCallId`."""

    content: str | None = None
    tool_requests: list[ToolRequest] | None = None
    reasoning_text: str | None = None
    reasoning_opaque: str | None = None
    encrypted_content: str | None = None
    model: str | None = None
    api_call_id: str | None = None


class UserMessage(msgspec.Struct, rename="camel"):
    """A user text as typed and, with what the agent adds, as sent."""

    content: str | None = None
    transformed_content: str | None = None
    attachments: list[Any] | None = None


class ToolComplete(msgspec.Struct):
    """The end of a tool execution: `content` is what the model is sent, `contents` the same in blocks, for images."""

    tool_call_id: str = field(name="toolCallId")
    content: str | None = field(default=None, name="result.content")
    contents: list[Any] | None = field(default=None, name="result.contents")
    error: str = field(default="", name="error.message")


class _Requests(msgspec.Struct):
    count: int | None = None


class ModelMetrics(msgspec.Struct):
    """What all requests to a model used together."""

    requests: _Requests | int | None = None
    input_tokens: int | None = field(default=None, name="usage.inputTokens")
    output_tokens: int | None = field(default=None, name="usage.outputTokens")
    cache_read_tokens: int | None = field(default=None, name="usage.cacheReadTokens")
    cache_write_tokens: int | None = field(default=None, name="usage.cacheWriteTokens")
    reasoning_tokens: int | None = field(default=None, name="usage.reasoningTokens")


class Shutdown(msgspec.Struct, rename="camel"):
    """The totals of a session, and the client's split of the last request."""

    model_metrics: dict[str, Any] | None = None
    system_tokens: int | None = None
    tool_definitions_tokens: int | None = None
    conversation_tokens: int | None = None


class Compaction(msgspec.Struct, rename="camel"):
    """A compaction or a truncation."""

    success: bool | None = None
    trigger: str | None = None
    pre_compaction_tokens: int | None = None
    post_compaction_tokens: int | None = None
    summary_content: str | None = None
    pre_truncation_tokens_in_messages: int | None = None


def parts(message: AssistantMessage) -> list[Part]:
    """Return the parts of a response; an empty one is an empty text. Encrypted reasoning has no text."""
    made: list[Part] = []
    if message.reasoning_text or message.reasoning_opaque or message.encrypted_content:
        made.append(Part("reasoning", message.reasoning_text or ""))
    calls = message.tool_requests or []
    if message.content or not calls:
        made.append(Part("assistant", message.content or ""))
    made += [Part("tool_call", compact_json(call.arguments), call.name, call.tool_call_id) for call in calls]
    return made


def result(done: ToolComplete) -> Result:
    """Return what the model was sent for a call: the short form of the output, or the error."""
    text = done.error if done.content is None else done.content
    _, media = text_and_media(done.contents, IMAGE_TOKENS["openai"])
    return Result(text, done.tool_call_id, media)
