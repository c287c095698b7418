"""The log of all requests: one JSON line each, in the format of the reader `request-log`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from ctxsim.live.session import SHAPES, Served
from ctxsim.safety.redaction import marked


class Entry(msgspec.Struct, omit_defaults=True):
    """One request with its answer. `kept` to `twice` count items by match; `dropped` counts missing ones."""

    session: str
    number: int
    kind: str
    step: int
    status: int
    tokens: int
    output: int
    cost_usd: float | None
    request: dict[str, Any]
    response: dict[str, Any]
    api: str = ""
    compacted: bool = False
    retry: bool = False
    kept: int = 0
    cut: int = 0
    inserted: int = 0
    twice: int = 0
    dropped: int = 0
    unused: str = ""


class Log:
    """Appends each request to a file; without a path it only counts. `redacted`: marks replace likely secrets."""

    def __init__(self, path: Path | None, redacted: bool = False) -> None:
        self._redacted = redacted
        self._file = path.open("ab") if path else None
        self.number = 0
        self._dropped: dict[str, int] = {}

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *error: object) -> None:
        if self._file:
            self._file.close()

    def write(self, session: str, body: dict[str, Any], served: Served) -> Entry:
        """Write one request to the file, and return its entry, which isn't redacted."""
        self.number += 1
        entry = self._entry(session, body, served)
        if self._file:
            line = msgspec.json.encode(entry)
            self._file.write((marked(line.decode()).encode() if self._redacted else line) + b"\n")
            self._file.flush()
        return entry

    def _entry(self, session: str, body: dict[str, Any], served: Served) -> Entry:
        shape = SHAPES[served.api]
        if served.refusal:
            response, status, _ = shape.refusal(served.refusal)
        else:
            status, response = 200, shape.whole(served.reply)
        entry = Entry(
            session, self.number, served.kind, served.step, status, served.tokens, served.output, served.cost_usd,
            body, response, served.api, retry=served.retry, unused=served.unused,
        )  # fmt: skip
        if served.matched:
            states = [match.state for match in served.matched.matches]
            entry.kept, entry.cut = states.count("kept"), states.count("cut")
            entry.inserted, entry.twice = states.count("inserted"), states.count("twice")
            entry.dropped = len(served.matched.dropped)
            entry.compacted = entry.dropped > self._dropped.get(session, 0)
            self._dropped[session] = entry.dropped
        return entry
