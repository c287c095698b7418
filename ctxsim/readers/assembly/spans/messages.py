"""A model's request and answer, from a span's attributes and events in each convention for them.

Documentation: https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/ (input and output messages),
https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-events/ (1.36 and before: an event per message),
https://arize-ai.github.io/openinference/spec/semantic_conventions.html,
https://github.com/traceloop/openllmetry (before 0.50: `gen_ai.prompt.0.content`)
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, takewhile
from typing import Any, NamedTuple

import msgspec

from ctxsim.readers.assembly import IMAGE_TOKENS, Part, call_part, content_parts, dollars, text_and_media, text_of
from ctxsim.readers.assembly.numbers import as_served, of_prompt
from ctxsim.readers.assembly.requests.bodies import looks_like_request, pair
from ctxsim.readers.assembly.requests.logged import Caught, Logged
from ctxsim.readers.assembly.spans.span import Attributes, Event, Span, finite, in_order, nested
from ctxsim.readers.source import compact_json, decoded, has
from ctxsim.readers.source.values import objects
from ctxsim.transcript import Kind, Media, Usage

_IMAGE = IMAGE_TOKENS["openai"]
_OLD = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "choice",
}
COUNTS: Mapping[str, tuple[str, ...]] = {
    "prompt": ("gen_ai.usage.input_tokens", "llm.token_count.prompt", "gen_ai.usage.prompt_tokens"),
    "completion": ("gen_ai.usage.output_tokens", "llm.token_count.completion", "gen_ai.usage.completion_tokens"),
    "read": ("gen_ai.usage.cache_read.input_tokens", "llm.token_count.prompt_details.cache_read",
             "gen_ai.usage.cache_read_input_tokens", "gen_ai.usage.details.cache_read_tokens",
             "gen_ai.usage.details.cache_read_input_tokens"),
    "written": ("gen_ai.usage.cache_creation.input_tokens", "llm.token_count.prompt_details.cache_write",
                "gen_ai.usage.cache_write.input_tokens",
                "gen_ai.usage.cache_creation_input_tokens", "gen_ai.usage.details.cache_write_tokens",
                "gen_ai.usage.details.cache_creation_input_tokens"),
    "reasoning": ("gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens",
                  "llm.token_count.completion_details.reasoning", "gen_ai.usage.details.reasoning_tokens"),
    # A name of our own: no convention has one for what was written for the longer lifetime, but products do.
    "long": ("llm.token_count.prompt_details.cache_write_1h",),
}  # fmt: skip
"""Attributes with counts of the prompt, the output, cache reads and writes, reasoning and long writes, by convention.

Pydantic AI has details of its own (https://ai.pydantic.dev/logfire/).
"""
_COSTS = ("llm.cost.total", "operation.cost", "gen_ai.usage.cost")
"""Attributes with the dollars of the request: OpenInference's, Pydantic AI's, and the one that Langfuse reads."""


_TIERS = ("openai.response.service_tier", "gen_ai.openai.response.service_tier")
"""Attributes with the tier that served the request (https://opentelemetry.io/docs/specs/semconv/gen-ai/openai/)."""


class Message(NamedTuple):
    """One message in any convention: its role, its parts, and the results in it."""

    role: str
    parts: tuple[Part, ...] = ()
    results: tuple[Part, ...] = ()


def _result(role: str, call_id: Any, text: str, media: tuple[Media, ...] = ()) -> Message:
    return Message(role, (), (Part("tool_result", text, call_id=str(call_id or ""), media=media),))


def _kind(role: str) -> Kind:
    return "assistant" if role in ("assistant", "model", "choice") else "user"


def exchange(span: Span, where: str) -> Logged | None:
    """Return the request and its answer in a span; None if the span holds no answer."""
    attributes = dict(span.attributes)
    for event in span.events:
        if event.name == "gen_ai.client.inference.operation.details":
            attributes |= event.attributes
    model = _text(attributes, "gen_ai.response.model", "llm.response.model_name", "llm.model_name",
                  "gen_ai.request.model")  # fmt: skip
    context = _text(span.attributes, "gen_ai.conversation.id", "session.id") or span.trace
    # OpenInference's copies of request and response are exact, whatever the limit of attributes.
    request, response = (decoded(attributes.get(f"{name}.value")) for name in ("input", "output"))
    bodies = isinstance(request, dict) and isinstance(response, dict) and looks_like_request(request)
    if logged := pair(where, request, response, span.start_s, model) if bodies else None:
        logged.usage = logged.usage or usage(attributes)
        logged.costing(dollars(_number(attributes, *_COSTS)))
        logged.context = context
        return logged
    sent, answered = _messages(attributes, span.events)
    if not any(message.parts for message in answered):
        return None
    made = Caught()
    for message in sent:
        _add(made, message)
    made.tools += _tools(attributes)
    # The answer is the model's, whatever role the convention gives it.
    reply = [part for message in answered for part in message.parts]
    by_model = (msgspec.structs.replace(part, kind="assistant") if part.kind == "user" else part for part in reply)
    return Logged(where, made, tuple(by_model), usage(attributes), span.start_s, model, context)


def _messages(attributes: Attributes, events: Sequence[Event]) -> tuple[list[Message], list[Message]]:
    sent, answered = (decoded(attributes.get(f"gen_ai.{side}.messages")) for side in ("input", "output"))
    if isinstance(answered, list):
        told = decoded(attributes.get("gen_ai.system_instructions"))
        system = [_of_parts({"role": "system", "parts": told})] if isinstance(told, list) else []
        of_openai = _text(attributes, "gen_ai.provider.name", "gen_ai.system") in ("openai", "azure.ai.openai")
        message = _calls_last if of_openai else _of_parts
        return [*system, *map(message, objects(sent))], [message(one) for one in objects(answered)[:1]]
    if found := nested(attributes, "llm.output_messages"):
        inputs = nested(attributes, "llm.input_messages")
        # The Responses API answers in several messages, which are one response.
        return [*_joined(map(_of_inference, inputs))], [_of_inference(one) for one in found]
    if found := nested(attributes, "gen_ai.completion"):
        # Anthropic's thinking stands before the answer, as completions of their own.
        thinking = list(takewhile(lambda one: one.get("role") == "thinking", found))
        thought = Message("assistant", tuple(Part("reasoning", str(one.get("content") or "")) for one in thinking))
        answer = map(_of_prompt, found[len(thinking) :][:1])
        return [_of_prompt(one) for one in nested(attributes, "gen_ai.prompt")], [thought, *answer]
    each = [_of_event(event) for event in events if event.name in _OLD]
    choices = [message for message in each if message.role == "choice"]
    return [message for message in each if message.role != "choice"], choices[:1]


def _calls_last(value: Mapping[str, Any]) -> Message:
    """Return a message of Chat Completions, which has calls beside its text, with the text first."""
    # opentelemetry-instrumentation-openai-v2 2.4 puts calls first unless the response is streamed.
    message = _of_parts(value)
    return message._replace(parts=tuple(sorted(message.parts, key=lambda part: part.kind == "tool_call")))


def _joined(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield messages with those of one response joined: the Responses API has several in a row."""
    for role, some in groupby(messages, key=lambda message: message.role):
        if role == "assistant":
            yield Message(role, tuple(part for message in some for part in message.parts))
        else:
            yield from some


def unreadable(attributes: Attributes) -> list[str]:
    """Return the names of attributes with JSON that is cut off."""
    names = ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.definitions")
    return [name for name in names if isinstance(attributes.get(name), str) and decoded(attributes[name]) is None]


def _call(call: Mapping[str, Any]) -> Part:
    """Return a call in the form of Chat Completions, or with its name and arguments beside its id."""
    function = call["function"] if has(call, function=dict) else call
    return call_part(function.get("name"), function.get("arguments"), call.get("id"))


def _of_parts(message: Mapping[str, Any]) -> Message:
    """Return a message of the conventions since 1.37: `parts`, each with a type."""
    role = str(message.get("role", ""))
    kind = _kind(role)
    parts: list[Part] = []
    results: list[Part] = []
    for part in objects(message.get("parts")):
        match part.get("type"):
            case "text":
                parts.append(Part(kind, text_of(part.get("content"))))
            case "reasoning" | "thinking":
                parts.append(Part("reasoning", text_of(part.get("content"))))
            case "tool_call":
                parts.append(_call(part))
            case "tool_call_response":
                said = part.get("result") if part.get("response") is None else part["response"]
                results += _result(role, part.get("id"), *text_and_media(said)).results
            case "blob" | "uri" | "file":
                parts.append(Part(kind, media=(Media(str(part.get("modality") or part["type"]), _IMAGE),)))
            case _:
                parts.append(Part(kind, compact_json(dict(part))))
    return Message(role, tuple(part for part in parts if part.text or part.tool or part.media), tuple(results))


def _of_inference(held: Mapping[str, Any]) -> Message:
    """Return a message of OpenInference: `message.content`, or `message.contents`, and `message.tool_calls`."""
    message = held["message"] if has(held, message=dict) else {}
    role = str(message.get("role", ""))
    kind = _kind(role)
    parts: list[Part] = []
    content = message.get("content")
    if content:
        parts.append(Part(kind, text_of(content)))
    for entry in in_order(message.get("contents")) if not content else ():
        block = entry.get("message_content") if isinstance(entry, dict) else None
        if not isinstance(block, dict) or block.get("type") == "tool_use":
            continue
        text = str(block.get("text") or "")
        if block.get("type") in ("reasoning", "thinking"):
            parts.append(Part("reasoning", text))
        elif "image" in block:
            parts.append(Part(kind, media=(Media("image", _IMAGE),)))
        elif text or block.keys() - {"type", "text"}:
            parts.append(Part(kind, text or compact_json(block)))
    parts += [_call(entry["tool_call"]) for entry in in_order(message.get("tool_calls")) if has(entry, tool_call=dict)]
    if role in ("tool", "function"):
        return _result(role, message.get("tool_call_id"), "\n".join(part.text for part in parts))
    return Message(role, tuple(parts))


def _of_prompt(message: Mapping[str, Any]) -> Message:
    """Return a message of Traceloop's attributes before it had `gen_ai.input.messages`."""
    role = str(message.get("role", ""))
    content = message.get("content")
    blocks = decoded(content) if isinstance(content, str) and content[:1] == "[" else None
    calls = [_call(call) for call in in_order(message.get("tool_calls")) if isinstance(call, dict)]
    by_model = role == "assistant" or "finish_reason" in message
    said = blocks if isinstance(blocks, list) else content
    return _said(role, "assistant" if by_model else "user", said, calls, message.get("tool_call_id"))


def _of_event(event: Event) -> Message:
    """Return a message from an event of the conventions up to 1.36; its content is in the body or in attributes."""
    held = event.body if isinstance(event.body, dict) else decoded(event.attributes.get("gen_ai.event.content"))
    held = held if isinstance(held, dict) else dict(event.attributes)
    message = decoded(held.get("message"))
    inner = message if isinstance(message, dict) else held
    role = _OLD[event.name]
    calls = map(_call, objects(decoded(inner.get("tool_calls"))))
    return _said(role, _kind(role), inner.get("content"), calls, inner.get("id"))


def _said(role: str, kind: Kind, content: Any, calls: Iterable[Part], call_id: Any) -> Message:
    """Return a message of one content and the calls beside it, or the result of a call."""
    if role in ("tool", "function"):
        return _result(role, call_id, *text_and_media(content))
    return Message(role, (*content_parts(kind, content), *calls))


def _add(made: Caught, message: Message) -> None:
    if message.role in ("system", "developer") and not made.said:
        made.system += [part.text for part in message.parts]
        return
    for result in message.results:
        made.give(result)
    if message.role in ("assistant", "model"):
        made.response(message.parts)
    elif message.parts:
        made.user(*message.parts)


def _tools(attributes: Attributes) -> list[str]:
    found: Iterable[Any] = (tool.get("tool", {}).get("json_schema") for tool in nested(attributes, "llm.tools"))
    defined = objects(decoded(attributes.get("gen_ai.tool.definitions")))
    tools = defined or [decoded(tool) or tool for tool in found if tool] or nested(attributes, "llm.request.functions")
    return [compact_json(tool) for tool in tools]


def _text(attributes: Attributes, *names: str) -> str:
    return next((value for name in names if isinstance(value := attributes.get(name), str) and value), "")


def _number(attributes: Attributes, *names: str) -> int | float | None:
    return next((number for name in names if (number := finite(attributes.get(name))) is not None), None)


def usage(attributes: Attributes) -> Usage | None:
    """Return a span's usage; its prompt is whole, even if the span counts cached tokens separately."""
    found = (_number(attributes, *names) for names in COUNTS.values())
    prompt, made, read, written, reasoning, long = (None if count is None else int(count) for count in found)
    if prompt is None:
        return None
    # Instrumentations of Anthropic's SDK pass on its `input_tokens`, which exclude cached tokens.
    whole = of_prompt(prompt, made, read, written, reasoning, _number(attributes, *_COSTS))
    whole = msgspec.structs.replace(whole, cache_write_long_tokens=long)
    return as_served(whole, *(attributes.get(name) for name in _TIERS))
