"""LangChain messages as its own tools write them down, alone or inside the LLM runs that LangSmith exports.

Documentation: https://python.langchain.com/docs/concepts/messages/ (`messages_to_dict`, `dumpd`, `model_dump`)

    [{"type": "human", "data": {"content": "Any mail?"}},
     {"type": "ai", "data": {"content": "", "tool_calls": [{"name": "search", "args": {"q": "mail"}, "id": "c1"}],
       "usage_metadata": {"input_tokens": 90, "output_tokens": 12, "total_tokens": 102}}},
     {"type": "tool", "data": {"content": "2 messages", "tool_call_id": "c1"}}]

    [{"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "HumanMessage"],
      "kwargs": {"content": "Any mail?"}}]
"""

from collections import Counter as Frequencies
from collections.abc import Iterator
from typing import Any

from ctxsim.readers.assembly import Assembly, left_out
from ctxsim.readers.assembly.conversations import message_list
from ctxsim.readers.assembly.requests import transcripts
from ctxsim.readers.formats.langchain.messages import add_messages, is_message
from ctxsim.readers.formats.langchain.runs import is_run, logged_runs
from ctxsim.readers.source import Sample, Source
from ctxsim.transcript import Transcript

NAME = "langchain"
TITLE = "LangChain messages and LangSmith runs"
MARKS = ("lc", "run_type", "additional_kwargs")
VERSIONS = "langchain-core 0.1 to 1.x"
READS = "Message lists in all three dumped forms with their usage_metadata; of LangSmith runs those of type llm."
NOT_READ = "Chain, tool and retriever runs, which repeat what the llm runs hold; checkpoints of LangGraph."


def matches(sample: Sample) -> bool:
    """A list of LangChain messages, an object that holds one under `messages`, or LangSmith runs."""
    lists = map(message_list, sample.records)
    return bool(sample.records) and (_alike(sample.records) or all(map(_alike, lists)))


def _alike(values: list[Any]) -> bool:
    return bool(values) and (all(map(is_message, values)) or all(map(is_run, values)))


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return one transcript per message list, and for LangSmith runs one per conversation of each trace."""
    notes: list[str] = []
    records = sample.all(notes)
    if is_message(sample.first) or is_run(sample.first):
        yield from _transcripts(source.name, source.name, [record.value for record in records], notes)
        return
    for record in records:
        name = source.name if sample.document is not None else f"{source.name}#{record.line}"
        yield from _transcripts(name, record.where, message_list(record.value), notes)
        notes = []


def _transcripts(name: str, where: str, values: list[Any], notes: list[str]) -> Iterator[Transcript]:
    if any(is_run(value) for value in values):
        yield from _runs(name, where, values, notes)
        return
    assembly = Assembly(name, NAME)
    assembly.notes += notes
    add_messages(assembly, values, where, assembly.left_out)
    yield assembly.finished("no response of the model in this list")


def _runs(name: str, where: str, values: list[Any], notes: list[str]) -> Iterator[Transcript]:
    skipped: Frequencies[str] = Frequencies()
    traces = logged_runs(values, where, skipped)
    notes = [*notes, *left_out(skipped)]
    if not traces:
        assembly = Assembly(name, NAME)
        assembly.notes += [*notes, "no llm run with messages in this export"]
        yield assembly.transcript()
    for number, (trace, logged) in enumerate(traces.items()):
        own = name if len(traces) == 1 else f"{name}#{trace}"
        yield from transcripts(logged, own, NAME, notes if number == 0 else (), one_run=True)
