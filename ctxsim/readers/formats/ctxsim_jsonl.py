"""ctxsim's own JSONL: what every other format converts to, and what reads back equal.

Documentation: docs/formats.md. One line starts a transcript, then come its items and calls in recorded order; a file
may hold several. Fields at their default are left out.

    {"ctxsim": 1, "name": "s.jsonl", "head": {"system": "Be brief."}, "format": "openai-chat"}
    {"item": {"kind": "user", "place": 0, "message": 1, "text": "Any mail?"}}
    {"item": {"kind": "tool_call", "place": 1, "message": 2, "text": "{}", "tool": "search", "call_id": "c1"}}
    {"call": {"start": 1, "end": 2, "usage": {"input_tokens": 40, "output_tokens": 9}}}
    {"item": {"kind": "tool_result", "place": 2, "message": 3, "text": "2 messages", "tool": "search", "answers": 1}}
    {"item": {"kind": "assistant", "place": 3, "message": 4, "text": "Two."}}
    {"call": {"start": 3, "end": 4}}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ctxsim.errors import InputError
from ctxsim.readers.source import Sample, Source, convert
from ctxsim.transcript import Call, Compaction, Head, Item, Needle, Transcript, problems

NAME = "ctxsim"
TITLE = "ctxsim JSONL"
DOCS = "#ctxsim-jsonl"
MARKS = ("ctxsim",)
VERSIONS = "1"
READS = "Everything: head, items, calls with usage, times and models, notes, needles, compactions."
NOT_READ = "Other versions than 1."

VERSION = 1


class Start(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """The line that starts a transcript."""

    ctxsim: int
    name: str
    head: Head = Head()
    format: str = ""
    parent: str | None = None
    notes: tuple[str, ...] = ()
    needles: tuple[Needle, ...] = ()
    compactions: tuple[Compaction, ...] = ()
    cleared: tuple[tuple[int, int], ...] = ()
    carried: int = 0
    cost_usd: float | None = None
    project: str = ""
    version: str = ""


class Line(msgspec.Struct, forbid_unknown_fields=True):
    """A line after it."""

    item: Item | None = None
    call: Call | None = None


def matches(sample: Sample) -> bool:
    """The first record says so."""
    first = sample.records[0] if sample.records else None
    return isinstance(first, dict) and "ctxsim" in first and "name" in first


def lines(transcript: Transcript) -> Iterator[bytes]:
    """Return a transcript as lines of this format."""
    start = Start(
        VERSION, transcript.name, transcript.head, transcript.format, transcript.parent, transcript.notes,
        transcript.needles, transcript.compactions, transcript.cleared, transcript.carried, transcript.cost_usd,
        transcript.project, transcript.version,
    )  # fmt: skip
    # The first field is what detection looks for; it is never at a default.
    yield msgspec.json.encode(start)
    calls = iter(transcript.calls)
    call = next(calls, None)
    for item in transcript.items:
        while call is not None and call.end <= item.place:
            yield msgspec.json.encode({"call": call})
            call = next(calls, None)
        yield msgspec.json.encode({"item": item})
    while call is not None:
        yield msgspec.json.encode({"call": call})
        call = next(calls, None)


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return the transcripts of a file. Raises InputError for a line or a transcript that can't be."""
    notes: list[str] = []
    start: Start | None = None
    items: list[Item] = []
    calls: list[Call] = []
    for record in _records(source, sample, notes):
        where = f"{source.name}:{record[0]}"
        if isinstance(record[1], dict) and "ctxsim" in record[1]:
            if start is not None:
                yield _finish(start, items, calls, notes, source.name)
            start, items, calls, notes[:] = convert(record[1], Start, where), [], [], []
            if start.ctxsim != VERSION:
                raise InputError(where, f"is version {start.ctxsim} of the ctxsim format; this program reads {VERSION}")
            continue
        line = convert(record[1], Line, where)
        if line.item is not None:
            items.append(line.item)
        if line.call is not None:
            calls.append(line.call)
    if start is not None:
        yield _finish(start, items, calls, notes, source.name)


def _records(source: Source, sample: Sample, notes: list[str]) -> Iterator[tuple[int, Any]]:
    if sample.document is not None:
        yield 1, sample.document
        return
    for record in source.records(notes):
        yield record.line, record.value


def _finish(start: Start, items: list[Item], calls: list[Call], notes: list[str], where: str) -> Transcript:
    transcript = Transcript(
        start.name,
        start.head,
        tuple(items),
        tuple(calls),
        start.format,
        start.parent,
        (*start.notes, *notes),
        start.needles,
        start.compactions,
        start.cleared,
        start.carried,
        start.cost_usd,
        start.project,
        start.version,
    )
    found = problems(transcript)
    if found:
        raise InputError(f"{where}, transcript {start.name}", found[0])
    return transcript
