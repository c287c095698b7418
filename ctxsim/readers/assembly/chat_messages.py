"""Messages of the chat-completions API, the form in which most frameworks and evidence pass messages on.

Documentation: https://platform.openai.com/docs/api-reference/chat
"""

from typing import Any, Literal

import msgspec

from ctxsim.readers.assembly import IMAGE_TOKENS, Assembly, Part, text_and_media
from ctxsim.readers.source import compact_json, convert

ROLES = {"system", "developer", "user", "assistant", "tool", "function"}


class Function(msgspec.Struct):
    """A called function; `arguments` is a JSON string, kept to the letter even where it isn't valid."""

    name: str
    arguments: Any = ""


class ToolCall(msgspec.Struct):
    """One entry of `tool_calls`; some logs have empty ones beside a call that stands in the text."""

    function: Function | None = None
    id: str | None = None


class ThinkingBlock(msgspec.Struct):
    """A block of Anthropic's extended thinking, as LiteLLM passes it on."""

    thinking: str = ""
    data: str = ""


class Reply(msgspec.Struct, kw_only=True):
    """What a model answered; older sources have a single `function_call`, DeepSeek adds `reasoning_content`."""

    content: str | list[Any] | None = None
    tool_calls: list[ToolCall] | None = None
    function_call: Function | None = None
    reasoning_content: str | None = None
    thinking_blocks: list[ThinkingBlock] | None = None

    def parts(self, said: list[Part] | None = None) -> list[Part]:
        """Return reasoning, text and tool calls; `said` takes the place of the text and the calls.

        LiteLLM repeats thinking blocks as `reasoning_content`: never both.
        """
        blocks = [block.thinking or block.data for block in self.thinking_blocks or []]
        reasoning = [self.reasoning_content] if self.reasoning_content else blocks
        return [*(Part("reasoning", text) for text in reasoning), *(self._said() if said is None else said)]

    def _said(self) -> list[Part]:
        text, _ = text_and_media(self.content, IMAGE_TOKENS["openai"])
        parts = [Part("assistant", text)] if text else []
        for call in [*(self.tool_calls or []), ToolCall(self.function_call)]:
            if function := call.function:
                parts.append(Part("tool_call", compact_json(function.arguments), function.name, call.id or ""))
        return parts


class Message(Reply, kw_only=True):
    """One chat message."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    tool_call_id: str | None = None
    name: str | None = None


def add_messages(assembly: Assembly, values: list[Any], where: str) -> None:
    """Add chat messages to a transcript. Raises InputError with the message's number for one that doesn't fit."""
    for number, value in enumerate(values):
        message = convert(value, Message, f"{where} message {number}")
        add_message(assembly, message, first=number == 0 or assembly.calls == 0)


def add_message(assembly: Assembly, message: Message, first: bool) -> None:
    """Add one chat message; each assistant message is a call."""
    text, media = text_and_media(message.content, IMAGE_TOKENS["openai"])
    match message.role:
        case "system" | "developer" if first:
            assembly.system.append(text)
        case "system" | "developer":
            assembly.notes.append("a system message in mid-conversation is kept as user text")
            assembly.user(text)
        case "user":
            assembly.user(Part("user", text, media=media))
        case "tool" | "function":
            assembly.result(text, message.tool_call_id or "", message.name or "", media)
        case "assistant":
            if any(call.function is None for call in message.tool_calls or []):
                assembly.notes.append("an empty entry of `tool_calls` left out")
            assembly.response(message.parts())
