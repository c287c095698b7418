"""Stores of many sessions. Each session is read separately, so that a damaged one doesn't stop the others."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import msgspec

from ctxsim.errors import InputError, NotATranscript
from ctxsim.readers.source import Source, convert
from ctxsim.readers.source.values import json_document
from ctxsim.transcript import Transcript

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")

Connection: TypeAlias = "sqlite3.Connection"
"""A connection to a database. Only databases need sqlite3, which isn't in every Python."""

MOST_TOLD = 5


def cell(value: Any, kind: type[T], where: str, **fields: Any) -> T:
    """Return the JSON in a table's cell as `kind`, with `fields` from other columns. Raises InputError."""
    data = value.encode("utf-8") if isinstance(value, str) else value
    if not isinstance(data, bytes):
        raise InputError(where, "is no JSON text")
    found = json_document(data, where)
    return convert(found | fields if isinstance(found, dict) else found, kind, where)


def row(found: Connection, table: str, of: str, key: str) -> dict[str, Any]:
    """Return the row of a table whose column `of` holds `key`, by column names; {} if it was deleted meanwhile."""
    # Without generated columns, which compute a stranger's expressions.
    names = [name for (name,) in found.execute("SELECT name FROM pragma_table_info(?)", (table,))]
    asked = ", ".join('"{}"'.format(name.replace('"', '""')) for name in names)
    kept = found.execute(f"SELECT {asked} FROM {table} WHERE {of} = ?", (key,)).fetchone()
    return dict(zip(names, kept or (), strict=False))


def runs(values: Iterable[T], goes_on: Callable[[list[T], T], bool]) -> Iterator[list[T]]:
    """Yield values in runs: a value belongs to the run before it if `goes_on(run, value)` is true."""
    run: list[T] = []
    for value in values:
        if run and not goes_on(run, value):
            yield run
            run = []
        run.append(value)
    if run:
        yield run


def of_database(
    source: Source,
    listed: Callable[[Connection], Iterable[tuple[str, str | None]]],
    read: Callable[[Connection, str, str, str | None], Transcript | None],
) -> Iterator[Transcript]:
    """Yield a database's sessions, each read at one moment. `listed` gives their ids and their parents' ids in order.

    `read` gets the connection, the session's id and name, and its parent's name if that is in the database too.
    """
    from ctxsim.readers.source.database import Database

    with Database(source) as database:
        parents = database.read(lambda found: dict(listed(found)))
        names = {session: f"{source.name}#{session}" for session in parents}

        def one(session: str) -> Transcript | None:
            parent = names.get(parents[session] or "")
            return database.read(lambda found: read(found, session, names[session], parent))

        yield from each(source.name, names, one)


def each(
    name: str,
    sessions: Iterable[T],
    read: Callable[[T], Transcript | list[Transcript] | None],
    notes: Iterable[str] = (),
) -> Iterator[Transcript]:
    """Yield the transcripts of a store's sessions; `read` returns one, several, or None for an empty session.

    What was left out is known only at the end, so the last transcript has `notes`, which may still grow while sessions
    are read, and says it. Raises InputError if there is no transcript.
    """
    held: Transcript | None = None
    # Errors hold what was read when they arose: only those that are told are kept.
    bad: list[InputError] = []
    unread = empty = 0
    for session in sessions:
        try:
            made = read(session) or []
        except InputError as error:
            unread += 1
            bad += [error] if unread <= MOST_TOLD else []
            continue
        empty += not made
        for one in made if isinstance(made, list) else [made]:
            if held is not None:
                yield held
            held = one
    if held is None:
        raise bad[0] if bad else NotATranscript(name, "holds no sessions with messages")
    left_out = [str(error) for error in bad]
    left_out += [f"{unread - len(bad)} more that can't be read either"] if unread > len(bad) else []
    left_out += [f"{empty} session(s) without messages"] if empty else []
    yield msgspec.structs.replace(held, notes=(*held.notes, *notes, *(f"left out: {what}" for what in left_out)))
