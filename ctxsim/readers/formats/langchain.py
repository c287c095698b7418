"""LangChain messages as its own tools write them down, alone or inside the LLM runs that LangSmith exports.

Documentation: https://python.langchain.com/docs/concepts/messages/ (`messages_to_dict`, `dumpd`, `model_dump`),
https://docs.smith.langchain.com/reference/data_formats/run_data_format

    [{"type": "human", "data": {"content": "Any mail?"}},
     {"type": "ai", "data": {"content": "", "tool_calls": [{"name": "search", "args": {"q": "mail"}, "id": "c1"}],
       "usage_metadata": {"input_tokens": 90, "output_tokens": 12, "total_tokens": 102}}},
     {"type": "tool", "data": {"content": "2 messages", "tool_call_id": "c1"}}]

    [{"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "HumanMessage"],
      "kwargs": {"content": "Any mail?"}}]
"""

from collections import Counter as Frequencies
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain, pairwise
from typing import Any

import msgspec
from msgspec import field

from ctxsim.readers.assembly import Assembly, Part, chat_messages, content_parts, left_out
from ctxsim.readers.assembly.conversations import message_list
from ctxsim.readers.assembly.numbers import dollars
from ctxsim.readers.assembly.requests.bodies import looks_like_request, pair, served_by
from ctxsim.readers.assembly.requests.logged import Caught, Logged, transcripts
from ctxsim.readers.assembly.spans.span import finite
from ctxsim.readers.source import Record, Sample, Source, compact_json, convert, has, time_s, under
from ctxsim.transcript import Transcript, Usage

NAME = "langchain"
TITLE = "LangChain messages and LangSmith runs"
MARKS = ("lc", "run_type", "additional_kwargs")
VERSIONS = "langchain-core 0.1 to 1.x"
READS = "Message lists in all three dumped forms with their usage_metadata; of LangSmith runs those of type llm."
NOT_READ = "Chain, tool and retriever runs, which repeat what the llm runs hold; checkpoints of LangGraph."

_KINDS = ("Human", "AI", "System", "Tool", "Function", "Chat", "Remove")
_CLASSES = {f"{kind}Message": kind.lower() for kind in _KINDS}
_USAGE = "usage_metadata"
_GIVEN = f"{_USAGE}.input_token_details"


class _Message(msgspec.Struct):
    content: str | list[Any] = ""
    role: str = ""
    name: str | None = None
    tool_calls: list[chat_messages.ToolCall] | None = None
    # Those whose arguments LangChain couldn't parse are a string.
    invalid_tool_calls: list[chat_messages.ToolCall] | None = None
    tool_call_id: str | None = None
    input_tokens: int | None = field(default=None, name=f"{_USAGE}.input_tokens")
    output_tokens: int | None = field(default=None, name=f"{_USAGE}.output_tokens")
    read: int | None = field(default=None, name=f"{_GIVEN}.cache_read")
    written: int | None = field(default=None, name=f"{_GIVEN}.cache_creation")
    written_5m: int | None = field(default=None, name=f"{_GIVEN}.ephemeral_5m_input_tokens")
    written_1h: int | None = field(default=None, name=f"{_GIVEN}.ephemeral_1h_input_tokens")
    reasoning: int | None = field(default=None, name=f"{_USAGE}.output_token_details.reasoning")
    response_metadata: dict[str, Any] | None = None
    additional_kwargs: dict[str, Any] | None = None

    @property
    def model(self) -> str:
        metadata = self.response_metadata or {}
        return str(metadata.get("model_name") or metadata.get("model") or "")

    @property
    def usage(self) -> Usage | None:
        """The recorded usage, or None; `input_tokens` is the whole prompt. LangChain's lacks what OpenRouter states."""
        metadata = self.response_metadata or {}
        stated = Usage(0)
        with suppress(msgspec.ValidationError):
            stated = msgspec.convert(metadata.get("token_usage") or {}, chat_messages.ChatUsage).whole() or stated
        cost = dollars(metadata.get("cost")) or stated.cost_usd
        if not self.input_tokens:
            # langchain-core had no usage of its own before 0.2.
            return served_by(stated.costing(cost), metadata) if stated.input_tokens else None
        # LangChain leaves written tokens out of `cache_creation` if it states them by lifetime.
        lived = (self.written_5m or 0) + (self.written_1h or 0)
        written = self.written or lived or stated.cache_write_tokens or self.written
        counts = (self.input_tokens, self.output_tokens, self.read, written, self.reasoning)
        return served_by(Usage(*counts, cost, self.written_1h), metadata)


class _Run(msgspec.Struct):
    run_type: str
    id: str = ""
    trace_id: str | None = None
    inputs: Any = None
    outputs: Any = None
    start_time: Any = None
    extra: Any = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    # Dollars, often as text.
    total_cost: Any = None
    child_runs: list[Any] | None = None
    error: str | None = None


def matches(sample: Sample) -> bool:
    """A list of LangChain messages, an object that holds one under `messages`, or LangSmith runs."""
    return bool(sample.records) and (_alike(sample.records) or all(map(_alike, map(message_list, sample.records))))


def _alike(values: list[Any]) -> bool:
    return bool(values) and (all(map(_is_message, values)) or all(map(_is_run, values)))


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return one transcript per message list, and for LangSmith runs one per conversation of each trace."""
    notes: list[str] = []
    records = sample.all(notes)
    if _is_message(sample.first) or _is_run(sample.first):
        yield from _transcripts(source.name, source.name, [record.value for record in records], notes)
        return
    for record, earlier in _last_states(records):
        name = source.name if sample.document is not None else f"{source.name}#{record.line}"
        states = [f"{earlier} earlier state(s) of this conversation left out"] if earlier else []
        yield from _transcripts(name, record.where, message_list(record.value), [*notes, *states])
        notes = []


def _last_states(records: Iterable[Record]) -> Iterator[tuple[Record, int]]:
    """Yield the last of successive states of a conversation, each of which begins with the messages of the one before,
    and the number of those before it. States with messages without ids are kept: they may be alike by chance.
    """
    earlier = 0
    for record, following in pairwise(chain(records, [Record(0, None, "")])):
        begun = message_list(record.value)
        named = bool(begun) and all(under(_kind_and_fields(one)[1], "id") for one in begun)
        if named and message_list(following.value)[: len(begun)] == begun:
            earlier += 1
        else:
            yield record, earlier
            earlier = 0


def _transcripts(name: str, where: str, values: list[Any], notes: list[str]) -> Iterator[Transcript]:
    if any(_is_run(value) for value in values):
        yield from _runs(name, where, values, notes)
        return
    assembly = Assembly(name, NAME)
    assembly.notes += notes
    _add_messages(assembly, values, where)
    yield assembly.finished()


def _runs(name: str, where: str, values: list[Any], notes: list[str]) -> Iterator[Transcript]:
    """Yield the conversations of each trace, their requests in order of time; other runs are counted."""
    skipped: Frequencies[str] = Frequencies()
    traces: dict[str, list[Logged]] = {}
    met: set[tuple[str, str]] = set()
    for place, trace, run in _flat(values, where, None):
        if (trace, run.id) in met:
            skipped["repeated run"] += 1
        elif run.run_type != "llm":
            skipped[f"{run.run_type} run"] += 1
        elif logged := _logged(run, place, skipped):
            traces.setdefault(trace, []).append(logged)
            # One that was exported while it ran may be there again, complete.
            met |= {(trace, run.id)} - {(trace, "")}
    notes = [*notes, *left_out(skipped)]
    for number, (trace, requests) in enumerate((traces or {"": []}).items()):
        own = name if len(traces) < 2 else f"{name}#{trace}"
        requests.sort(key=lambda logged: logged.time_s or 0)
        yield from transcripts(requests, own, NAME, notes if number == 0 else (), one_run=True)


def _kind_and_fields(value: Any) -> tuple[str, Any]:
    """Return the kind of a message and the object with its fields; '' for JSON that is no message."""
    if not isinstance(value, dict):
        return "", None
    identity = value.get("id")
    if value.get("lc") and isinstance(identity, list) and identity and isinstance(value.get("kwargs"), dict):
        return _CLASSES.get(str(identity[-1]).removesuffix("Chunk"), ""), value["kwargs"]
    kind = str(value.get("type"))
    # Messages put together from a stream have their class's name as type.
    kind = _CLASSES.get(kind.removesuffix("Chunk"), kind)
    if kind not in _CLASSES.values():
        return "", None
    if has(value, data=dict) and "content" in value["data"]:
        return kind, value["data"]
    # `model_dump` has the fields beside the kind; these two stand in messages of every kind.
    return (kind, value) if "content" in value and "additional_kwargs" in value else ("", None)


def _is_message(value: Any) -> bool:
    return _kind_and_fields(value)[0] != ""


def _add_messages(assembly: Assembly, values: list[Any], where: str) -> None:
    """Add messages to a transcript; every message of the model is a call. Other values are left out, and counted."""
    for number, value in enumerate(values):
        kind, fields = _kind_and_fields(value)
        if kind in ("", "remove"):
            assembly.left_out["mark that removes a message" if kind else "entry that is no message"] += 1
            continue
        message = convert(fields, _Message, f"{where} message {number}")
        kind = message.role if kind == "chat" else kind
        if kind in ("ai", "assistant"):
            assembly.response(_response_parts(message), message.usage, model=message.model)
        else:
            assembly.message(kind, message.content, message.tool_call_id or "", message.name or "")


def _response_parts(message: _Message) -> Iterator[Part]:
    extra = message.additional_kwargs or {}
    reasoning = extra.get("reasoning_content")
    if isinstance(reasoning, str) and reasoning:
        yield Part("reasoning", reasoning)
    blocks = message.content if isinstance(message.content, list) else [message.content] if message.content else []
    for block in blocks:
        fields: dict[str, Any] = block if isinstance(block, dict) else {}
        kind = fields.get("type", "text")
        if kind in ("thinking", "reasoning", "redacted_thinking"):
            # A block without text holds encrypted reasoning.
            text = next((fields[key] for key in ("thinking", "reasoning") if isinstance(fields.get(key), str)), "")
            yield Part("reasoning", text)
        elif kind not in chat_messages.CALL_BLOCKS or not (message.tool_calls or message.invalid_tool_calls):
            yield from content_parts("assistant", [block])
    written = chat_messages.written_arguments(extra.get("tool_calls"))
    for call in [*(message.tool_calls or []), *(message.invalid_tool_calls or [])]:
        arguments = written.get(call.id or "") or compact_json(call.args)
        yield Part("tool_call", arguments, call.name or "", call.id or "")


def _is_run(value: Any) -> bool:
    return has(value, run_type=str, inputs=object)


def _flat(values: list[Any], where: str, trace: str | None) -> Iterator[tuple[str, str, _Run]]:
    for number, value in enumerate(values):
        place = f"{where} run {number}"
        run = convert(value, _Run, place)
        own = trace or run.trace_id or run.id
        yield place, own, run
        yield from _flat(run.child_runs or [], place, own)


def _logged(run: _Run, where: str, skipped: Frequencies[str]) -> Logged | None:
    messages = _message_lists(run.inputs)
    reply = _reply(run.outputs)
    # LangSmith's wrappers of clients record the API's bodies, with LangChain's usage; Anthropic's under `message`.
    body = under(run.outputs, "message") or run.outputs
    bodies = isinstance(body, dict) and isinstance(run.inputs, dict) and looks_like_request(run.inputs)
    logged = pair(where, run.inputs, body) if bodies and not run.error else None
    if run.error or not (logged or (messages and reply)):
        skipped["llm run that failed" if run.error else "llm run without messages"] += 1
        return None
    message = convert(body if logged else _kind_and_fields(reply)[1], _Message, f"{where} output")
    if logged is None:
        logged = Logged(where, Caught(), tuple(_response_parts(message)), model=message.model)
        _add_messages(logged.request, messages, where)
        tools = under(run.extra, "invocation_params", "tools")
        logged.request.tools += map(compact_json, tools if isinstance(tools, list) else [])
    if message.usage and not logged.inside:
        of_body = logged.usage or message.usage
        served = {"served": of_body.served, "web_searches": of_body.web_searches}
        logged.usage = msgspec.structs.replace(message.usage, **served)
    if logged.usage is None and run.prompt_tokens:
        logged.usage = Usage(run.prompt_tokens, run.completion_tokens)
    logged.costing(dollars(finite(run.total_cost)))
    # The time is when the request was sent.
    logged.time_s = time_s(run.start_time)
    return logged


def _message_lists(inputs: Any) -> list[Any]:
    """Return the messages of a request. Chat models take a batch of message lists, in practice of one."""
    messages = under(inputs, "messages")
    while isinstance(messages, list) and messages and isinstance(messages[0], list):
        messages = messages[0]
    return messages if isinstance(messages, list) else []


def _reply(outputs: Any) -> Any:
    found = under(outputs, "generations")
    while isinstance(found, list) and found:
        found = found[0]
    message = under(found, "message")
    return message if _is_message(message) else None
