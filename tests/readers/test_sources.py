"""Where transcripts come from: lists, patterns, pipes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ctxsim.errors import InputError
from ctxsim.readers import read_source, sources


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
