"""ctxsim's own JSONL, to which transcripts of every format can be converted. It reads back equal.

Documentation: #ctxsim-jsonl. A transcript is one line that starts it, then its items and calls in recorded order.
A file may hold several transcripts. Fields with their default value are left out.

    {"ctxsim": 1, "name": "s.jsonl", "head": {"system": "Be brief."}, "format": "openai-chat"}
    {"item": {"kind": "user", "place": 0, "message": 1, "text": "Any mail?"}}
    {"item": {"kind": "tool_call", "place": 1, "message": 2, "text": "{}", "tool": "search", "call_id": "c1"}}
    {"call": {"start": 1, "end": 2, "usage": {"input_tokens": 40, "output_tokens": 9}}}
    {"item": {"kind": "tool_result", "place": 2, "message": 3, "text": "2 messages", "tool": "search", "answers": 1}}
    {"item": {"kind": "assistant", "place": 3, "message": 4, "text": "Two."}}
    {"call": {"start": 3, "end": 4}}
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from ctxsim.errors import InputError
from ctxsim.readers.source import Sample, Source, convert, has
from ctxsim.transcript import Call, Head, Item, Transcript, problems

NAME = "ctxsim"
TITLE = "ctxsim JSONL"
MARKS = ("ctxsim",)
VERSIONS = "version 1"
READS = "Everything: head, items, calls with usage, times and models, notes, needles, compactions."
NOT_READ = "Other versions than 1."

VERSION = 1

_OF_TRANSCRIPT = [
    (one.name, one.type, Head() if one.name == "head" else one.default)
    for one in msgspec.structs.fields(Transcript)
    if one.name not in ("name", "items", "calls", "after_compaction", "compacted_at")
]

_Start = msgspec.defstruct(
    "_Start", [("ctxsim", int), ("name", str), *_OF_TRANSCRIPT], omit_defaults=True, forbid_unknown_fields=True
)
"""The line that starts a transcript: its fields but items, calls and those that only a segment has."""


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    item: Item | None = None
    call: Call | None = None


def matches(sample: Sample) -> bool:
    """The first record has the fields `ctxsim` and `name`."""
    return has(sample.first, ctxsim=object, name=object)


def lines(transcript: Transcript) -> Iterator[bytes]:
    """Return a transcript as lines of this format."""
    start = _Start(VERSION, *(getattr(transcript, name) for name in _Start.__struct_fields__[1:]))
    # The first field has no default, so it is always written: detection looks for it.
    yield msgspec.json.encode(start)
    end = 0
    for call in transcript.calls:
        yield from (msgspec.json.encode({"item": item}) for item in transcript.items[end : call.end])
        yield msgspec.json.encode({"call": call})
        end = call.end
    yield from (msgspec.json.encode({"item": item}) for item in transcript.items[end:])


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Yield the transcripts of a file. Raises InputError for an invalid line or transcript."""
    notes: list[str] = []
    start: Any = None
    items: list[Item] = []
    calls: list[Call] = []
    for record in sample.all(notes):
        where = f"{source.name}:{record.line}"
        if has(record.value, ctxsim=object):
            if start is not None:
                yield _finish(start, items, calls, notes, source.name)
            start, items, calls, notes[:] = convert(record.value, _Start, where), [], [], []
            if start.ctxsim != VERSION:
                raise InputError(where, f"is version {start.ctxsim} of the ctxsim format; this program reads {VERSION}")
            continue
        line = convert(record.value, _Line, where)
        if line.item is not None:
            items.append(line.item)
        if line.call is not None:
            calls.append(line.call)
    if start is not None:
        yield _finish(start, items, calls, notes, source.name)


def _finish(start: Any, items: list[Item], calls: list[Call], notes: list[str], where: str) -> Transcript:
    fields = msgspec.structs.asdict(start)
    fields |= {"items": tuple(items), "calls": tuple(calls), "notes": (*start.notes, *notes)}
    del fields["ctxsim"]
    transcript = Transcript(**fields)
    if found := problems(transcript):
        raise InputError(f"{where}, transcript {start.name}", found[0])
    return transcript
