"""Big files are streamed."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

PROGRAM = """
import sys, tracemalloc
from ctxsim.readers import read

read_all = lambda: sum(len(transcript.calls) for transcript in read(sys.argv[1]))
read_all()  # what is loaded at the first use, as modules, is no transcript
tracemalloc.start()
print(read_all(), tracemalloc.get_traced_memory()[1])
"""


def read_alone(file: Path) -> tuple[int, int]:
    """Calls of all transcripts of a file, and the most bytes held while they are read, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(file)], capture_output=True, text=True, check=True)
    calls, peak = done.stdout.split()
    return int(calls), int(peak)


def test_memory_is_bounded_by_the_largest_transcript(tmp_path: Path) -> None:
    """20 transcripts of 1 MB each: reading them all must not hold much more than one."""
    file = tmp_path / "many.jsonl"
    text = "word " * 200_000
    with file.open("w") as stream:
        for number in range(20):
            messages = [{"role": "user", "content": f"{number} {text}"}, {"role": "assistant", "content": "ok"}]
            stream.write(json.dumps({"messages": messages}) + "\n")
    calls, peak = read_alone(file)
    assert calls == 20
    assert peak < 12 << 20


def test_a_database_is_read_a_session_at_a_time(tmp_path: Path) -> None:
    """20 sessions of 1 MB each: no more than two are held, each as its JSON and as its texts."""
    with closing(sqlite3.connect(tmp_path / "opencode.db")) as made:
        made.execute("CREATE TABLE session (id, parent_id, time_created)")
        made.execute("CREATE TABLE message (id, session_id, time_created, data)")
        made.execute("CREATE TABLE part (id, message_id, session_id, data)")
        for number in range(20):
            made.execute("INSERT INTO session VALUES (?, NULL, ?)", (f"s{number}", number))
            for role, text in (("user", f"{number} {'word ' * 200_000}"), ("assistant", "ok")):
                values = (f"m{role}{number}", f"s{number}", 1, json.dumps({"role": role}))
                made.execute("INSERT INTO message VALUES (?, ?, ?, ?)", values)
                part = json.dumps({"type": "text", "text": text})
                made.execute("INSERT INTO part VALUES ('p', ?, ?, ?)", (values[0], values[1], part))
        made.commit()
    calls, peak = read_alone(tmp_path / "opencode.db")
    assert calls == 20
    assert peak < 8 << 20
