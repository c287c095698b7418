"""Pydantic AI: the compaction capabilities of pydantic-ai-harness. Tried with 0.62.0 and pydantic-ai 2.62.

Driven through `before_model_request`, whose result is the run's messages from then on. The system prompt is a part of
the first request, as an agent's `system_prompt` is.
"""

from collections.abc import Sequence
from typing import Any

from ctxsim.policies.foreign.conversation import Message, call_of, calls_in
from ctxsim.policies.foreign.framework import Framework, Scribe, finished
from ctxsim.policies.foreign.shortener import Answer, Context, Session
from ctxsim.policies.frameworks.pydantic_ai.policy import Requests


def _places(message: Message) -> tuple[int, int]:
    """A message's first and last place for `Requests`: -1 for the system prompt, -9 for responses and made messages."""
    if message["role"] == "system":
        return -1, -1
    place = int(message["id"][1:]) if message["role"] != "assistant" and not message.get("made") else -9
    return place, place


def there(messages: Sequence[Message], requests: Requests, names: dict[int, str]) -> list[Any]:
    """Return the messages as Pydantic AI's. `names` gets the message id of each user or system part, by object id."""
    from pydantic_ai import messages as theirs

    found: list[Any] = []
    for group in requests.grouped([(message["role"], *_places(message)) for message in messages]):
        parts: list[Any] = []
        for message in (messages[n] for n in group):
            if message["role"] == "assistant":
                if message["content"]:
                    parts.append(theirs.TextPart(content=message["content"]))
                for call, name, args in calls_in(message):
                    parts.append(theirs.ToolCallPart(tool_name=name, args=args, tool_call_id=call))
            elif message["role"] == "tool":
                name, content = message["name"], message["content"]
                parts.append(theirs.ToolReturnPart(name, content=content, tool_call_id=message["tool_call_id"]))
            else:
                kind = theirs.SystemPromptPart if message["role"] == "system" else theirs.UserPromptPart
                parts.append(kind(content=message["content"]))
                names[id(parts[-1])] = message["id"]
        response = messages[group[0]]["role"] == "assistant"
        found.append(theirs.ModelResponse(parts=parts) if response else theirs.ModelRequest(parts=parts))
    return found


def back(messages: Sequence[Any], names: dict[int, str]) -> list[Message]:
    """Return Pydantic AI's messages in OpenAI's form."""
    found: list[Message] = []
    for one in messages:
        if one.kind == "response":
            text = "".join(part.content for part in one.parts if part.part_kind == "text")
            message: Message = {"role": "assistant", "content": text}
            calls = [part for part in one.parts if part.part_kind == "tool-call"]
            if calls:
                message["tool_calls"] = [call_of(call.tool_call_id, call.tool_name, call.args) for call in calls]
            found.append(message)
            continue
        for part in one.parts:
            if part.part_kind == "tool-return":
                found.append({"role": "tool", "tool_call_id": part.tool_call_id, "content": part.content})
            else:
                role = "system" if part.part_kind == "system-prompt" else "user"
                known = {"id": names[id(part)]} if id(part) in names else {}
                found.append({"role": role, "content": part.content, **known})
    return found


def session(cls: Any, given: dict[str, Any], scribe: Scribe) -> Session:
    """Return a session that runs a capability for one transcript."""
    from pydantic_ai import RunContext
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.usage import RequestUsage, RunUsage

    def answer(messages: Any, info: Any) -> Any:
        return ModelResponse(parts=[TextPart(content=scribe.ask("\n".join(map(str, messages))))])

    model = FunctionModel(answer)
    if "model" in cls.__init__.__code__.co_varnames:
        given = given | {"model": model}
    capability = cls(**given)
    requests = Requests()

    def compacted(messages: list[Message], context: Context) -> Answer:
        names: dict[int, str] = {}
        theirs = there(messages, requests, names)
        used, answered = context.usage, [one for one in theirs if one.kind == "response"]
        if used and used.input_tokens and answered:
            answered[-1].usage = RequestUsage(input_tokens=used.input_tokens, output_tokens=used.output_tokens or 0)
        run: Any = RunContext(deps=None, model=model, usage=RunUsage(), messages=theirs)
        request = ModelRequestContext(
            model=model, messages=theirs, model_settings=None, model_request_parameters=ModelRequestParameters()
        )
        left = finished(capability.before_model_request(run, request)).messages
        return scribe.written(back(left, names))

    return Session(compacted)


FRAMEWORK = Framework(
    "pydantic-ai", "pydantic-ai-harness", ("pydantic_ai_harness.compaction",), session, lambda cls: True,
    frozenset({"model", "tokenizer", "id", "description", "defer_loading"}),
)  # fmt: skip
