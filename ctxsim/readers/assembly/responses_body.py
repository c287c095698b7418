"""The bodies of the Responses API: what stands around the items of a request and of a response.

Documentation: https://platform.openai.com/docs/api-reference/responses
"""

from typing import Any

import msgspec

from ctxsim.readers.assembly import text_and_media
from ctxsim.readers.assembly.chat_messages import Details
from ctxsim.readers.assembly.responses_items import Exchanges
from ctxsim.readers.source import compact_json
from ctxsim.transcript import Usage


class ApiUsage(msgspec.Struct):
    """Usage of a response; `input_tokens` is the whole prompt."""

    input_tokens: int
    output_tokens: int | None = None
    input_tokens_details: Details | None = None
    output_tokens_details: Details | None = None

    def whole(self) -> Usage:
        """The same in our words."""
        given, made = self.input_tokens_details or Details(), self.output_tokens_details or Details()
        return Usage(self.input_tokens, self.output_tokens, given.cached_tokens, None, made.reasoning_tokens)


class Document(msgspec.Struct):
    """A request (`input`), a response (`output`), both, or items kept by some client."""

    input: str | list[Any] | None = None
    items: list[Any] | None = None
    output: list[Any] | None = None
    instructions: str | list[Any] | None = None
    tools: list[Any] | None = None
    model: str | None = None
    usage: ApiUsage | None = None
    created_at: float | None = None


def add_request(exchanges: Exchanges, held: Document, where: str) -> None:
    """Add instructions, tools and the items of a request. Raises InputError for an item that doesn't fit."""
    assembly = exchanges.assembly
    assembly.tools += map(compact_json, held.tools or [])
    if held.instructions:
        assembly.system.append(text_and_media(held.instructions, 0)[0])
    exchanges.model = held.model or ""
    given = [{"role": "user", "content": held.input}] if isinstance(held.input, str) else held.input or []
    for number, item in enumerate([*given, *(held.items or [])]):
        exchanges.add(item, f"{where} item {number}")
