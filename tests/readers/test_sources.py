"""Where transcripts come from: lists, patterns, pipes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ctxsim.errors import InputError
from ctxsim.readers import read_source, sources
from ctxsim.readers.source import limits


def test_a_list_and_a_pattern_are_sources(logs: Path, tmp_path: Path) -> None:
    everything = [source.name for source in sources(str(logs))]
    assert [source.name for source in sources(f"{logs}/log*.jsonl")] == everything
    (tmp_path / "list.txt").write_text(f"{logs}/log03.jsonl\n\n{logs}/log01.jsonl\n")
    listed = [source.name for source in sources(f"@{tmp_path}/list.txt")]
    assert listed == [f"{logs}/log03.jsonl", f"{logs}/log01.jsonl"]
    # A file that somebody names must be a transcript; what lies in a folder need not.
    named = {one: [source.named for source in sources(one)] for one in (f"{logs}/log03.jsonl", str(logs))}
    assert named == {f"{logs}/log03.jsonl": [True], str(logs): [False] * len(everything)}
    with pytest.raises(InputError, match="matches nothing"):
        list(sources(f"{logs}/none*.json"))
    with pytest.raises(InputError, match="no list of paths"):
        list(sources("@nothing-here"))


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    import threading

    chat = [{"role": "system", "content": "s"}, {"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    writer = threading.Thread(target=lambda: fifo.write_text(json.dumps(chat)))
    writer.start()
    found = [transcript for source in sources(str(fifo)) for transcript in read_source(source)]
    writer.join()
    assert len(found) == 1


def test_a_source_may_take_ten_minutes_and_a_second_for_each_mb(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [1_000.0]
    monkeypatch.setattr(limits.time, "monotonic", lambda: now_s[0])
    pace = limits.Pace("log")
    now_s[0] += 603
    pace.took(3_000_000)
    now_s[0] += 0.1
    with pytest.raises(InputError, match="log: took longer than 600 s to read"):
        pace.took(0)
    monkeypatch.undo()
    with pytest.raises(InputError, match="log: is larger than 20 GB"):
        pace.took(20_000_000_000)
