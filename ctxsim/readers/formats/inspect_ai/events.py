"""Events of an Inspect sample: its model calls in order, each with the agent that made it."""

from collections import Counter as Frequencies
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import field

from ctxsim.readers.formats.inspect_ai.messages import Message, ModelUsage, with_attachments
from ctxsim.readers.source import compact_json, convert, convert_all, has, under

# What is no part of a conversation: a log has thousands of these.
_OTHERS = (
    *("anchor", "approval", "branch", "checkpoint", "error", "info", "input", "interrupt", "logger", "review"),
    *("sample_init", "sample_limit", "sandbox", "score", "score_edit", "sentinel", "span_end", "state", "store"),
)


class _Choice(msgspec.Struct):
    message: Message


class Compaction(msgspec.Struct):
    """That the history was compacted."""

    type: str = "summary"
    tokens_before: int | None = None


class RawModelEvent(msgspec.Struct):
    """A model event as it is stored; `input_refs` are ranges of the sample's pool of messages."""

    model: str
    input: list[Any] | None = None
    input_refs: list[tuple[int, int]] | None = None
    tools: list[Any] | None = None
    choices: list[Any] | None = field(default=None, name="output.choices")
    usage: ModelUsage | None = field(default=None, name="output.usage")
    served_by: str = field(default="", name="output.model")
    # As the provider's library was given them.
    sent_tools: Any = field(default=None, name="call.request.tools")
    timestamp: Any = None
    error: Any = None
    pending: bool | None = None
    cache: str | None = None


class ModelEvent(msgspec.Struct):
    """A request with its response. `compaction` is the one recorded since the last request in the same context."""

    stored: RawModelEvent
    messages: list[Message]
    reply: Message
    tools: list[str]
    context: str
    agent: str
    compaction: Compaction | None


class Span(msgspec.Struct):
    """What an event lies in."""

    id: str
    name: str = ""
    type: str | None = None
    parent_id: str | None = None


class Walk:
    """Goes through the events of a sample, and the nested ones of older logs, and keeps its model calls."""

    def __init__(self, pool: Sequence[Any], attachments: Mapping[str, str], where: str) -> None:
        self.calls: list[ModelEvent] = []
        self.left_out: Frequencies[str] = Frequencies()
        self._attachments = attachments
        self._where = where
        self._pool = convert_all(with_attachments(list(pool), attachments), Message, f"{where} pooled message")
        self._spans: dict[str, Span] = {}
        self._compactions: dict[str, Compaction] = {}
        self._nested = 0

    def events(self, values: Sequence[Any], context: str = "", agent: str = "", path: str = "") -> None:
        """Read a list of events, made in that context by that agent."""
        steps: list[str] = []
        for number, value in enumerate(convert(values, list[Any], f"{self._where} events {path}")):
            where = f"{self._where} event {path}{number}"
            kind = under(value, "event")
            match kind:
                case "span_begin":
                    span = convert(value, Span, where)
                    self._spans[span.id] = span
                case "step" if value.get("action") == "begin":
                    steps.append(str(value.get("type")))
                case "step":
                    del steps[-1:]
                case "model" | "compaction":
                    inner = self._agent(value.get("span_id")) or (context, agent)
                    if kind == "compaction":
                        self._compactions[inner[0]] = convert(value, Compaction, where)
                    elif "scorer" in (*steps, inner[1]):
                        self.left_out["model call of a scorer"] += 1
                    else:
                        self._model(convert(value, RawModelEvent, where), where, *inner)
                case "tool" | "subtask":
                    # Older versions nest what happened inside; newer ones have it in spans.
                    if has(value, events=list) and value["events"]:
                        self._nested += 1
                        name = str(value.get("name") or value.get("function") or kind)
                        self.events(value["events"], f"{kind} {self._nested}", name, f"{path}{number}.")
                case _ if kind not in _OTHERS:
                    self.left_out[str(kind or "entry without a kind")] += 1

    def _agent(self, span_id: Any) -> tuple[str, str] | None:
        """Return the innermost agent or tool that a span lies in, by id and name; `scorer` if it lies in one."""
        found: tuple[str, str] | None = None
        seen: set[str] = set()
        while isinstance(span_id, str) and span_id in self._spans and span_id not in seen:
            seen.add(span_id)
            span = self._spans[span_id]
            if span.type in ("scorer", "scorers"):
                return span.id, "scorer"
            if found is None and span.type in ("agent", "subtask", "tool", "handoff"):
                found = span.id, span.name
            span_id = span.parent_id
        return found

    def _model(self, event: RawModelEvent, where: str, context: str, agent: str) -> None:
        if event.pending or event.error or not event.choices:
            self.left_out["model call that failed or was cut off"] += 1
            return
        if event.cache == "read":
            self.left_out["request, answered from the harness's own cache"] += 1
        reply = convert(with_attachments(event.choices[0], self._attachments), _Choice, f"{where} choice 0").message
        tools = event.sent_tools if isinstance(event.sent_tools, list) and event.sent_tools else event.tools or []
        tools = [compact_json(tool) for tool in with_attachments(tools, self._attachments)]
        messages, compaction = self._messages(event, where), self._compactions.pop(context, None)
        self.calls.append(ModelEvent(event, messages, reply, tools, context, agent, compaction))

    def _messages(self, event: RawModelEvent, where: str) -> list[Message]:
        if event.input_refs is not None:
            return [message for start, end in event.input_refs for message in self._pool[start:end]]
        return convert_all(with_attachments(event.input or [], self._attachments), Message, f"{where} message")
