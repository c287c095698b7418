"""Gemini API contents: a list of `user` and `model` turns with `parts`, a request that holds one, or JSONL of either.

Documentation: https://ai.google.dev/api/caching#Content; Gemini CLI saves them as checkpoints and with `/chat save`.

    {"systemInstruction": {"parts": [{"text": "Be brief."}]}, "contents": [
      {"role": "user", "parts": [{"text": "Any mail?"}]},
      {"role": "model", "parts": [{"functionCall": {"name": "search", "args": {"q": "mail"}}}]},
      {"role": "user", "parts": [{"functionResponse": {"name": "search", "response": {"output": "2 messages"}}}]},
      {"role": "model", "parts": [{"text": "Two."}]}]}
"""

from collections.abc import Iterator
from typing import Any

from ctxsim.readers.assembly import Assembly
from ctxsim.readers.assembly.conversations import Conversation, conversations
from ctxsim.readers.assembly.gemini import add_contents, add_head, with_compaction_notes
from ctxsim.readers.source import Sample, Source, has
from ctxsim.transcript import Transcript

NAME = "gemini-contents"
TITLE = "Gemini API contents"
MARKS = ("parts",)
VERSIONS = "Gemini API v1beta, REST and Python field names; Gemini CLI checkpoints and saved chats"
READS = "Contents with all their parts, the system instruction, and function declarations."
NOT_READ = "Thought signatures, generation settings, and the screen history of checkpoints."


def matches(sample: Sample) -> bool:
    """A list of turns with parts, an object that holds one, or JSONL of either."""
    return _are_contents(_contents(sample.first)) or _are_contents(sample.records)


def _are_contents(values: list[Any]) -> bool:
    return bool(values) and all(
        isinstance(value, dict) and "parts" in value and value.get("role") in ("user", "model", "function", None)
        for value in values
    )


def _contents(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    held = [value[key] for key in ("contents", "clientHistory", "history") if has(value, **{key: list})]
    return next(filter(_are_contents, held), [])


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return one transcript per list of contents."""
    yield from conversations(source, sample, bool(_contents(sample.first)), _read)


def _read(found: Conversation) -> Transcript:
    assembly = Assembly(found.name, NAME)
    if isinstance(found.value, dict):
        add_head(assembly, found.value, found.where)
    add_contents(assembly, _contents(found.value) or [found.value], found.where)
    return with_compaction_notes(assembly.transcript())
