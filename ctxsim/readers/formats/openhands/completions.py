"""OpenHands completion records: one JSON file per request to the model, with the exact request and its response.

A run's folder (`llm_completions/<instance>/`) is one source; each request is a full copy of the history. Where a model
has no function calling, the calls stand in the text and results are user texts: `messages` is what was sent.

Documentation: https://github.com/All-Hands-AI/OpenHands/blob/main/openhands/llm/llm.py

    {"messages": [
       {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
       {"role": "user", "content": [{"type": "text", "text": "Any mail?"}]}],
     "kwargs": {"tools": [{"type": "function", "function": {"name": "search"}}]},
     "response": {"model": "m", "choices": [{"message": {"role": "assistant", "content": "Two."}}],
       "usage": {"prompt_tokens": 40, "completion_tokens": 2}},
     "timestamp": 1700000000.5}
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from ctxsim.errors import InputError
from ctxsim.readers.assembly import Part, text_and_media, text_of
from ctxsim.readers.assembly.chat_messages import ChatResponse, Message, add_message
from ctxsim.readers.assembly.requests.logged import Caught, Logged, transcripts
from ctxsim.readers.assembly.text_calls import call_in_text
from ctxsim.readers.source import Sample, Source, compact_json, convert, convert_all, has, under
from ctxsim.transcript import Transcript

NAME = "openhands-completions"
TITLE = "OpenHands completion records"
MARKS = ("response",)
VERSIONS = "OpenHands of December 2024 (0.14), and OpenHands SDK 1.0 with and without function calling"
READS = "Exact requests with tools, responses, provider usage, costs and times; a folder of records is one source."
NOT_READ = "`raw_messages` (what was converted for models without function calling), Responses API records."

SUFFIXES = (".json", ".json.gz", ".json.zst")
OTHERS = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".traj", ".traj.gz", ".eval", ".zip")
"""Endings of files that a run's folder doesn't hold; they would not be read as part of the run."""


class _Record(msgspec.Struct):
    messages: list[Any]
    response: ChatResponse
    sent_tools: list[Any] | None = msgspec.field(default=None, name="kwargs.tools")
    tools: list[Any] | None = None
    raw_messages: list[Any] | None = None
    # The response before conversion.
    raw_choices: list[Any] = msgspec.field(default=[], name="raw_response.choices")
    # When the response was logged.
    timestamp: float | None = None
    latency_sec: float | None = None
    cost: Any = None


def matches(sample: Sample) -> bool:
    """An object with the `messages` of a request and the `choices` of its response, besides `kwargs` or `tools`."""
    value = sample.document
    return (
        has(value, messages=list, response=dict)
        and "choices" in value["response"]
        and bool({"kwargs", "tools"} & value.keys())
    )


def owns(folder: Path) -> bool:
    """Whether a folder holds completion records and nothing else to read; a torn one may be among them."""
    if any(entry.is_dir() or entry.name.endswith(OTHERS) for entry in folder.iterdir()):
        return False
    found = False
    for file in _files(folder):
        sample = _sample(file)
        try:
            ours = sample.start.lstrip().startswith(b"{") and matches(sample)
        except InputError:
            continue
        if not ours:
            return False
        found = True
    return found


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return one transcript per conversation of a run; of a single file, the transcript of its request."""
    notes: list[str] = []
    if not sample.folder:
        yield from transcripts([_logged(sample.document, source.name)], source.name, NAME, notes)
        return
    files = sorted(_files(sample.folder), key=lambda file: (_time_s(file), file.name))
    damaged: list[InputError] = []
    made = list(transcripts(_records(files, notes, damaged), source.name, NAME, notes, one_run=True))
    if damaged and not any(one.calls for one in made):
        raise damaged[0]
    yield from made


def _records(files: list[Path], notes: list[str], damaged: list[InputError]) -> Iterator[Logged]:
    """Yield the records that can be read; one that can't is noted, and the others are still read."""
    for file in files:
        try:
            logged = _logged(_sample(file).document, file.name)
        except InputError as error:
            damaged.append(error)
            notes.append(f"{file.name} left out: {error.what}")
            continue
        logged.where = str(file)
        yield logged


def _files(folder: Path) -> list[Path]:
    return [entry for entry in sorted(folder.iterdir()) if entry.name.endswith(SUFFIXES) and entry.is_file()]


def _sample(file: Path) -> Sample:
    return Sample(Source(str(file), file))


def _time_s(file: Path) -> float:
    """Return the time in the name, `<model>-<epoch seconds>.json`; without it, the record's, which must be opened."""
    if named := re.search(r"-(\d{9,}(?:\.\d+)?)\.json", file.name):
        return float(named[1])
    try:
        return convert(_sample(file).document, _Record, str(file)).timestamp or 0.0
    except InputError:
        return 0.0


def _logged(value: Any, where: str) -> Logged:
    record = convert(value, _Record, where)
    request = Caught()
    as_text = record.raw_messages is not None
    for message in convert_all(record.messages, Message, f"{where} message"):
        if as_text and message.role in ("user", "assistant"):
            _add_text_message(request, message)
        else:
            add_message(request, message)
    # `kwargs.tools` was sent. `tools` alone was not, if a converter wrote it into the system prompt.
    request.tools += map(compact_json, record.sent_tools or (None if as_text else record.tools) or [])
    # Without a latency, the time of the response is used.
    time_s = None if record.timestamp is None else record.timestamp - (record.latency_sec or 0.0)
    usage = record.response.whole_usage(record.cost)
    return Logged(where, request, tuple(_reply(record)), usage, time_s, record.response.model or "")


def _reply(record: _Record) -> list[Part]:
    """Return the response as the model wrote it: `response` is converted where calls stand in the text."""
    for choice in record.raw_choices:
        text = text_of(under(choice, "message", "content"))
        if "<function=" in text:
            return _text_call_parts(text)
    return record.response.parts()


def _add_text_message(request: Caught, message: Message) -> None:
    text, media = text_and_media(message.content)
    result = re.match(r"EXECUTION RESULT of \[([^\]]*)\]:", text)
    if message.role == "assistant":
        request.response(_text_call_parts(text))
    elif result and request.said and request.said[-1].response:
        request.result(text, tool=result[1], media=media)
    else:
        request.user(Part("user", text, media=media))


def _text_call_parts(text: str) -> list[Part]:
    """Return text and call of `<function=name>…`; joined, name included, they are exactly the text.

    OpenHands runs no other tags: JSON in `<tool_call>` is text to it, and nobody answers it.
    """
    call = re.search(r"<function=([^>\s]+)", text)
    return call_in_text(text, call.span(1) if call else None)
