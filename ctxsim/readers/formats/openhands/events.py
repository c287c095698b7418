"""OpenHands events: a list of actions and observations, as exported, stored one a file, or in evaluation output.

`tool_call_metadata.model_response` of an action is the model's response with its usage; parallel calls repeat it. An
observation names its action by `cause` and by the metadata. Evaluation output is JSONL, one run a line, in `history`.

Documentation: https://github.com/All-Hands-AI/OpenHands/tree/main/openhands/events

    [{"id": 0, "source": "user", "action": "message", "args": {"content": "Any mail?"}},
     {"id": 1, "source": "agent", "action": "run", "args": {"command": "ls"}, "tool_call_metadata": {
       "tool_call_id": "c1", "model_response": {"id": "r1", "model": "m", "usage": {"prompt_tokens": 40},
       "choices": [{"message": {"content": "I look.", "tool_calls": [
         {"id": "c1", "function": {"name": "execute_bash", "arguments": "{\\"command\\": \\"ls\\"}"}}]}}]}}},
     {"id": 2, "source": "agent", "cause": 1, "observation": "run", "content": "mail", "extras": {},
       "tool_call_metadata": {"tool_call_id": "c1"}}]
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from ctxsim.errors import InputError
from ctxsim.readers.assembly import Assembly, dollars
from ctxsim.readers.assembly.stores import each
from ctxsim.readers.formats.openhands.agent import Agent, Event
from ctxsim.readers.source import Record, Sample, Source, compact_json, convert, has, under
from ctxsim.transcript import Transcript

NAME = "openhands-events"
TITLE = "OpenHands events"
MARKS = ("history", "observation")
VERSIONS = (
    "event lists of January 2025 and resolver output of 2024; not tested on real folders, delegates and condensations"
)
READS = "Messages, actions with the model's response and usage, observations as the agent shows them, delegates."
NOT_READ = "States, recalls, page trees, summaries of condensers, cuts by the agent's own limit; events of the SDK."
SOME = 20
"""Number of events by which the format is recognised."""


class _Run(msgspec.Struct):
    history: list[Any]
    instance_id: str | int | None = None
    accumulated_cost: Any = msgspec.field(default=None, name="metrics.accumulated_cost")


def matches(sample: Sample) -> bool:
    """A list of events, an object with one under `trajectory`, or JSONL of events or of runs with their `history`."""
    first = sample.first
    if has(first, history=list):
        history = _flat(first["history"])
        return "trajectory" not in first and (_are_events(history) if history else "test_result" in first)
    return _are_stored(_exported(sample) or sample.records)


def _exported(sample: Sample) -> list[Any] | None:
    """Return the events of a document, which is a list of them or holds one; else None."""
    found = sample.document if isinstance(sample.document, list) else under(sample.document, "trajectory")
    return found if isinstance(found, list) else None


def _are_stored(values: list[Any]) -> bool:
    """Return whether these are events as an event stream stores them, each with its source."""
    sources = ("user", "agent", "environment")
    return _are_events(values) and all(value.get("source") in sources for value in values[:SOME])


def _are_events(values: list[Any]) -> bool:
    """Return whether these are actions and observations; a step of SWE-agent is both."""
    return bool(values) and all(
        isinstance(value, dict) and "role" not in value and has(value, action=str) != has(value, observation=str)
        for value in values[:SOME]
    )


def _flat(history: list[Any]) -> list[Any]:
    """Return events; before 0.9 evaluation output had pairs of action and observation."""
    return [event for entry in history for event in (entry if isinstance(entry, list) else [entry])]


def owns(folder: Path) -> bool:
    """Whether a folder is an event store: nothing but files `<number>.json`, each an event."""
    files = _event_files(folder)
    known = set(files)
    if files and all(entry.name.startswith(".") or entry in known for entry in folder.iterdir()):
        with suppress(InputError):
            return _are_stored([Sample(Source(str(files[0]), files[0])).document])
    return False


def _event_files(folder: Path) -> list[Path]:
    files = [entry for entry in folder.iterdir() if entry.suffix == ".json" and entry.stem.isdecimal()]
    return sorted(files, key=lambda file: int(file.stem))


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return a transcript per run, and one per delegated task."""
    notes: list[str] = []
    if sample.folder:
        yield from _run(source.name, _stored(sample.folder, notes), notes)
    elif has(sample.first, history=list):
        yield from _runs(source, sample, notes)
    elif (events := _exported(sample)) is not None:
        yield from _run(source.name, _numbered(source.name, events), notes)
    else:
        yield from _run(source.name, ((record.where, record.value) for record in source.records(notes)), notes)


def _runs(source: Source, sample: Sample, notes: list[str]) -> Iterator[Transcript]:
    """Return the runs of evaluation output; it can also be one document that is not on one line."""

    def one(record: Record) -> list[Transcript]:
        where = f"{source.name}:{record.line}"
        run = convert(record.value, _Run, where)
        name = source.name if sample.document is not None else f"{source.name}#{run.instance_id or record.line}"
        main, *delegates = _run(name, _numbered(where, _flat(run.history)), [])
        priced = any(call.usage and call.usage.cost_usd for one in (main, *delegates) for call in one.calls)
        return [main if priced else msgspec.structs.replace(main, cost_usd=dollars(run.accumulated_cost)), *delegates]

    yield from each(source.name, sample.all(notes), one, notes)


def _stored(folder: Path, notes: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield the events of a folder; one that can't be read, torn by a crash, is noted."""
    for file in _event_files(folder):
        try:
            yield str(file), Sample(Source(str(file), file)).document
        except InputError as error:
            notes.append(f"{file.name} left out: {error.what}")


def _numbered(where: str, events: list[Any]) -> Iterable[tuple[str, Any]]:
    return ((f"{where} event {number}", event) for number, event in enumerate(events))


def _run(name: str, events: Iterable[tuple[str, Any]], notes: list[str]) -> Iterator[Transcript]:
    """Return the transcripts of one stream of events: the agent's, then those of its delegates."""
    main = Agent(Assembly(name, NAME))
    stack, done = [main], [main]
    for where, value in events:
        event = convert(value, Event, where)
        fields = {**value, **(event.args or {}), **(event.extras or {})}
        if event.observation == "delegate" and len(stack) > 1:
            stack.pop()
        stack[-1].add(event, fields, where)
        if event.action == "delegate":
            child = Agent(Assembly(f"{name}#delegate-{len(done)}", NAME, stack[-1].assembly.name), stack[-1].sums)
            child.assembly.user(compact_json(fields.get("inputs") or {}))
            stack.append(child)
            done.append(child)
    # The notes are complete only when the stream has been read to its end.
    main.assembly.notes[:0] = notes
    for agent in done:
        yield agent.assembly.finished()
