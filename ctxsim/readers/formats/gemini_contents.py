"""Gemini API contents: a list of `user` and `model` turns with `parts`, a request that holds one, or JSONL of either.

Documentation: https://ai.google.dev/api/caching#Content; Gemini CLI saves them as checkpoints and with `/chat save`.

    {"systemInstruction": {"parts": [{"text": "Be brief."}]}, "contents": [
      {"role": "user", "parts": [{"text": "Any mail?"}]},
      {"role": "model", "parts": [{"functionCall": {"name": "search", "args": {"q": "mail"}}}]},
      {"role": "user", "parts": [{"functionResponse": {"name": "search", "response": {"output": "2 messages"}}}]},
      {"role": "model", "parts": [{"text": "Two."}]}]}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ctxsim.readers.assembly import Assembly
from ctxsim.readers.assembly.conversations import conversations
from ctxsim.readers.assembly.gemini_parts import compaction_notes
from ctxsim.readers.assembly.gemini_request import add_contents, add_head
from ctxsim.readers.source import Sample, Source
from ctxsim.transcript import Transcript

NAME = "gemini-contents"
TITLE = "Gemini API contents"
DOCS = "https://ai.google.dev/api/caching#Content"
MARKS = ("parts",)
VERSIONS = "Gemini API v1beta, REST and Python field names; Gemini CLI checkpoints and saved chats"
READS = "Contents with all their parts, the system instruction, and function declarations."
NOT_READ = "Thought signatures, generation settings, and the screen history of checkpoints."

HOLDERS = ("contents", "clientHistory", "history")


def matches(sample: Sample) -> bool:
    """A list of turns with parts, an object that holds one, or JSONL of either."""
    if not sample.records:
        return False
    return looks_like_contents(_contents(sample.records[0])) or looks_like_contents(sample.records)


def looks_like_contents(values: list[Any]) -> bool:
    """Whether these are contents: all have parts, and roles of Gemini."""
    return bool(values) and all(
        isinstance(value, dict) and "parts" in value and value.get("role") in ("user", "model", "function", None)
        for value in values
    )


def _contents(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    held = [value[key] for key in HOLDERS if isinstance(value.get(key), list)] if isinstance(value, dict) else []
    return next((contents for contents in held if looks_like_contents(contents)), [])


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return one transcript per list of contents."""
    for found in conversations(source, sample, one_per_line=bool(_contents(sample.records[0]))):
        yield _one(*found)


def _one(name: str, where: str, value: Any, notes: list[str]) -> Transcript:
    assembly = Assembly(name, NAME)
    assembly.notes += notes
    if isinstance(value, dict):
        add_head(assembly, value, where)
    add_contents(assembly, _contents(value) or [value], where)
    assembly.head_recorded = bool(assembly.system)
    transcript = assembly.transcript()
    return msgspec.structs.replace(transcript, notes=(*transcript.notes, *compaction_notes(transcript)))
