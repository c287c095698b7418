"""Message lists in their containers: a whole document, one conversation a line, or one message a line."""

from collections import Counter as Frequencies
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

from ctxsim.errors import InputError
from ctxsim.readers.assembly.assembly import Assembly
from ctxsim.readers.source import Record, Sample, Source, compact_json, under

T = TypeVar("T")


class Conversation(NamedTuple):
    """One conversation's name, its place for error messages, its JSON value, and notes on what was skipped."""

    name: str
    where: str
    value: Any
    notes: list[str]

    def begun(self, format: str) -> Assembly:
        """Return a new assembly of its name, with the notes."""
        assembly = Assembly(self.name, format)
        assembly.notes += self.notes
        return assembly

    def messages(self, assembly: Assembly) -> list[Any]:
        """Return its messages, and add the tools beside them to the assembly. Raises InputError if there are none."""
        if not (messages := message_list(self.value)):
            raise InputError(self.where, "has no messages")
        tools = under(self.value, "tools")
        assembly.tools += map(compact_json, tools if isinstance(tools, list) else [])
        return messages


def message_list(value: Any) -> list[Any]:
    """Return the messages that a JSON value is, or holds under `messages`; [] if it has none."""
    found = value.get("messages") if isinstance(value, dict) else value
    return list(found) if isinstance(found, list) else []


def conversations(source: Source, sample: Sample, one_per_line: bool) -> Iterator[Conversation]:
    """Yield the conversations of a source. JSONL has one conversation a line, or is one, with a message a line.

    Lines skipped at the end of the file are known last, so the last conversation gets the notes.
    """
    if sample.document is not None:
        yield Conversation(source.name, source.name, sample.document, [])
        return
    notes: list[str] = []
    if not one_per_line:
        values = [record.value for record in source.records(notes)]
        yield Conversation(source.name, source.name, values, notes)
        return
    for record, last in and_last(source.records(notes)):
        name, where = f"{source.name}#{record.line}", f"{source.name}:{record.line}"
        yield Conversation(name, where, record.value, notes if last else [])


def and_last(values: Iterable[T]) -> Iterator[tuple[T, bool]]:
    """Yield each value with whether it is the last. Reads one value ahead."""
    held: list[T] = []
    for value in values:
        yield from ((one, False) for one in held)
        held = [value]
    yield from ((one, True) for one in held)


def entries(sample: Sample, notes: list[str]) -> Iterator[Record]:
    """Return the values of a table, of JSON lines or of a document; if the document is a list, its entries."""
    if not isinstance(sample.document, list):
        return sample.all(notes)
    name = sample.source.name
    return (Record(number, value, f"{name} entry {number}") for number, value in enumerate(sample.document, 1))


def trial_name(source: str, task: int | str, trial: int | None, seen: Frequencies[str]) -> str:
    """Return a unique name for a trial of a benchmark's task: files joined by hand may hold a trial twice."""
    label = f"{task}" if trial is None else f"{task}-{trial}"
    seen[label] += 1
    return f"{source}#{label}" if seen[label] == 1 else f"{source}#{label}-{seen[label]}"
