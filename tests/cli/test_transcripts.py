"""`ctxsim transcripts`."""

from __future__ import annotations

import json
import re
from pathlib import Path

from command_line import ctxsim


def test_transcripts_convert_and_stats(tmp_path: Path) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    chat = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": '{"a": [1, 2, 3]}'},
        {"role": "assistant", "content": "yo"},
    ]
    (tmp_path / "chat.json").write_text(json.dumps(chat))
    assert ctxsim("transcripts", "convert", "chat.json", "--out", "own.jsonl", cwd=tmp_path).returncode == 0
    direct = ctxsim("bench", "chat.json", "--out", "a", cwd=tmp_path)
    converted = ctxsim("bench", "own.jsonl", "--out", "b", cwd=tmp_path)
    assert direct.returncode == converted.returncode == 0
    assert (tmp_path / "a" / "calls.csv").read_bytes() == (tmp_path / "b" / "calls.csv").read_bytes()
    stats = ctxsim("transcripts", "stats", "chat.json", cwd=tmp_path).stdout
    assert re.search(r"search +1 +16 ", stats) and re.search(r"json +1 +16 ", stats)
    call["function"]["name"] = "se\narch\t"
    (tmp_path / "feed.json").write_text(json.dumps(chat))
    for form in ("table", "md"):
        stats = ctxsim("transcripts", "stats", "feed.json", "--format", form, cwd=tmp_path).stdout
        assert re.search(r"se\\narch\\t[ |]+1[ |]+16 ", stats), stats
