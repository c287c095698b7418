"""Logs of versions that nobody has seen yet: what is new in them is told, and the rest is read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from read_back import Json, all_of, only, text, write

from ctxsim.errors import NotATranscript
from ctxsim.readers import detect, registered_formats
from ctxsim.readers.source import Sample, Source

NOTED = "1 x input_tokens that can't be: taken as not recorded"
SESSION: Json = {"type": "session", "id": "s", "cwd": "/w"}
ASKED: Json = {"role": "user", "content": [text("Go.")]}
CODEX_COUNT: Json = {"last_token_usage": {"input_tokens": None, "output_tokens": 5, "cached_input_tokens": 90}}
KIMI_COUNT: Json = {"inputOther": None, "output": 5, "inputCacheRead": 90}
PI_COUNT: Json = {"input": None, "output": 5, "cacheRead": 90}
CLAUDE_COUNT: Json = {"input_tokens": None, "output_tokens": 5, "cache_read_input_tokens": 90}


def item(role: str) -> Json:
    return {"type": "response_item", "payload": {"type": "message", "role": role, "content": [text("Go.")]}}


def event(kind: str, **fields: Any) -> Json:
    return {"type": "context.append_loop_event", "event": {"type": kind} | fields}


CODEX = [
    {"type": "session_meta", "payload": {"id": "s"}}, item("user"), item("assistant"),
    {"type": "event_msg", "payload": {"type": "token_count", "info": CODEX_COUNT}},
]  # fmt: skip
KIMI = [
    {"type": "metadata", "protocol_version": "1.4"}, {"type": "context.append_message", "message": ASKED},
    event("step.begin"), event("content.part", part=text("Done.")), event("step.end", usage=KIMI_COUNT),
]  # fmt: skip
PI = [
    SESSION, {"type": "message", "message": ASKED},
    {"type": "message", "message": {"role": "assistant", "content": "Done.", "usage": PI_COUNT}},
]  # fmt: skip

CLAUDE = [
    {"type": "assistant", "uuid": "a", "parentUuid": None, "sessionId": "s", "isSidechain": False,
     "message": {"role": "assistant", "stop_reason": "end_turn", "content": "Done.", "usage": CLAUDE_COUNT}},
]  # fmt: skip


@pytest.mark.parametrize(
    ("format", "lines", "note"),
    [
        ("codex-rollout", CODEX, "left out: 1 x event token_count that repeats or has no usage"),
        ("kimi", KIMI, NOTED), ("pi", PI, NOTED), ("claude-code", CLAUDE, NOTED),
    ],
)  # fmt: skip
def test_a_count_that_is_null_is_unknown(format: str, lines: list[Json], note: str, tmp_path: Path) -> None:
    transcript = only(write(tmp_path / "log.jsonl", *lines), format)
    assert [call.usage for call in transcript.calls] == [None]
    assert note in transcript.notes


def example(format: str) -> list[Json]:
    """The lines of the example that the reader's module shows; of two, the last one."""
    shown = (registered_formats()[format].__doc__ or "").replace(", ...}", "}").split("\n\n")[-1]
    return [json.loads(line) for line in re.sub(r"\n {5,}", " ", shown).splitlines()]


@pytest.mark.parametrize(
    ("format", "new"),
    [
        ("codex-rollout", {"type": "new", "payload": {}}), ("copilot-cli", {"type": "session.new", "data": {}}),
        ("droid", {"type": "new", "session_id": "s"}), ("gemini-cli", {"type": "new"}),
        ("grok", {"type": "new", "tool_call_id": 5}), ("kimi", {"type": "new.kind"}),
        ("pi", {"type": "new", "id": "0", "parentId": None}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("place", [0, 2, 9])
def test_a_log_may_hold_lines_of_a_new_kind(place: int, format: str, new: Json, tmp_path: Path) -> None:
    lines = example(format)
    (known,) = all_of(write(tmp_path / "known.jsonl", *lines), format)
    assert known.items
    (found,) = all_of(write(tmp_path / "new.jsonl", *lines[:place], new, new, *lines[place:]), format)
    assert (found.items, found.calls, found.head) == (known.items, known.calls, known.head)
    assert any(note.startswith("left out: ") and "2 x " in note for note in found.notes), found.notes


@pytest.mark.parametrize("format", ["codex-rollout", "copilot-cli", "droid", "grok", "kimi"])
def test_a_log_that_was_appended_to_itself_is_read_once(format: str, tmp_path: Path) -> None:
    lines = example(format)
    known = only(write(tmp_path / "known.jsonl", *lines), format)
    # An early copy, the whole log, and the whole log again.
    found = only(write(tmp_path / "twice.jsonl", *lines[:3], *lines, *lines), format)
    assert (found.items, found.calls, found.head) == (known.items, known.calls, known.head)
    told = f"{3 + len(lines)} line(s) left out that repeat the log's beginning: it was appended to itself"
    assert found.notes == (*known.notes[: found.notes.index(told)], told, *known.notes[found.notes.index(told) :])


def test_a_log_most_of_whose_lines_are_new_is_none(tmp_path: Path) -> None:
    new = [{"type": "new", "session_id": "s"}] * 5
    looked_at = Sample(Source("x", write(tmp_path / "log.jsonl", *new, *example("droid"))))
    with pytest.raises(NotATranscript):
        detect(looked_at)
    assert looked_at.records == [*new, *example("droid")]
    with pytest.raises(NotATranscript, match="JSON object with keys type, session_id; see"):
        all_of(write(tmp_path / "log.jsonl", *new, *example("droid")), "droid")
