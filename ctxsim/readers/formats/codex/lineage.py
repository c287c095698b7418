"""The other rollouts that a Codex rollout names: its parent's, and the one whose first lines it goes on.

Source: HistoryPosition of https://github.com/openai/codex, codex-rs/protocol/src/protocol.rs, and revert_thread.rs and
paginated_fork.rs in codex-rs/thread-store/src/local
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from math import inf
from pathlib import Path, PurePath
from typing import Any
from uuid import UUID

from ctxsim.readers.assembly import Assembly
from ctxsim.readers.assembly.responses import Exchanges
from ctxsim.readers.source import Source, has, under
from ctxsim.readers.source.values import MOST_DIGITS

Line = tuple[str, Any, str]
"""Type, value and place of a line."""


def lines(source: Source, exchanges: Exchanges) -> Iterator[Line]:
    """Yield a rollout's lines. Before its own it has those of the rollouts that it goes on, which stand in those files
    alone, and those that a sub-agent was given: its header stands behind them once more.
    """
    found = exchanges.assembly.lines(source)
    head = next(found, ("", None, ""))
    first = str(under(head[1], "payload", "subagent_history_start_ordinal"))
    own = int(first[:MOST_DIGITS]) if first.isdecimal() else 0
    base = _base(head)
    copies = own > 0 or base is not None
    yield from [head] if head[0] else ()
    yield from _before(source, exchanges, base)
    for line in found:
        if copies and _ordinal(line, inf) >= own:
            copies = False
            yield head
        yield line


def _base(head: Line) -> tuple[str, int] | None:
    """The rollout that a header's rollout goes on, and the ordinal at which it does."""
    base = under(head[1], "payload", "history_base")
    stated = has(base, thread_id=str, end_ordinal_exclusive=int)
    return (base["thread_id"], base["end_ordinal_exclusive"]) if stated else None


def _before(source: Source, exchanges: Exchanges, base: tuple[str, int] | None) -> Iterator[Line]:
    """Yield the lines of the rollouts that one goes on, the oldest first. If they aren't all here, say so: requests
    held more.
    """
    files_in, at, end = cache(source.files_in), source.place.parent, inf
    # By rollout, the newest first: where it ends for those behind it, and its file if that is here.
    known: dict[str, tuple[float, Source | None]] = {}
    while base is not None and base[0] not in known:
        rollout, end = base[0], min(end, base[1])
        file = rollout_of(files_in, at, rollout)
        there = Source(file, Path(file)) if file else None
        known[rollout] = end, there
        if there is None:
            break
        at, base = there.place.parent, _base(next(Assembly(there.name).lines(there), ("", None, "")))
    ordinal = -1.0
    for rollout, (end, there) in reversed(known.items()):
        for line in exchanges.assembly.lines(there) if there else ():
            ordinal = _ordinal(line, ordinal)
            if ordinal >= end:
                break
            if line[0] != "session_meta":
                yield line
        if ordinal < end - 1:
            exchanges.comparable = False
            exchanges.assembly.notes.append(
                f"the history before the first line is in rollout {rollout}, which isn't here"
            )


def _ordinal(line: Line, without: float) -> float:
    ordinal = under(line[1], "ordinal")
    return ordinal if isinstance(ordinal, int) else without


def rollout_of(files_in: Callable[[PurePath], dict[str, str]], own: PurePath, rollout: str) -> str | None:
    """Return the rollout whose file's name ends with this id, in the folder `own` or in that of its day."""
    for folder in _folders(own, rollout):
        beside = files_in(folder)
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
