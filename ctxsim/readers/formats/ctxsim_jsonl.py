"""ctxsim's own JSONL: what every other format converts to, and what reads back equal.

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

import msgspec

from ctxsim.errors import InputError
from ctxsim.readers.source import Sample, Source, convert, has
from ctxsim.transcript import Call, Compaction, Head, Item, Needle, Transcript, problems

NAME = "ctxsim"
TITLE = "ctxsim JSONL"
MARKS = ("ctxsim",)
VERSIONS = "version 1"
READS = "Everything: head, items, calls with usage, times and models, notes, needles, compactions."
NOT_READ = "Other versions than 1."

VERSION = 1


class _Start(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
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
    beside: tuple[Call, ...] = ()


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    item: Item | None = None
    call: Call | None = None


def matches(sample: Sample) -> bool:
    """The first record says so."""
    return has(sample.first, ctxsim=object, name=object)


def lines(transcript: Transcript) -> Iterator[bytes]:
    """Return a transcript as lines of this format."""
    start = _Start(VERSION, *(getattr(transcript, name) for name in _Start.__struct_fields__[1:]))
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
    start: _Start | None = None
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


def _finish(start: _Start, items: list[Item], calls: list[Call], notes: list[str], where: str) -> Transcript:
    fields = msgspec.structs.asdict(start)
    fields |= {"items": tuple(items), "calls": tuple(calls), "notes": (*start.notes, *notes)}
    del fields["ctxsim"]
    transcript = Transcript(**fields)
    found = problems(transcript)
    if found:
        raise InputError(f"{where}, transcript {start.name}", found[0])
    return transcript
