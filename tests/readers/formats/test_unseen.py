"""Logs of versions that nobody has seen yet: what is new in them is told, and the rest is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from read_back import Json, only, text, write

NOTED = "1 x input_tokens that can't be: taken as not recorded"
SESSION: Json = {"type": "session", "id": "s", "cwd": "/w"}
ASKED: Json = {"role": "user", "content": [text("Go.")]}
CODEX_COUNT: Json = {"last_token_usage": {"input_tokens": None, "output_tokens": 5, "cached_input_tokens": 90}}
KIMI_COUNT: Json = {"inputOther": None, "output": 5, "inputCacheRead": 90}
PI_COUNT: Json = {"input": None, "output": 5, "cacheRead": 90}


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


@pytest.mark.parametrize(
    ("format", "lines", "note"),
    [
        ("codex-rollout", CODEX, "left out: 1 x event token_count that repeats or has no usage"),
        ("kimi", KIMI, NOTED), ("pi", PI, NOTED),
    ],
)  # fmt: skip
def test_a_count_that_is_null_is_unknown(format: str, lines: list[Json], note: str, tmp_path: Path) -> None:
    transcript = only(write(tmp_path / "log.jsonl", *lines), format)
    assert [call.usage for call in transcript.calls] == [None]
    assert note in transcript.notes
