"""Inspect AI evaluation logs: `.eval` archives and `.json` documents, whose model events hold every request whole.

Documentation: https://inspect.aisi.org.uk/eval-logs.html

    {"version": 2, "status": "success", "eval": {"task": "mail"}, "samples": [
      {"id": 1, "epoch": 1, "attachments": {"9f": "Any mail?"}, "messages": [], "events": [
        {"event": "model", "model": "openai/m", "timestamp": "2025-01-01T12:00:00+00:00",
         "input": [{"role": "user", "content": "attachment://9f"}], "tools": [],
         "output": {"model": "m", "usage": {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12},
           "choices": [{"message": {"role": "assistant", "content": "Two."}}]}}]}]}
"""

import zipfile
from collections.abc import Iterator
from typing import Any, cast

import msgspec

from ctxsim.readers.assembly import Assembly, text_of
from ctxsim.readers.assembly.requests.threads import Request, Thread, threads
from ctxsim.readers.formats.inspect_ai.events import ModelEvent, Walk, add_message, response_parts, vendor_of
from ctxsim.readers.source import Sample, Source, convert, has, time_s
from ctxsim.readers.source.archive import member_bytes
from ctxsim.readers.source.values import json_document
from ctxsim.transcript import Transcript

NAME = "inspect-ai"
TITLE = "Inspect AI evaluation logs"
MARKS = ("eval", "header.json", "_journal/start.json")
VERSIONS = "log versions 2 and 3 (inspect_ai 0.3.4x to 0.3.28x), also with chunked samples"
READS = "Every request of every sample with the provider's usage; one transcript per thread, sub-agents included."
NOT_READ = "Model calls of scorers, sandbox commands, stores, scores, and retries of samples that failed."

CACHED = "response(s) came from the harness's own cache, with no request: no usage"
FOREIGN = "response(s) came with a request, made by no request of this thread: no usage"


class _Sample(msgspec.Struct):
    id: int | str
    epoch: int = 1
    messages: list[Any] | None = None
    events: list[Any] | None = None
    attachments: dict[str, str] | None = None
    # Where older versions keep events and attachments.
    transcript: dict[str, Any] | None = None
    message_pool: list[Any] | None = None
    events_data: dict[str, Any] | None = None


def matches(sample: Sample) -> bool:
    """An archive with a header or journal and samples, or an object with `version`, `status` and `eval`."""
    if sample.members:
        return any(name in ("header.json", "_journal/start.json") for name in sample.members)
    return has(sample.document, eval=dict, status=object, version=object)


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return one transcript per thread of each sample."""
    if sample.members:
        samples = _archived(source, sample)
    else:
        listed = convert(sample.document.get("samples") or [], list[Any], f"{source.name} samples")
        samples = ((f"{source.name} sample {number}", value) for number, value in enumerate(listed))
    empty = True
    for where, value in samples:
        empty = False
        yield from _transcripts(source, where, convert(value, _Sample, where))
    if empty:
        assembly = Assembly(source.name, NAME)
        assembly.head_recorded = True
        assembly.notes.append("the log has no samples: its run was not finished, or it is a header alone")
        yield assembly.finished()


def _archived(source: Source, sample: Sample) -> Iterator[tuple[str, Any]]:
    with source.open() as stream, zipfile.ZipFile(cast(Any, stream)) as archive:
        for name in sorted(sample.members):
            match name.split("/"):
                case ["samples", file] if file.endswith(".json"):
                    yield f"{source.name}!{name}", _member(source, archive, name)
                case ["samples", _, "sample.json"]:
                    folder = name.removesuffix("sample.json")
                    yield f"{source.name}!{name}", _member(source, archive, name) | _sequences(source, archive, folder)


def _sequences(source: Source, archive: zipfile.ZipFile, folder: str) -> dict[str, Any]:
    """Return what a chunked sample keeps beside its own file. Source: `log/_recorders/chunked/format.py` upstream."""
    found: dict[str, list[Any]] = {"events": [], "messages": [], "attachments": []}
    for kind, values in found.items():
        starts = [name.removeprefix(f"{folder}{kind}/").removesuffix(".json") for name in archive.namelist()]
        for start in sorted(int(start) for start in starts if start.isdigit()):
            values += _member(source, archive, f"{folder}{kind}/{start}.json")
    attachments = {str(number): text for number, text in enumerate(found["attachments"])}
    return {"events": found["events"], "message_pool": found["messages"], "attachments": attachments}


def _member(source: Source, archive: zipfile.ZipFile, name: str) -> Any:
    return json_document(member_bytes(archive, archive.getinfo(name)), f"{source.name}!{name}")


def _transcripts(source: Source, where: str, sample: _Sample) -> Iterator[Transcript]:
    old = sample.transcript or {}
    attachments = convert(sample.attachments or old.get("content") or {}, dict[str, str], f"{where} attachments")
    pool = convert(sample.message_pool or (sample.events_data or {}).get("messages") or [], list[Any], f"{where} pool")
    found = Walk(pool, attachments, where)
    found.events(sample.events or old.get("events") or [])
    name = f"{source.name}#{sample.id}_epoch_{sample.epoch}"
    if not found.calls:
        yield _final_messages(name, where, sample, found)
        return
    calls = found.calls
    chains = threads([_request(call) for call in calls])
    if abandoned := sum(len(thread.abandoned) for thread in chains):
        found.left_out["response that no later request holds"] += abandoned
    for number, thread in enumerate(chains):
        agent = calls[thread.steps[0].number].agent or "thread"
        main = number == 0
        assembly = Assembly(name if main else f"{name}:{agent}-{number}", NAME, None if main else name)
        if main:
            assembly.left_out = found.left_out
        _add_thread(assembly, thread, calls)
        yield assembly.finished()


def _request(call: ModelEvent) -> Request:
    keys = [message.key for message in call.messages]
    places = {key: place for place, key in enumerate(keys)}
    reply = call.reply.key
    return Request(keys, reply, places, [reply], call.context, after_compaction=call.compaction is not None)


def _final_messages(name: str, where: str, sample: _Sample, found: Walk) -> Transcript:
    """Return the final message list as a transcript, for logs that were written without model events."""
    assembly = Assembly(name, NAME)
    for message in found.messages(sample.messages or [], f"{where} message"):
        add_message(assembly, message, vendor_of(""))
    assembly.left_out = found.left_out
    assembly.notes.append("no usable model events: read from the final messages, without usage and tool definitions")
    return assembly.finished()


def _add_thread(assembly: Assembly, thread: Thread, calls: list[ModelEvent]) -> None:
    first = calls[thread.steps[0].number]
    assembly.tools += first.tools
    # Requests are logged whole: one without a system prompt was sent without.
    assembly.head_recorded = True
    whole = True
    for step, following in zip(thread.steps, (*thread.steps[1:], None), strict=True):
        call = calls[step.number]
        stored = call.stored
        whole = whole and step.whole
        if not step.whole and (compaction := call.compaction):
            tokens = "" if compaction.tokens_before is None else f", {compaction.tokens_before} tokens"
            assembly.shortening("recorded compaction", f"auto, {compaction.type}{tokens}")
        elif not step.whole:
            assembly.shortening("unrecorded change of the history")
        vendor = vendor_of(stored.model)
        new = [message for message in call.messages[step.known :] if not message.summary]
        summarizes = following is not None and not following.whole and _summarizes(call, calls[following.number])
        # The last message of a request for a summary is the prompt that asks for it.
        for message in new[:-1] if summarizes else new:
            assembly.counts[FOREIGN] += message.role == "assistant"
            add_message(assembly, message, vendor)
        if summarizes:
            assembly.left_out["request for a summary"] += 1
            _paid(assembly, call, summary=True)
            continue
        usage = stored.whole_usage()
        parts = response_parts(call.reply, vendor, usage.reasoning_tokens if usage else None)
        if stored.cache == "read":
            # Its usage is that of the call which filled the cache.
            assembly.counts[CACHED] += 1
            usage = None
        # The time is the request's start where the log also has `completed`; versions before that knew only the end.
        assembly.response(parts, usage, time_s(stored.timestamp), stored.served_by or stored.model, whole)
    for number in thread.abandoned:
        _paid(assembly, calls[number])
    if any(calls[step.number].tools != first.tools for step in thread.steps):
        assembly.notes.append("the tool definitions change during the run: those of the first request are kept")


def _paid(assembly: Assembly, call: ModelEvent, summary: bool = False) -> None:
    stored = call.stored
    usage = stored.whole_usage() if stored.cache != "read" else None
    assembly.beside(usage, time_s(stored.timestamp), stored.served_by or stored.model, summary)


def _summarizes(call: ModelEvent, following: ModelEvent) -> bool:
    """Return whether this response is the text that the next request has as the summary of the history."""
    text = text_of(call.reply.blocks).strip()
    return bool(text) and any(one.summary and text in text_of(one.content) for one in following.messages)
