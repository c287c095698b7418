"""Big files are streamed."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

from ctxsim.readers import read


def test_memory_is_bounded_by_the_largest_transcript(tmp_path: Path) -> None:
    """40 transcripts of 1 MB each: reading them all must not hold much more than one."""
    file = tmp_path / "many.jsonl"
    text = "word " * 200_000
    with file.open("w") as stream:
        for number in range(40):
            messages = [
                {"role": "system", "content": "s"},
                {"role": "user", "content": f"{number} {text}"},
                {"role": "assistant", "content": "ok"},
            ]
            stream.write(json.dumps({"messages": messages}) + "\n")
    tracemalloc.start()
    try:
        assert sum(len(transcript.calls) for transcript in read(str(file))) == 40
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 12 << 20


def test_one_line_of_50_megabytes(tmp_path: Path) -> None:
    file = tmp_path / "wide.jsonl"
    with file.open("w") as stream:
        for content in ("short", "x" * 50_000_000):
            stream.write(json.dumps({"role": "user", "content": content}) + "\n")
        stream.write(json.dumps({"role": "assistant", "content": "ok"}) + "\n")
    (transcript,) = read(str(file))
    assert len(transcript.items[1].text) == 50_000_000
