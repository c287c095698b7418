"""Message lists in their containers: a whole document, one conversation a line, or one message a line."""

from collections import Counter as Frequencies
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ctxsim.errors import InputError
from ctxsim.readers.assembly.assembly import Assembly
from ctxsim.readers.assembly.stores import each
from ctxsim.readers.source import Record, Sample, Source, compact_json, under
from ctxsim.transcript import Transcript


class Conversation(NamedTuple):
    """One conversation's name, its place for error messages, and its JSON value."""

    name: str
    where: str
    value: Any

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


def conversations(
    source: Source, sample: Sample, one_per_line: bool, read: Callable[[Conversation], Transcript]
) -> Iterator[Transcript]:
    """Yield the transcripts that `read` makes of a source's conversations, as `each` does.

    JSONL has one conversation a line, or is one, with a message a line.
    """
    notes: list[str] = []
    yield from each(source.name, listed(source, sample, one_per_line, notes), read, notes)


def listed(source: Source, sample: Sample, one_per_line: bool, notes: list[str]) -> Iterator[Conversation]:
    """Yield the conversations of a source. At the end, `notes` says what was skipped."""
    if sample.document is not None:
        yield Conversation(source.name, source.name, sample.document)
    elif not one_per_line:
        yield Conversation(source.name, source.name, [record.value for record in source.records(notes)])
    else:
        for record in source.records(notes):
            yield Conversation(f"{source.name}#{record.line}", record.where, record.value)


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
