"""ATIF, the agent trajectory interchange format of Harbor: steps of system, user and agent, with observations.

Documentation: https://harborframework.com/docs/trajectory-format (schema: Harbor 0.25.0, `harbor/models/trajectories`)

    {"schema_version": "ATIF-v1.7", "agent": {"name": "a", "version": "1", "model_name": "m"}, "steps": [
      {"step_id": 1, "source": "user", "message": "Any mail?"},
      {"step_id": 2, "source": "agent", "message": "I look.",
       "tool_calls": [{"tool_call_id": "c1", "function_name": "search", "arguments": {"q": "mail"}}],
       "observation": {"results": [{"source_call_id": "c1", "content": "2 messages"}]},
       "metrics": {"prompt_tokens": 40, "completion_tokens": 9, "cached_tokens": 0}}]}
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec
from msgspec import field

from ctxsim.readers.assembly import Assembly, Part, dollars, text_and_media, text_of
from ctxsim.readers.assembly.conversations import listed
from ctxsim.readers.assembly.numbers import as_served
from ctxsim.readers.assembly.stores import each
from ctxsim.readers.source import Sample, Source, compact_json, convert, has, time_s, under
from ctxsim.transcript import Call, Compaction, Head, Media, Needle, Transcript, Usage, problems

NAME = "atif"
TITLE = "ATIF trajectories (Harbor, Terminal-Bench)"
MARKS = ("schema_version",)
VERSIONS = "ATIF-v1.0 to v1.8, as one document or JSON lines; tested on documents that Harbor 0.25.0 accepts"
READS = "Steps, tool calls, observations, usage, costs, times, compactions, embedded sub-agents; and written too."
NOT_READ = (
    "The agent's name and version, other programs' session ids, token ids and log probabilities, images and audio "
    "behind their paths, trajectories in other files, `extra` of other programs."
)

VERSION = "ATIF-v1.7"
"""The version that is written. v1.7 is the first one whose tool calls and results may have extra fields."""

OURS = "ctxsim"
"""The key under `extra` for data that the schema has no field for."""

BOUNDARY = {"type": "compaction", "boundary": "replace"}
"""`extra.context_management` of the step where Harbor's own agent replaced its history by a summary."""


class ToolCall(msgspec.Struct):
    """A tool call; its arguments are an object."""

    tool_call_id: str | None = None
    function_name: str = ""
    arguments: Any = None
    extra: dict[str, Any] | None = None


class Result(msgspec.Struct):
    """A result; without a call's id if the agent's actions are no tool calls."""

    source_call_id: str | None = None
    content: Any = None
    subagent_trajectory_ref: list[Any] | None = None
    extra: dict[str, Any] | None = None


class Step(msgspec.Struct):
    """One step. Only an agent's has reasoning, calls and metrics; `prompt_tokens` is the whole prompt."""

    source: str
    message: Any = ""
    timestamp: str | None = None
    model_name: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[ToolCall] | None = None
    results: list[Result] = field(default=[], name="observation.results")
    prompt_tokens: int | None = field(default=None, name="metrics.prompt_tokens")
    completion_tokens: int | None = field(default=None, name="metrics.completion_tokens")
    cached_tokens: int | None = field(default=None, name="metrics.cached_tokens")
    cost_usd: float | None = field(default=None, name="metrics.cost_usd")
    written: Any = field(default=None, name="metrics.extra.cache_creation_input_tokens")
    reasoning: Any = field(default=None, name="metrics.extra.reasoning_tokens")
    written_long: Any = field(default=None, name="metrics.extra.ephemeral_1h_input_tokens")
    begun: Any = field(default=None, name="metrics.extra.begun_tokens")
    served: Any = field(default=None, name="metrics.extra.served")
    web_searches: Any = field(default=None, name="metrics.extra.web_search_requests")
    is_copied_context: bool | None = None
    llm_call_count: int | None = None
    extra: dict[str, Any] | None = None


class Trajectory(msgspec.Struct):
    """A document, or a sub-agent inside one."""

    agent: dict[str, Any]
    steps: list[Any]
    model_name: str | None = field(default=None, name="agent.model_name")
    tool_definitions: list[Any] | None = field(default=None, name="agent.tool_definitions")
    total_cost_usd: float | None = field(default=None, name="final_metrics.total_cost_usd")
    continued_trajectory_ref: str | None = None
    extra: dict[str, Any] | None = None
    subagent_trajectories: list[Any] | None = None


class OfTranscript(msgspec.Struct, omit_defaults=True):
    """Data of a transcript, beside its steps, that ATIF has no field for."""

    format: str = ""
    notes: tuple[str, ...] = ()
    head_recorded: bool = True
    hidden: int = 0
    needles: tuple[Needle, ...] = ()
    compactions: tuple[Compaction, ...] = ()
    cleared: tuple[tuple[int, int], ...] = ()
    project: str = ""
    version: str = field(default="", name="agent_version")
    beside: tuple[Call, ...] = ()


SAME = [name for name in OfTranscript.__struct_fields__ if name not in ("head_recorded", "hidden")]
"""Fields that a transcript has too."""


class OfStep(msgspec.Struct, omit_defaults=True):
    """Data of a step that ATIF has no field for.

    `parts` are the kinds of a response's items in order, with the length of each text: () if they are one reasoning,
    one text and calls. `media` are item number, kind and tokens of non-text content.
    """

    parts: tuple[tuple[str, int], ...] = ()
    media: tuple[tuple[int, str, int], ...] = ()
    time_s: float | None = None
    comparable: bool = True
    window: int | None = None
    held: int | None = None
    system: str | None = None
    tools: tuple[str, ...] | None = None
    hidden: int = 0


class OfResult(msgspec.Struct, omit_defaults=True):
    """Kind and tokens of non-text content in a result."""

    media: tuple[tuple[str, int], ...] = ()


class OfCall(msgspec.Struct, omit_defaults=True):
    """A call's exact arguments, and its own id, if ATIF's fields can't hold them."""

    text: str | None = None
    id: str | None = None


def ours(extra: dict[str, Any] | None) -> Any:
    """Return ctxsim's own data under `extra`, or {}."""
    found = (extra or {}).get(OURS)
    return found if isinstance(found, dict) else {}


def matches(sample: Sample) -> bool:
    """An object that names its version of the schema and has steps."""
    return has(sample.first, steps=list) and str(sample.first.get("schema_version", "")).startswith("ATIF-")


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return the transcript of each document, then those of its sub-agents."""
    notes: list[str] = []
    found = (one for document in listed(source, sample, True, notes) for one in _nested(*document, None))
    yield from each(source.name, found, _one, notes)


def _nested(name: str, where: str, value: Any, parent: str | None) -> Iterator[tuple[str, str, Any, str | None]]:
    """Yield a trajectory's name, place, value and parent's name, then those of its sub-agents."""
    if under(value, "extra", OURS) and isinstance(stated := under(value, "trajectory_id"), str):
        name = stated
    yield name, where, value, parent
    inner = under(value, "subagent_trajectories")
    for number, one in enumerate(inner if isinstance(inner, list) else [], 1):
        yield from _nested(f"{name}#{under(one, 'trajectory_id') or number}", f"{where} sub-agent {number}", one, name)


def _one(found: tuple[str, str, Any, str | None]) -> Transcript:
    name, where, value, parent = found
    trajectory = convert(value, Trajectory, where)
    assembly = Assembly(name, NAME, parent)
    reading = _Reading(assembly, trajectory.model_name or "")
    for number, value in enumerate(trajectory.steps, 1):
        reading.step(convert(value, Step, f"{where} step {number}"), f"{where} step {number}")
    stated = under(trajectory.agent, "extra", OURS, "tools")
    assembly.tools += map(compact_json, stated if isinstance(stated, list) else trajectory.tool_definitions or [])
    assembly.cost_usd = dollars(trajectory.total_cost_usd)
    if after := trajectory.continued_trajectory_ref:
        assembly.notes.append(f"goes on in {after}, a trajectory of its own")
    return _completed(_named(assembly.finished(), reading.ids), trajectory, where)


class _Reading(msgspec.Struct):
    """The part of a trajectory that has been read; `ids` are those that ATIF could not hold, one for each tool call."""

    assembly: Assembly
    model: str
    ids: list[str | None] = []

    def step(self, step: Step, where: str) -> None:
        held = convert(ours(step.extra), OfStep, f"{where} extra")
        if step.source == "agent" and step.llm_call_count != 0:
            self._response(step, held, where)
        elif under(step.extra, "context_management", "type") == BOUNDARY["type"] and self.assembly.calls:
            self.assembly.compacted()
        elif step.source == "system" and not self.assembly.calls:
            self.assembly.system += [part.text for part in _said(step.message, held)]
        else:
            kept = "kept as user texts"
            self.assembly.counts[f"system step(s) in mid-conversation {kept}"] += step.source == "system"
            self.assembly.counts[f"step(s) that no model made (`llm_call_count` 0): {kept}"] += step.source == "agent"
            self.assembly.user(*_said(step.message, held))
        self._results(step, where)

    def _response(self, step: Step, held: OfStep, where: str) -> None:
        several, copied = (step.llm_call_count or 1) > 1, bool(step.is_copied_context)
        usage = None
        if step.prompt_tokens is not None and not several and not copied:
            more = (step.written, step.reasoning, step.written_long, step.begun)
            written, reasoning, long, begun = (one if isinstance(one, int) else None for one in more)
            counts = (step.prompt_tokens, step.completion_tokens, step.cached_tokens, written, reasoning)
            words = step.served.split() if isinstance(step.served, str) else []
            usage = as_served(Usage(*counts, dollars(step.cost_usd), long, begun), *words, searches=step.web_searches)
        self.assembly.counts["step(s) of several requests at once: their usage is a sum, left out"] += several
        before = "copied from an earlier trajectory: their calls were made there, without usage here"
        self.assembly.counts[f"step(s) {before}"] += copied
        time = held.time_s if held.time_s is not None else time_s(step.timestamp)
        comparable = held.comparable and not copied and not several
        self.assembly.window = held.window
        head = None if held.system is None else Head(held.system, held.tools or (), hidden=held.hidden)
        parts = self._parts(step, held, where)
        self.assembly.response(parts, usage, time, step.model_name or self.model, comparable, head, held.held)

    def _parts(self, step: Step, held: OfStep, where: str) -> list[Part]:
        calls = []
        for call in step.tool_calls or []:
            exact = convert(ours(call.extra), OfCall, f"{where} extra")
            self.ids.append(exact.id)
            arguments = compact_json(call.arguments) if exact.text is None else exact.text
            calls.append(Part("tool_call", arguments, call.function_name, call.tool_call_id or ""))
        parts = _in_order(step, held, calls)
        for at, kind, tokens in held.media:
            if at < len(parts):
                parts[at] = msgspec.structs.replace(parts[at], media=(*parts[at].media, Media(kind, tokens)))
        return parts

    def _results(self, step: Step, where: str) -> None:
        called = {call.tool_call_id for call in step.tool_calls or []}
        # Several results of one call are one result.
        by_call: dict[str | None, list[Result]] = {}
        for result in step.results:
            by_call.setdefault(result.source_call_id, []).append(result)
        for call_id, results in by_call.items():
            texts = [text_and_media(result.content) for result in results]
            text = "\n".join(text for text, _ in texts)
            held = convert(ours(results[0].extra), OfResult, f"{where} extra").media
            media = (*(one for _, found in texts for one in found), *(Media(kind, tokens) for kind, tokens in held))
            refs = [ref for result in results for ref in result.subagent_trajectory_ref or []]
            elsewhere = sum(has(ref, trajectory_path=object) for ref in refs)
            self.assembly.counts["reference(s) to trajectories in other files left out"] += elsewhere
            if step.tool_calls and (call_id is None or call_id in called):
                self.assembly.result(text, call_id or "", media=media)
            elif text or media:
                self.assembly.user(Part("user", text, media=media))


def _said(message: Any, held: OfStep) -> list[Part]:
    blocks = message if isinstance(message, list) else [message]
    parts = []
    for number, block in enumerate(blocks):
        text, media = text_and_media([block])
        more = tuple(Media(kind, tokens) for at, kind, tokens in held.media if at == number)
        parts.append(Part("user", text, media=media + more))
    return [part for part in parts if part.text or part.media or isinstance(message, list)]


def _in_order(step: Step, held: OfStep, calls: list[Part]) -> list[Part]:
    rest, waiting = {"reasoning": step.reasoning_content or "", "assistant": text_of(step.message)}, iter(calls)
    parts: list[Part] = []
    for kind, length in held.parts or [(kind, len(text)) for kind, text in rest.items() if text]:
        match kind:
            case "tool_call":
                parts += islice(waiting, 1)
            case "assistant" | "reasoning":
                parts.append(Part(kind, rest[kind][:length]))
                rest[kind] = rest[kind][length:]
    return [*parts, *waiting]


def _named(transcript: Transcript, ids: list[str | None]) -> Transcript:
    """Return a transcript whose tool calls, and their results, have these ids, or the recorded one for None."""
    calls = [item.place for item in transcript.items if item.kind == "tool_call"]
    named: dict[int | None, str | None] = dict(zip(calls, ids, strict=True))
    items = []
    for item in transcript.items:
        call_id = named.get(item.place if item.kind == "tool_call" else item.answers)
        items.append(item if call_id is None else msgspec.structs.replace(item, call_id=call_id))
    return msgspec.structs.replace(transcript, items=tuple(items))


def _completed(made: Transcript, trajectory: Trajectory, where: str) -> Transcript:
    """Return a transcript with the data that ctxsim wrote beside the steps; left out if it no longer fits them."""
    if not ours(trajectory.extra):
        return made
    held_whole = convert(ours(trajectory.extra), OfTranscript, f"{where} extra")
    head = msgspec.structs.replace(made.head, recorded=held_whole.head_recorded, hidden=held_whole.hidden)
    whole = msgspec.structs.replace(made, head=head, **{name: getattr(held_whole, name) for name in SAME})
    if found := problems(whole):
        note = f"what ctxsim had written beside the steps no longer fits them ({found[0]}): left out"
        return msgspec.structs.replace(made, notes=(*made.notes, note))
    return whole
