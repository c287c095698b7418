"""tau2-bench results: simulated dialogues between an agent and a simulated user, both of which call tools.

Documentation: https://github.com/sierra-research/tau2-bench

    {"info": {"environment_info": {"policy": "# Policy", "tool_defs": null}, "agent_info": {"llm": "m"}},
     "tasks": [], "simulations": [{"id": "s", "task_id": "7", "trial": 0, "messages": [
      {"role": "assistant", "content": "Hi! How can I help you today?", "usage": null},
      {"role": "user", "content": "Where is my parcel?", "usage": {"prompt_tokens": 40, "completion_tokens": 6}},
      {"role": "assistant", "content": null, "usage": {"prompt_tokens": 900, "completion_tokens": 12},
       "tool_calls": [{"id": "c1", "name": "find_parcel", "arguments": {}, "requestor": "assistant"}]},
      {"role": "tool", "id": "c1", "content": "on its way", "requestor": "assistant"}]}]}
"""

from __future__ import annotations

from collections import Counter as Frequencies
from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from ctxsim.readers.assembly import Assembly, Part, left_out
from ctxsim.readers.assembly.blocks import IMAGE_TOKENS, text_and_media
from ctxsim.readers.assembly.costs import dollars
from ctxsim.readers.source import Sample, Source, compact_json, convert, time_s
from ctxsim.transcript import Transcript, Usage

NAME = "tau2-bench"
TITLE = "tau2-bench results"
DOCS = "https://github.com/sierra-research/tau2-bench"
MARKS = ("simulations",)
VERSIONS = "results of 2025 and 2026"
READS = "The agent's side of every simulation, with the provider's usage; the policy as system prompt."
NOT_READ = "The simulated user's own tools and usage, rewards, and the template that the agent puts around the policy."


class ToolCall(msgspec.Struct):
    """A call by the agent or by the simulated user."""

    name: str
    arguments: Any = None
    id: str = ""
    requestor: str = "assistant"


class Tokens(msgspec.Struct):
    """Usage as the provider reported it for one message."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class Message(msgspec.Struct):
    """One message; a tool message has the call's id as its own `id`."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str | list[Any] | None = None
    tool_calls: list[ToolCall] | None = None
    id: str | None = None
    requestor: str = "assistant"
    usage: Tokens | None = None
    timestamp: Any = None
    reasoning: Any = None
    errors: list[Any] | None = None
    raw_data: Any = None
    cost: Any = None


class Environment(msgspec.Struct):
    """The domain's policy, and its tools where they were written down."""

    policy: str | None = None
    tool_defs: Any = None


class Agent(msgspec.Struct):
    """Which model the agent ran on."""

    llm: str | None = None


class Info(msgspec.Struct):
    """What all simulations of a file share."""

    environment_info: Environment | None = None
    agent_info: Agent | None = None


class Simulation(msgspec.Struct):
    """One dialogue."""

    messages: list[Any]
    task_id: int | str = ""
    trial: int | None = None
    agent_cost: Any = None


def matches(sample: Sample) -> bool:
    """An object with `simulations`, `tasks` and `info`."""
    document = sample.document
    return (
        isinstance(document, dict)
        and isinstance(document.get("simulations"), list)
        and isinstance(document.get("info"), dict)
        and "tasks" in document
    )


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return one transcript per simulation, named by task and trial."""
    info = convert(sample.document["info"], Info, f"{source.name} info")
    seen: Frequencies[str] = Frequencies()
    for number, value in enumerate(sample.document["simulations"]):
        where = f"{source.name} simulation {number}"
        simulation = convert(value, Simulation, where)
        label = f"{simulation.task_id}" if simulation.trial is None else f"{simulation.task_id}-{simulation.trial}"
        seen[label] += 1
        label = label if seen[label] == 1 else f"{label}-{seen[label]}"
        yield _one(f"{source.name}#{label}", where, simulation, info)


def _one(name: str, where: str, simulation: Simulation, info: Info) -> Transcript:
    assembly = Assembly(name, NAME)
    _add_head(assembly, info)
    model = (info.agent_info and info.agent_info.llm) or ""
    users: Frequencies[str] = Frequencies()
    retried = 0
    greeting: list[Part] = []
    for number, value in enumerate(simulation.messages):
        message = convert(value, Message, f"{where} message {number}")
        text, media = text_and_media(message.content, IMAGE_TOKENS["openai"])
        match message.role:
            case "assistant" if number == 0 and message.usage is None and not message.tool_calls:
                # The harness opens with a fixed sentence. Counting it as a call would bill a request that never was.
                greeting = [Part("user", text)]
                assembly.notes.append("the greeting was not generated by the model: it stands before the user's text")
            case "assistant":
                assembly.user(*greeting)
                greeting = []
                # The request of a second try also held the invalid first response, which no later request does.
                retried += bool(message.errors)
                # The time is when the response was there, not when the request was sent.
                time = time_s(message.timestamp)
                assembly.response(_parts(message, text), _usage(message), time, model, comparable=not message.errors)
            case "tool" if message.requestor == "user":
                users["result of the simulated user"] += 1
            case "tool":
                assembly.result(text, message.id or "", media=media)
            case "user":
                users["tool call of the simulated user"] += len(message.tool_calls or [])
                if text or media:
                    assembly.user(*greeting, Part("user", text, media=media))
                    greeting = []
            case "system":
                assembly.notes.append("a system message inside the dialogue is kept as user text")
                assembly.user(text)
    assembly.notes += left_out(+users)
    if retried:
        assembly.notes.append(f"{retried} response(s) were asked for again after an invalid one, which is left out")
    if not assembly.calls:
        assembly.user(*greeting)
        assembly.notes.append("no response of the model in this simulation")
    made = assembly.transcript()
    priced = any(call.usage and call.usage.cost_usd for call in made.calls)
    return made if priced else msgspec.structs.replace(made, cost_usd=dollars(simulation.agent_cost))


def _add_head(assembly: Assembly, info: Info) -> None:
    environment = info.environment_info or Environment()
    if environment.policy:
        assembly.system.append(environment.policy)
    tools = environment.tool_defs if isinstance(environment.tool_defs, list) else []
    assembly.tools += [compact_json(tool) for tool in tools]
    assembly.head_recorded = bool(environment.policy)
    if environment.policy and not tools:
        assembly.notes.append("head: the policy alone; the agent's template and the tool definitions are not recorded")


def _usage(message: Message) -> Usage | None:
    usage = message.usage
    if usage is None or usage.prompt_tokens is None:
        return None
    return Usage(usage.prompt_tokens, usage.completion_tokens).costing(dollars(message.cost))


def _parts(message: Message, text: str) -> list[Part]:
    raw = _raw_arguments(message.raw_data)
    parts = [Part("reasoning", message.reasoning)] if isinstance(message.reasoning, str) and message.reasoning else []
    if text:
        parts.append(Part("assistant", text))
    for call in message.tool_calls or []:
        written = raw.get((call.id, call.name))
        parts.append(Part("tool_call", written or compact_json(call.arguments), call.name, call.id))
    return parts


def _raw_arguments(raw_data: Any) -> dict[tuple[str, str], str]:
    """Return the arguments as the model wrote them, by id and name: spaces are tokens too."""
    try:
        choice = msgspec.convert(raw_data, _RawChoice, strict=False)
    except msgspec.ValidationError:
        # A copy for debugging that no transcript depends on: `tool_calls` has the same, decoded.
        return {}
    return {
        (call.id, call.function.name): call.function.arguments
        for call in choice.message.tool_calls or []
        if call.function
    }


class _RawFunction(msgspec.Struct):
    name: str
    arguments: str


class _RawCall(msgspec.Struct):
    function: _RawFunction
    id: str = ""


class _RawMessage(msgspec.Struct):
    tool_calls: list[_RawCall] | None = None


class _RawChoice(msgspec.Struct):
    message: _RawMessage
