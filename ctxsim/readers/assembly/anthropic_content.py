"""Messages of Anthropic's API and their content blocks, as several agents keep them.

Documentation: https://docs.anthropic.com/en/api/messages
"""

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import msgspec

from ctxsim.readers.assembly import Assembly, Part, content_parts, text_and_media, text_of
from ctxsim.readers.assembly.numbers import as_served, in_parts
from ctxsim.readers.source import compact_json, convert, under
from ctxsim.readers.source.values import objects
from ctxsim.transcript import UNSHOWN, Media, Usage

SIGNED_BYTES = 174
"""A signature is base64 of the whole thinking and of so many more bytes (Claude 4.5: 166 to 176 in 90 % of 5,900)."""


class Turn(msgspec.Struct):
    """A message as agents keep it; `content` is a string or a list of blocks."""

    role: Literal["user", "assistant", "system"]
    content: str | list[Any] | None = None


class _Block(msgspec.Struct):
    type: str
    text: str = ""
    thinking: str = ""
    signature: Any = None
    id: str | None = None
    name: str = ""
    input: Any = None
    tool_use_id: str | None = None
    content: Any = None


class Lifetimes(msgspec.Struct):
    """Tokens written to the cache, by cache lifetime."""

    ephemeral_5m_input_tokens: int | None = None
    ephemeral_1h_input_tokens: int | None = None


class Served(msgspec.Struct):
    """How a request was served, and its searches, as Anthropic's usage states it, and LiteLLM's for Anthropic."""

    service_tier: Any = None
    speed: Any = None
    inference_geo: Any = None
    server_tool_use: Any = None

    def as_served(self, usage: Usage) -> Usage:
        """Return usage of a request with that."""
        searches = under(self.server_tool_use, "web_search_requests")
        return as_served(usage, self.speed, self.service_tier, self.inference_geo, searches=searches)


class Counted(Served):
    """Tokens of a request of the Messages API: three parts of the prompt that add up to the whole."""

    input_tokens: int | None = 0
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation: Lifetimes | None = None

    def whole(self) -> Usage:
        """Return it as `Usage`, with the tokens of the whole prompt and of its cached parts."""
        read, written = self.cache_read_input_tokens, self.cache_creation_input_tokens
        usage = in_parts(self.input_tokens, self.output_tokens, read, written)
        long = self.cache_creation.ephemeral_1h_input_tokens if self.cache_creation else None
        return usage if long is None else msgspec.structs.replace(usage, cache_write_long_tokens=long)


class _Iteration(Counted):
    type: str = ""
    model: str | None = None


class _OutputDetails(msgspec.Struct):
    thinking_tokens: int | None = None


class Inside(NamedTuple):
    """A request that the server made for a response: its usage, its model, and whether it wrote a summary."""

    usage: Usage
    model: str
    summary: bool


class BilledUsage(Counted):
    """Usage of a response (https://platform.claude.com/docs/en/api/messages)."""

    output_tokens_details: _OutputDetails | None = None
    iterations: list[_Iteration | None] | None = None

    @property
    def thinking_tokens(self) -> int | None:
        """The output tokens that were thinking, if they are stated."""
        return self.output_tokens_details.thinking_tokens if self.output_tokens_details else None

    def asked(self, model: str) -> tuple[Usage, list[Inside]]:
        """Return the usage of the request that a log shows, to `model`, and the requests that the server made for its
        response: by a tool of its own, an advisor or a compaction. An attempt without output isn't billed.

        The usage of the whole is a sum without advisors and compactions (github.com/anthropics/anthropic-sdk-python
        2.14.0, types/beta/beta_iterations_usage.py).
        """
        made = [one for one in self.iterations or () if one and one.output_tokens]
        answered = [one for one in made if one.type.endswith("message") and one.type != "advisor_message"]
        own = next((one for one in answered if one.model is None or one.model in model), None)
        if own is None or len(self.iterations or ()) < 2:
            return self.as_served(self.whole()), []
        return self.as_served(own.whole()), [self._inside(one, model) for one in made if one is not own]

    def _inside(self, one: _Iteration, model: str) -> Inside:
        # An advisor is another model, of which the whole doesn't say how it was served.
        usage = one.whole() if one.model and one.model not in model else self.as_served(one.whole())
        return Inside(msgspec.structs.replace(usage, web_searches=None), one.model or "", one.type == "compaction")


def add_inside(assembly: Assembly, made: Iterable[Inside], time_s: float | None, model: str) -> None:
    """Add the requests that the server made for a response of `model`, beside the conversation."""
    for one in made:
        assembly.beside(one.usage, time_s, one.model or model, one.summary)


def response_parts(content: str | list[Any] | None, where: str) -> list[Part]:
    """Return the parts of an assistant message's content."""
    if not isinstance(content, list):
        return [Part("assistant", content)] if content else []
    parts: list[Part] = []
    for value in content:
        block = convert(value, _Block, where) if isinstance(value, dict) else _Block("text", text=str(value))
        match block.type:
            case "text":
                if block.text:
                    parts.append(Part("assistant", block.text))
            case "thinking" | "redacted_thinking":
                parts.append(Part("reasoning", block.thinking, media=unshown(block.thinking, block.signature)))
            case "tool_use":
                parts.append(Part("tool_call", compact_json(block.input), block.name, block.id or ""))
            case _:
                # A tool that the server runs has its result in the same message.
                parts.append(Part("assistant", compact_json(value)))
    return parts


def unshown(thinking: str, signature: Any) -> tuple[Media, ...]:
    """Return what is resent of a thinking block beyond its text, sized by its signature: four bytes a token."""
    whole = len(signature) * 3 // 4 - SIGNED_BYTES if isinstance(signature, str) else 0
    tokens = (whole - len(thinking.encode("utf-8", "replace"))) // 4
    # Fewer tokens are within the scatter of signatures' sizes.
    return (Media(UNSHOWN, tokens),) if tokens >= 20 else ()


def has_tool_blocks(content: Any) -> bool:
    """Whether content has blocks that only Anthropic's API has."""
    return any(block.get("type") in ("tool_use", "tool_result", "thinking") for block in objects(content))


def add_messages(assembly: Assembly, values: list[Any], where: str) -> None:
    """Add the messages of a request. Raises InputError with the message's number for one that doesn't fit."""
    for number, value in enumerate(values):
        place = f"{where} message {number}"
        add_turn(assembly, convert(value, Turn, place), place)


def add_turn(
    assembly: Assembly,
    turn: Turn,
    where: str,
    usage: Usage | None = None,
    time_s: float | None = None,
    model: str = "",
    comparable: bool = True,
) -> None:
    """Add a system text, a user message, or a response of the model with what the log says of its request."""
    if turn.role == "system":
        assembly.system.append(text_of(turn.content))
    elif turn.role == "user":
        add_user_content(assembly, turn.content, where)
    else:
        assembly.response(response_parts(turn.content, where), usage, time_s, model, comparable)


def add_user_content(assembly: Assembly, content: str | list[Any] | None, where: str) -> None:
    """Add a user message: its tool results first, then its other blocks as one message."""
    if not isinstance(content, list):
        if content:
            assembly.user(content)
        return
    others: list[Any] = []
    for value in content:
        if isinstance(value, dict) and value.get("type") == "tool_result":
            block = convert(value, _Block, where)
            text, media = text_and_media(block.content, "anthropic")
            assembly.result(text, block.tool_use_id or "", media=media)
        else:
            others.append(value)
    assembly.user(*(part for one in others for part in content_parts("user", [one], "anthropic")))
