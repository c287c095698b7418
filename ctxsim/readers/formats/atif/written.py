"""Writes transcripts as ATIF documents, which read back equal. Data without a field in the schema is under `extra`.

Source of the rules: Harbor 0.25.0, `harbor/models/trajectories`: step ids count from 1, results name calls of their own
step, arguments are objects, only steps of the agent have metrics.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import takewhile
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple

import msgspec

from ctxsim.errors import InputError
from ctxsim.readers.formats.atif import BOUNDARY, OURS, SAME, VERSION, OfCall, OfResult, OfStep, OfTranscript
from ctxsim.readers.source import compact_json, decoded, time_s
from ctxsim.transcript import Call, Item, Transcript, Usage

Json = dict[str, Any]


def unwritable(transcript: Transcript) -> str | None:
    """Return why ATIF can't hold a transcript, or None."""
    if transcript.carried:
        return "begins with items of an earlier segment, which ATIF can't hold"
    if not transcript.items and not transcript.calls and not transcript.head.system:
        return "is empty, and an ATIF trajectory has at least one step"
    return None


_BLOCK = 1 << 20


class _Kept(NamedTuple):
    """A transcript's document in the spool, from `start` to `end` in bytes, without its closing brace."""

    name: str
    parent: str | None
    start: int
    end: int


def written(transcripts: Iterable[Transcript]) -> Iterator[bytes]:
    """Yield the bytes of one document a line per root, its sub-agents inside it. Raises InputError for what ATIF can't
    hold, OSError for a full disk.

    A sub-agent whose parent isn't among the transcripts is a document of its own. A sub-agent may come before its
    parent, so documents are kept on disk until all transcripts are read; one at a time is in memory.
    """
    with TemporaryFile() as spool:
        kept = []
        for transcript in transcripts:
            start = spool.tell()
            spool.writelines(_document(transcript))
            kept.append(_Kept(transcript.name, transcript.parent, start, spool.tell()))
        numbers = {one.name: number for number, one in enumerate(kept)}
        above = [numbers.get(one.parent or "") for one in kept]
        above = [None if _closes_a_circle(number, above) else parent for number, parent in enumerate(above)]
        children: dict[int | None, list[int]] = {}
        for number, parent in enumerate(above):
            children.setdefault(parent, []).append(number)
        for root in children.get(None, []):
            yield from _whole(root, kept, children, spool)
            yield b"\n"


def _closes_a_circle(number: int, above: Sequence[int | None]) -> bool:
    """Return whether a transcript is the first in a cycle of parents; one that is its own parent is a cycle."""
    seen, at = {number}, above[number]
    while at is not None and at not in seen:
        seen.add(at)
        at = above[at]
    return at == number == min(seen)


def _whole(root: int, kept: list[_Kept], children: dict[int | None, list[int]], spool: IO[bytes]) -> Iterator[bytes]:
    waiting: list[bytes | int] = [root]
    while waiting:
        one = waiting.pop()
        if isinstance(one, bytes):
            yield one
            continue
        for start in range(kept[one].start, kept[one].end, _BLOCK):
            spool.seek(start)
            yield spool.read(min(_BLOCK, kept[one].end - start))
        inner: list[bytes | int] = [part for child in children.get(one, []) for part in (b",", child)]
        begun: list[bytes | int] = [b',"subagent_trajectories":[', *inner[1:], b"]"] if inner else []
        waiting += reversed([*begun, b"}"])


def _document(transcript: Transcript) -> Iterator[bytes]:
    """Yield a document without its closing brace, step by step."""
    if why := unwritable(transcript):
        raise InputError(transcript.name, why)
    models = {call.model for call in transcript.calls}
    model = models.pop() if len(models) == 1 else ""
    tools, as_written = _tools(transcript.head.tools)
    agent = {
        "name": transcript.format or OURS, "version": "unknown", "model_name": model or None,
        "tool_definitions": tools or None, "extra": {OURS: {"tools": as_written}} if as_written else None,
    }  # fmt: skip
    same = {name: getattr(transcript, name) for name in SAME}
    held = OfTranscript(**same, head_recorded=transcript.head.recorded, hidden=transcript.head.hidden)
    name = transcript.name
    before: Json = {"schema_version": VERSION, "session_id": name, "trajectory_id": name, "agent": _known(agent)}
    after: Json = {"extra": {OURS: msgspec.to_builtins(held) | {"version": 1}}}
    if transcript.cost_usd is not None:
        after["final_metrics"] = {"total_cost_usd": transcript.cost_usd}
    encode = msgspec.json.encode
    yield encode(before)[:-1] + b',"steps":['
    for number, step in enumerate(_steps(transcript, model), 1):
        yield (b"," if number > 1 else b"") + encode({"step_id": number} | step)
    yield b"]," + encode(after)[1:-1]


def _tools(texts: Sequence[str]) -> tuple[list[Any], list[str]]:
    """Return tool schemas as objects, and also as texts if encoding the objects doesn't give these texts."""
    objects = [value for value in map(decoded, texts) if isinstance(value, dict)]
    return objects, [] if [*map(compact_json, objects)] == list(texts) else list(texts)


def _steps(transcript: Transcript, model: str) -> Iterator[Json]:
    if transcript.head.system:
        yield {"source": "system", "message": transcript.head.system}
    items, end = transcript.items, 0
    boundaries = {compaction.call for compaction in transcript.compactions}
    for number, call in enumerate([*transcript.calls, None], 1):
        yield from _user_steps(items[end : call.start if call else None])
        if number in boundaries:
            yield _BOUNDARY
        if call:
            yield _agent_step(items[call.start : call.end], items[call.end :], call, model)
            end = call.end


_BOUNDARY: Json = {
    "source": "system",
    "message": "The history before this step was replaced.",
    "extra": {"context_management": BOUNDARY},
}


def _user_steps(items: Sequence[Item]) -> Iterator[Json]:
    messages: dict[int, list[Item]] = {}
    for item in items:
        if item.kind != "tool_result":
            messages.setdefault(item.message, []).append(item)
    for group in messages.values():
        texts = [item.text for item in group]
        whole = len(texts) == 1 and bool(texts[0])
        step: Json = {"source": "user"}
        step["message"] = texts[0] if whole else [{"type": "text", "text": text} for text in texts]
        yield step | _extra(OfStep(media=_media(group)))


def _media(items: Sequence[Item]) -> tuple[tuple[int, str, int], ...]:
    return tuple((number, one.kind, one.tokens) for number, item in enumerate(items) for one in item.media)


def _extra(held: Any) -> Json:
    told = msgspec.to_builtins(held)
    return {"extra": {OURS: told}} if told else {}


def _agent_step(items: Sequence[Item], after: Sequence[Item], call: Call, model: str) -> Json:
    time = None if call.time_s is None else datetime.fromtimestamp(call.time_s, UTC).isoformat()
    reasoning = [item.text for item in items if item.kind == "reasoning"]
    calls = [item for item in items if item.kind == "tool_call"]
    ids = {item.place: item.call_id for item in calls}
    if len(set(ids.values())) < len(ids) or not all(ids.values()):
        ids = {place: f"call_{place}" for place in ids}
    # The results of a response come directly after it.
    answered = [_result(item, ids) for item in takewhile(lambda item: item.kind == "tool_result", after)]
    step = {
        "source": "agent",
        "timestamp": time,
        "model_name": call.model if call.model and call.model != model else None,
        "message": "".join(item.text for item in items if item.kind == "assistant"),
        "reasoning_content": "".join(reasoning) if reasoning else None,
        "tool_calls": [_tool_call(item, ids[item.place]) for item in calls] or None,
        "observation": {"results": answered} if answered else None,
        "metrics": call.usage and _metrics(call.usage),
    }
    exact_s = call.time_s if time and time_s(time) != call.time_s else None
    head = call.head
    of_head = (head.system, head.tools, head.hidden) if head else (None, None, 0)
    held = OfStep(_layout(items), _media(items), exact_s, call.comparable, call.window, call.held, *of_head)
    return _known(step) | _extra(held)


def _layout(items: Sequence[Item]) -> tuple[tuple[str, int], ...]:
    """Return kinds and text lengths of a response's items; () for reasoning, text, calls, in order and none empty."""
    kinds = [item.kind for item in items]
    usual = sorted(kinds, key=("reasoning", "assistant", "tool_call").index)
    one_of_each = kinds.count("reasoning") < 2 and kinds.count("assistant") < 2
    if kinds == usual and one_of_each and all(item.text for item in items if item.kind != "tool_call"):
        return ()
    return tuple((item.kind, 0 if item.kind == "tool_call" else len(item.text)) for item in items)


def _tool_call(item: Item, call_id: str) -> Json:
    value = decoded(item.text)
    arguments = value if isinstance(value, dict) else {}
    exact = arguments is value and compact_json(value) == item.text
    held = OfCall(None if exact else item.text, item.call_id if item.call_id != call_id else None)
    return {"tool_call_id": call_id, "function_name": item.tool, "arguments": arguments} | _extra(held)


def _result(item: Item, ids: dict[int, str]) -> Json:
    held = OfResult(tuple((one.kind, one.tokens) for one in item.media))
    return {"source_call_id": ids[item.answers or 0], "content": item.text, **_extra(held)}


def _metrics(usage: Usage) -> Json:
    extra = {
        "cache_creation_input_tokens": usage.cache_write_tokens, "reasoning_tokens": usage.reasoning_tokens,
        "ephemeral_1h_input_tokens": usage.cache_write_long_tokens, "begun_tokens": usage.output_begun_tokens,
        "served": usage.served or None, "web_search_requests": usage.web_searches,
    }  # fmt: skip
    metrics = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "cached_tokens": usage.cache_read_tokens,
        "cost_usd": usage.cost_usd,
        "extra": _known(extra) or None,
    }
    return _known(metrics)


def _known(values: Json) -> Json:
    return {name: value for name, value in values.items() if value is not None}
