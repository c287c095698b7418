"""A bench holds one transcript at a time."""

from __future__ import annotations

import gc
import json
import tracemalloc
from pathlib import Path

from ctxsim.runs.conduct import conduct
from ctxsim.runs.task import Setting


def test_a_bench_holds_one_transcript_at_a_time(tmp_path: Path) -> None:
    """Replaying 20 transcripts of 200 kB holds no more than replaying 4, though nobody collects garbage meanwhile."""
    text = "word " * 40_000

    def peak(count: int) -> int:
        file = tmp_path / f"{count}.jsonl"
        with file.open("w") as stream:
            for number in range(count):
                roles = ("system", "user", "assistant")
                messages = [{"role": role, "content": f"{number} {text if role == 'user' else role}"} for role in roles]
                stream.write(json.dumps({"messages": messages}) + "\n")
        setting = Setting("x", "x", ("keep-all", "mask"))
        gc.disable()
        tracemalloc.start()
        try:
            conduct(setting, tmp_path / f"out{count}", paths=[str(file)])
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
            gc.enable()

    peak(1)  # what is loaded at the first time stays
    assert peak(20) < peak(4) + (2 << 20)
