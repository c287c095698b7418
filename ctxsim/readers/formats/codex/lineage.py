"""The other rollouts that a Codex rollout names: its parent's, and the one whose first lines it goes on.

Source: HistoryPosition of https://github.com/openai/codex, codex-rs/protocol/src/protocol.rs, and revert_thread.rs and
paginated_fork.rs in codex-rs/thread-store/src/local
"""

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from math import inf
from pathlib import Path, PurePath
from typing import Any
from uuid import UUID

from ctxsim.readers.assembly.responses import Exchanges
from ctxsim.readers.source import Source, has, under

Line = tuple[str, Any, str]
"""Type, value and place of a line."""


def lines(source: Source, exchanges: Exchanges, met: frozenset[str] = frozenset()) -> Iterator[Line]:
    """Yield a rollout's lines. Before its own it has those of the rollout that it goes on, which stand in that file
    alone, and those that a sub-agent was given: its header stands behind them once more.
    """
    found = exchanges.assembly.lines(source)
    head = next(found, ("", None, ""))
    base, first = (under(head[1], "payload", key) for key in ("history_base", "subagent_history_start_ordinal"))
    own = int(first) if str(first).isdecimal() else 0
    copies = own > 0
    yield from [head] if head[0] else ()
    if has(base, thread_id=str, end_ordinal_exclusive=int) and base["thread_id"] not in met:
        copies = True
        yield from _before(source, exchanges, base["thread_id"], base["end_ordinal_exclusive"], met)
    for line in found:
        if copies and _ordinal(line, inf) >= own:
            copies = False
            yield head
        yield line


def _before(source: Source, exchanges: Exchanges, rollout: str, end: int, met: frozenset[str]) -> Iterator[Line]:
    """Yield the lines of another rollout up to an ordinal. If they aren't all here, say so: requests held more."""
    file, ordinal = rollout_of(source, rollout), -1.0
    for line in lines(Source(file, Path(file)), exchanges, met | {rollout}) if file else ():
        ordinal = _ordinal(line, ordinal)
        if ordinal >= end:
            break
        if line[0] != "session_meta":
            yield line
    if ordinal < end - 1:
        exchanges.comparable = False
        exchanges.assembly.notes.append(f"the history before the first line is in rollout {rollout}, which isn't here")


def _ordinal(line: Line, without: float) -> float:
    ordinal = under(line[1], "ordinal")
    return ordinal if isinstance(ordinal, int) else without


def rollout_of(source: Source, rollout: str) -> str | None:
    """Return the rollout whose file's name ends with this id, beside `source` or in the folder of its day."""
    for folder in _folders(source.place.parent, rollout):
        beside = source.files_in(folder)
        for file in beside:
            if file.startswith("rollout-") and file.partition(".jsonl")[0].endswith(rollout):
                return beside[file]
    return None


def _folders(own: PurePath, rollout: str) -> Iterator[PurePath]:
    yield own
    if all(part.isdecimal() for part in own.parts[-3:]):
        # Such an id begins with the milliseconds since 1970; folders are named by the local date.
        with suppress(ValueError, OverflowError):
            made = datetime.fromtimestamp((UUID(rollout).int >> 80) / 1000, UTC)
            for days in (0, -1, 1):
                yield own.parents[2] / f"{made + timedelta(days):%Y/%m/%d}"
