"""Builds conversations from spans of model requests, each a whole request; agents inside agents are children."""

from collections import Counter as Frequencies
from collections.abc import Iterator, Mapping

import msgspec

from ctxsim.readers.assembly import Part
from ctxsim.readers.assembly.requests.logged import Logged, call_ids, transcripts
from ctxsim.readers.assembly.spans.messages import exchange, unreadable
from ctxsim.readers.assembly.spans.span import Span
from ctxsim.transcript import Transcript

AGENT, MODEL = "agent", "model"
_OPERATIONS = {
    "chat": MODEL, "text_completion": MODEL, "generate_content": MODEL, "completion": MODEL, "responses": MODEL,
    "invoke_agent": AGENT, "create_agent": AGENT,
}  # fmt: skip
_REDACTED = ("__REDACTED__", "[Scrubbed due to", "[REDACTED]")

OTHER = "span(s) that are no request to a model left out"
REPEATED = "repeated span(s) left out"
INSIDE = "span(s) inside another span of the same request left out"
SILENT = "request(s) without recorded content left out: capture of messages is off, or no response came"
CUT = "attribute(s) of messages that are cut, no complete JSON: their requests left out"
LOST = "attribute(s) or event(s) lost at the SDK's limits: what was sent may be short"
REDACTED = "text(s) redacted before export: counts are of what stands for them"
SHORT = "response(s) whose text later requests leave out: taken from where they were made"
ORPHANS = "span(s) whose parent is missing: sampled away, or exported elsewhere"


def conversations(name: str, format: str, spans: list[Span], notes: list[str]) -> Iterator[Transcript]:
    """Yield one transcript per conversation, those of agents inside agents after the others."""
    by_id: dict[tuple[str, str], Span] = {}
    for number, span in enumerate(spans):
        key = span.trace, span.id or f"#{number}"
        if _filled(span) >= _filled(by_id.setdefault(key, span)):
            by_id[key] = span
    counts = Frequencies({REPEATED: len(spans) - len(by_id)})
    pools: dict[str, list[tuple[Span, Logged]]] = {}
    read: dict[int, Logged | None] = {}

    def asked(span: Span) -> Logged | None:
        if id(span) not in read:
            read[id(span)] = None if unreadable(span.attributes) else exchange(span, f"{name} span {span.id}")
        return read[id(span)]

    for span in by_id.values():
        counts[LOST] += span.lost
        counts[ORPHANS] += bool(span.parent) and (span.trace, span.parent) not in by_id
        if kind_of(span) != MODEL:
            counts[OTHER] += kind_of(span) != AGENT
        elif any(kind_of(above) == MODEL and asked(above) for above in _above(span, by_id)):
            # An SDK and its instrumentation record the same request twice, one of them perhaps without its content.
            counts[INSIDE] += 1
        elif cut := unreadable(span.attributes):
            counts[CUT] += len(cut)
        elif logged := asked(span):
            counts[REDACTED] += sum(any(mark in text for mark in _REDACTED) for text in _texts(logged))
            pools.setdefault(_agent(span, by_id), []).append((span, logged))
        else:
            counts[SILENT] += 1
    for pool in pools.values():
        pool.sort(key=lambda pair: pair[1].time_s or 0.0)
        counts[SHORT] += _restored([logged for _, logged in pool])
    told = (REPEATED, OTHER, INSIDE, SILENT, CUT, LOST, REDACTED, ORPHANS, SHORT)
    notes += [f"{counts[what]} {what}" for what in told if counts[what]]
    notes += _cut_texts([logged for pool in pools.values() for _, logged in pool])
    yield from _of_pools(name, format, pools, notes)


def _filled(span: Span) -> int:
    """The number of attributes with a value: of a repeated span the fuller record counts, of equal ones the last."""
    return sum(value not in (None, "") for value in span.attributes.values())


def _of_pools(
    source: str, format: str, pools: Mapping[str, list[tuple[Span, Logged]]], notes: list[str]
) -> Iterator[Transcript]:
    whose: dict[str, str] = {}
    order = sorted(pools, key=lambda agent: (agent != "", agent))
    for number, agent in enumerate(order):
        pool = pools[agent]
        name = source if not agent else f"{source}#agent-{number}"
        traces = {span.trace for span, _ in pool}
        parent = next((named for trace, named in whose.items() if trace in traces), None) if agent else None
        found = list(transcripts([logged for _, logged in pool], name, format, notes if not number else ()))
        times = {logged.time_s: span.trace for span, logged in pool}
        for transcript in found:
            for call in transcript.calls if not agent else ():
                if call.time_s in times:
                    whose.setdefault(times[call.time_s], transcript.name)
            yield _with_parent(transcript, parent)
    if not order:
        yield from transcripts([], source, format, notes)


def _restored(logs: list[Logged]) -> int:
    """Restore the text of responses that later requests repeat without it, and return the number of these responses."""
    # opentelemetry-instrumentation-openai-v2 2.2 leaves the text out of a message that has tool calls.
    made: dict[frozenset[str], tuple[Part, ...]] = {}
    restored = set()
    for logged in logs:
        for place, said in enumerate(logged.request.said):
            whole = made.get(call_ids(said.parts)) if said.response else None
            if whole and call_ids(whole) and _has_text(whole) and not _has_text(said.parts):
                logged.request.said[place] = msgspec.structs.replace(said, parts=whole)
                restored.add(call_ids(whole))
        made[call_ids(logged.reply)] = logged.reply
    return len(restored)


def _has_text(parts: tuple[Part, ...]) -> bool:
    return any(part.kind == "assistant" for part in parts)


def _with_parent(transcript: Transcript, parent: str | None) -> Transcript:
    """Return a transcript with its parent; its head is marked incomplete if no span defines the tools that it calls."""
    head, notes = transcript.head, transcript.notes
    if not head.tools and any(item.kind == "tool_call" for item in transcript.items):
        head, notes = msgspec.structs.replace(head, recorded=False), (*notes, "the tool definitions are not recorded")
    return msgspec.structs.replace(transcript, head=head, notes=notes, parent=parent or transcript.parent)


def kind_of(span: Span) -> str:
    """Return `MODEL` for a request to a model, `AGENT` for an agent's run, else ''."""
    attributes = span.attributes
    inference = attributes.get("openinference.span.kind")
    if isinstance(inference, str):
        return {"LLM": MODEL, "AGENT": AGENT}.get(inference.upper(), "")
    if attributes.get("traceloop.span.kind") == "agent":
        return AGENT
    if "llm.request.type" in attributes:
        return MODEL if attributes["llm.request.type"] in ("chat", "completion") else ""
    # Traceloop's older spans of the Responses API state no type.
    found = MODEL if "gen_ai.completion.0.role" in attributes else ""
    return _OPERATIONS.get(str(attributes.get("gen_ai.operation.name", "")), found)


def _above(span: Span, by_id: Mapping[tuple[str, str], Span]) -> Iterator[Span]:
    """Yield the spans that a span is in, innermost first; a loop ends the walk."""
    seen = {span.id}
    above = by_id.get((span.trace, span.parent))
    while above is not None and above.id not in seen:
        seen.add(above.id)
        yield above
        above = by_id.get((above.trace, above.parent))


def _agent(span: Span, by_id: Mapping[tuple[str, str], Span]) -> str:
    """Return the key of the inner agent that made a request; '' for one of the outermost agents, in any trace."""
    agents = [above for above in _above(span, by_id) if kind_of(above) == AGENT]
    return f"{agents[0].trace} {agents[0].id}" if len(agents) > 1 else ""


def _texts(logged: Logged) -> Iterator[str]:
    yield from logged.request.system
    for said in logged.request.said:
        yield from (part.text for part in said.parts)
        if said.answer:
            yield said.answer.text
    yield from (part.text for part in logged.reply)


def _cut_texts(logs: list[Logged]) -> list[str]:
    """Return a note if several different texts end at the same, greatest length: the sign of a limit on attributes."""
    texts = {text for logged in logs for text in _texts(logged)}
    longest = max(map(len, texts), default=0)
    same = sum(len(text) == longest for text in texts)
    if same < 2 or longest < 64:
        return []
    return [f"{same} different texts are {longest} characters long and none is longer: cut by a limit on attributes?"]
