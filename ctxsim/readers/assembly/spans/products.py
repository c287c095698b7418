"""Turns requests and responses in the looser forms of observability products into bodies of an API.

An input is a body, a list of messages or of Responses items, one message, or a text; an output is a body, a list of
choices, of messages or of Responses items, one message, or a text; each may be JSON as text.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from ctxsim.readers.assembly import dollars
from ctxsim.readers.assembly.requests.bodies import api_of
from ctxsim.readers.assembly.spans.conversations import conversations
from ctxsim.readers.assembly.spans.messages import COUNTS
from ctxsim.readers.assembly.spans.span import Span, finite
from ctxsim.readers.source import Sample, Source, has, time_s
from ctxsim.readers.source import decoded as json_decoded
from ctxsim.readers.source.values import objects
from ctxsim.transcript import Transcript

MODEL, AGENT, OTHER = "LLM", "AGENT", "CHAIN"
"""Kinds of spans, in the words of OpenInference."""

_ITEMS = ("function_call", "function_call_output", "reasoning", "item_reference", "message")


def decoded(value: Any) -> Any:
    """Return a value; if it is the JSON text of an object or a list, that object or list."""
    found = json_decoded(value) if isinstance(value, str) and value.lstrip()[:1] in ("{", "[") else None
    return value if found is None else found


class Rows(NamedTuple):
    """A format of rows: `told` recognises a row, `nested` are the keys that may hold rows, `span` converts a row."""

    format: str
    told: Callable[[Mapping[str, Any]], bool]
    nested: tuple[str, ...]
    span: Callable[[Mapping[str, Any]], Span]

    def matches(self, sample: Sample) -> bool:
        """Return whether one of the first rows of a sample has this format."""
        if sample.columns:
            return self.told(dict.fromkeys(sample.columns, "told"))
        return any(self.told(row) for record in sample.records[:3] for row in islice(self._all(record), 3))

    def read(self, source: Source, sample: Sample) -> Iterator[Transcript]:
        """Return one transcript per conversation."""
        notes: list[str] = []
        spans = [self.span(row) for row in self.rows(sample, notes)]
        yield from conversations(source.name, self.format, spans, notes)

    def rows(self, sample: Sample, notes: list[str]) -> Iterator[Mapping[str, Any]]:
        """Yield the rows of a document, of JSON lines or of a table; left-out rows are noted at the end."""
        others = 0
        for record in sample.all(notes):
            for row in self._all(record.value):
                if self.told(row):
                    yield row
                others += not self.told(row)
        if others:
            notes.append(f"{others} row(s) of another kind left out")

    def _all(self, value: Any) -> Iterator[Mapping[str, Any]]:
        """Yield the objects in a value that hold no rows. A loop, because values may be nested deeper than calls."""
        waiting = [value]
        while waiting:
            held = waiting.pop()
            if isinstance(held, list):
                waiting += reversed(held)
            elif isinstance(held, dict):
                inside = () if self.told(held) else [held[name] for name in self.nested if name in held]
                waiting += reversed(inside)
                if not inside:
                    yield held


def first(row: Mapping[str, Any], *names: str) -> Any:
    """Return a row's first value under these names that isn't None; None if there is none."""
    return next((row[name] for name in names if row.get(name) is not None), None)


def table(value: Any) -> Mapping[str, Any]:
    """Return an object, also from its JSON text; {} for any other value."""
    found = decoded(value)
    return found if isinstance(found, dict) else {}


def span(
    kind: str,
    ids: tuple[Any, Any, Any],
    started: Any,
    sent: Any,
    answered: Any,
    model: Any = "",
    tools: Any = None,
    counts: Mapping[str, Any] | None = None,
    cost_usd: Any = None,
    session: Any = None,
) -> Span:
    """Return a product's row as a span: ids of trace, span and parent, what was sent and answered, tokens by name.

    `started` is an ISO 8601 time or epoch seconds. `counts` have the names of `COUNTS`.
    """
    trace, own, parent = (str(one or "") for one in ids)
    named = model if isinstance(model, str) else ""
    attributes: dict[str, Any] = {"openinference.span.kind": kind, "llm.model_name": named}
    if kind == MODEL:
        attributes |= _bodies(decoded(sent), decoded(answered), named, decoded(tools))
    # Some products write zeros for unknown counts.
    if counts and counts.get("prompt"):
        attributes |= {COUNTS[name][0]: count for name, count in counts.items()}
    attributes["llm.cost.total"] = dollars(finite(cost_usd))
    if session:
        attributes["session.id"] = str(session)
    return Span(trace, own, parent, time_s(started), attributes, [])


def _bodies(sent: Any, answered: Any, model: str, tools: Any) -> dict[str, Any]:
    """Return `input.value` and `output.value` as bodies of one API; {} if they are no request and no response."""
    response = _response(answered)
    api = api_of(response) if response else None
    if response is None or api is None:
        return {}
    side = {"responses": "input", "gemini": "contents"}.get(api, "messages")
    request = _request(sent, side)
    if request is None:
        return {}
    said = [*objects(request, "messages"), response]
    if api == "messages" and any(one.get("role") == "tool" or one.get("tool_calls") for one in said):
        # LangChain's messages may have Anthropic's content, but results and calls as Chat Completions has them.
        response = _choice(response)
    request.setdefault("model", model)
    if isinstance(tools, list) and "tools" not in request:
        request["tools"] = tools
    return {"input.value": request, "output.value": response}


def _request(sent: Any, side: str) -> dict[str, Any] | None:
    if isinstance(sent, dict):
        if any(isinstance(sent.get(name), list | str) for name in ("messages", "contents", "input")):
            # Arguments that a client was not given are recorded as some text.
            lists = ("messages", "contents", "tools")
            return {name: held for name, held in sent.items() if name not in lists or isinstance(held, list)}
        return {side: [sent]} if _is_message(sent) else None
    if isinstance(sent, list) and sent and all(isinstance(entry, dict) for entry in sent):
        return {side: sent} if all(map(_is_message, sent)) or side == "input" else None
    return {side: [{"role": "user", "content": sent}]} if isinstance(sent, str) and sent else None


def _response(answered: Any) -> dict[str, Any] | None:
    if isinstance(answered, str):
        return _choice({"role": "assistant", "content": answered}) if answered else None
    if isinstance(answered, dict):
        if api_of(answered) is not None:
            return answered
        return _choice(answered) if _is_message(answered) else None
    if not isinstance(answered, list) or not all(isinstance(entry, dict) for entry in answered) or not answered:
        return None
    if all(has(entry, message=dict) for entry in answered):
        return {"choices": answered}
    if any(entry.get("type") in _ITEMS for entry in answered):
        return {"output": answered}
    said = [entry for entry in answered if _is_message(entry)]
    return _choice(said[-1]) if said else None


def _choice(message: dict[str, Any]) -> dict[str, Any]:
    return {"choices": [{"message": message}]}


def _is_message(value: Any) -> bool:
    return has(value, role=str) and bool({"content", "tool_calls"} & value.keys())
