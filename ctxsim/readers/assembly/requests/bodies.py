"""Bodies of four APIs: the head and messages of a request, and the answer in a response.

Documentation: https://platform.openai.com/docs/api-reference/chat,
https://platform.openai.com/docs/api-reference/responses, https://docs.anthropic.com/en/api/messages,
https://ai.google.dev/api/generate-content
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal, NamedTuple

import msgspec

from ctxsim.readers.assembly import Part, text_of
from ctxsim.readers.assembly.anthropic_content import BilledUsage, Inside, Served, add_messages
from ctxsim.readers.assembly.anthropic_content import response_parts as anthropic_parts
from ctxsim.readers.assembly.chat_messages import ChatResponse, Message, add_message
from ctxsim.readers.assembly.gemini import GeminiUsage, add_contents, add_head, api_parts, camel
from ctxsim.readers.assembly.gemini import response_parts as gemini_parts
from ctxsim.readers.assembly.numbers import as_served
from ctxsim.readers.assembly.requests.logged import Caught, Logged
from ctxsim.readers.assembly.responses import UNSIZED, Document, Exchanges, add_request, add_response
from ctxsim.readers.source import compact_json, convert, convert_all, has, under
from ctxsim.transcript import Usage

Api = Literal["chat", "responses", "messages", "gemini"]

HOLDS: Mapping[Api, str] = {"chat": "choices", "messages": "content", "responses": "output", "gemini": "candidates"}
"""By API, the field of a response that is the list of answers."""


class Answer(NamedTuple):
    """A response's parts, the provider's usage, the model that answered, the time in epoch seconds, and the requests
    that the server made for it.
    """

    parts: tuple[Part, ...]
    usage: Usage | None
    model: str
    time_s: float | None = None
    inside: tuple[Inside, ...] = ()


class _Messages(msgspec.Struct):
    messages: list[Any]
    system: Any = None
    tools: list[Any] | None = None


class _AnthropicResponse(msgspec.Struct):
    content: list[Any]
    usage: BilledUsage | None = None
    model: str | None = None


class _GeminiResponse(msgspec.Struct, rename="camel"):
    candidates: list[Any]
    usage_metadata: GeminiUsage | None = None
    model_version: str | None = None


def api_of(response: Mapping[str, Any]) -> Api | None:
    """Return the API of a response, recognised by its fields; None if the response holds no answer."""
    return next((api for api, field in HOLDS.items() if isinstance(response.get(field), list)), None)


def looks_like_request(body: Mapping[str, Any]) -> bool:
    """Return whether a body is a request of one of the APIs."""
    return any(isinstance(body.get(field), list) for field in ("messages", "contents")) or (
        isinstance(body.get("input"), str | list) and "model" in body
    )


def ids(request: Mapping[str, Any], response: Mapping[str, Any]) -> tuple[str, str]:
    """Return a response's id, and that of the response whose history the provider puts before the request; or ''."""
    return str(response.get("id") or ""), str(request.get("previous_response_id") or "")


def caught(api: Api, body: dict[str, Any], where: str) -> Caught:
    """Return the head and the messages of a request. Raises InputError if it doesn't fit."""
    made = Caught()
    if api == "gemini":
        add_head(made, body, where)
        contents = body.get("contents")
        add_contents(made, contents if isinstance(contents, list) else [contents] if contents else [], where)
    elif api == "responses":
        exchanges = Exchanges(made)
        add_request(exchanges, convert(body, Document, f"{where} request"), where)
        exchanges.close()
        # The response of an earlier request states the size.
        del made.counts[UNSIZED]
    else:
        sent = convert(body, _Messages, f"{where} request")
        made.tools += map(compact_json, sent.tools or [])
        if api == "messages":
            made.system += [text_of(sent.system)] if sent.system else []
            add_messages(made, sent.messages, where)
        for message in convert_all(sent.messages if api == "chat" else [], Message, f"{where} message"):
            add_message(made, message)
    return made


def answer(api: Api, response: dict[str, Any], where: str) -> Answer:
    """Return the answer in a response of that API. Raises InputError if it doesn't fit."""
    match api:
        case "chat":
            chat = convert(response, ChatResponse, where)
            return Answer(tuple(chat.parts()), chat.whole_usage(), chat.model or "", chat.created)
        case "messages":
            message = convert(response, _AnthropicResponse, where)
            usage, inside = message.usage.asked(message.model or "") if message.usage else (None, [])
            parts = tuple(anthropic_parts(message.content, where))
            return Answer(parts, usage, message.model or "", None, tuple(inside))
        case "responses":
            held, made = convert(response, Document, where), Caught()
            exchanges = Exchanges(made)
            add_response(exchanges, held, where)
            exchanges.close()
            made_parts = tuple(part for said in made.said if said.response for part in said.parts)
            return Answer(made_parts, held.whole_usage(), held.model or "", held.created_at)
        case "gemini":
            body = camel(response)
            if has(body, usageMetadata=dict):
                body["usageMetadata"] = camel(body["usageMetadata"])
            found = convert(body, _GeminiResponse, where)
            held_parts = under(found.candidates[0], "content", "parts") if found.candidates else None
            parts = tuple(gemini_parts(api_parts(held_parts, where)))
            counted = found.usage_metadata.whole() if found.usage_metadata else None
            return Answer(parts, counted, found.model_version or "")


def served_by(usage: Usage, response: Any) -> Usage:
    """Return usage that a client counted, with what the fields of the response that it kept say of how the request was
    served: OpenAI's beside the usage, Anthropic's in it.
    """
    with suppress(msgspec.ValidationError):
        usage = msgspec.convert(under(response, "usage") or {}, Served).as_served(usage)
    return as_served(usage, under(response, "service_tier"))


def pair(
    where: str, request: dict[str, Any], response: dict[str, Any], time_s: float | None = None, model: str = ""
) -> Logged | None:
    """Return a request and its response, read by the API of the response; None if that holds no answer.

    Without the time of the request, it has that of the response. `model`: the one that answered, if that doesn't
    say it. Raises InputError if one of them doesn't fit.
    """
    if (api := api_of(response)) is None:
        return None
    said = answer(api, response, f"{where} response")
    # Behind a proxy, the model that answered may differ from the requested one.
    model = said.model or model or str(request.get("model") or "")
    own, before = ids(request, response)
    sent, told_s = caught(api, request, where), time_s or said.time_s
    return Logged(where, sent, said.parts, said.usage, told_s, model, id=own, after=before, inside=said.inside)
