"""OpenCode sessions: its database, a storage folder of one small JSON file per session, message and part, or an export.

The database's tables `session`, `message` and `part` hold the same JSON in a column, without the ids. OpenCode 2 has
tables of its own, and copies sessions into them.

Documentation: https://opencode.ai/docs (`opencode export`), https://github.com/sst/opencode (`session/message-v2.ts`)

    session/<project>/ses_1.json   {"id": "ses_1", "parentID": null, "version": "1.0.1"}
    message/ses_1/msg_1.json       {"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": {"created": 1000}}
    message/ses_1/msg_2.json       {"id": "msg_2", "sessionID": "ses_1", "role": "assistant", "modelID": "m"}
    part/msg_1/prt_1.json          {"messageID": "msg_1", "type": "text", "text": "Any mail?"}
    part/msg_2/prt_2.json          {"messageID": "msg_2", "type": "tool", "tool": "search", "callID": "c1",
                                    "state": {"status": "completed", "input": {"q": "mail"}, "output": "2 messages"}}
    opencode.db: part           id prt_1, message_id msg_1, session_id ses_1, data {"type": "text", "text": "Any mail?"}
"""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from ctxsim.readers.assembly import Assembly
from ctxsim.readers.assembly.stores import Connection, cell, of_database, row
from ctxsim.readers.formats.opencode import second
from ctxsim.readers.formats.opencode.session import Info, Message, Part, Session, transcript
from ctxsim.readers.source import Sample, Source, convert, convert_all, has, json_file
from ctxsim.transcript import Transcript

NAME = "opencode"
TITLE = "OpenCode sessions"
MARKS = ("info", "session")
VERSIONS = (
    "opencode.db of 1.x, tested on OpenCode 1.18.34, Kilo Code 7.7.9, and of 2.0; storage folders of 0.x and 1.x; "
    "exports of 1.x"
)
READS = "Sessions with their sub-sessions, tool calls and results, reasoning, and the usage of each step."
NOT_READ = "Snapshots, patches and file attachments of text. System prompts and tool definitions are not stored."

COLUMNS = {
    "session": {"id", "parent_id", "time_created"},
    "message": {"id", "session_id", "time_created", "data"},
    "part": {"id", "message_id", "session_id", "data"},
}
"""The columns that are read, by table."""

COPIED = "newer versions copied what was in this folder to opencode.db beside it: read one of them"


class _Exported(msgspec.Struct):
    info: Any
    parts: list[Any]


def owns(folder: Path) -> bool:
    """Whether a folder holds the three trees of a storage folder."""
    return all((folder / tree).is_dir() for tree in ("session", "message", "part"))


def matches(sample: Sample) -> bool:
    """A database, or an exported session: an object with `info` and `messages`, each with `info` and `parts`."""
    if sample.database:
        return sample.has_tables(COLUMNS) or sample.has_tables(second.COLUMNS)
    return has(sample.document, info=dict, messages=list) and all(
        has(message, info=dict, parts=list) for message in sample.document["messages"]
    )


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return one transcript per session."""
    if sample.folder:
        yield from _stored(source, sample.folder)
    elif sample.database:
        # A session that OpenCode 2 has copied is in both tables, and goes on in the newer one.
        tables = {"session": COLUMNS, "session_v2": second.COLUMNS}
        there = [table for table, columns in tables.items() if sample.has_tables(columns)]

        def listed(found: Connection) -> Iterator[tuple[str, str | None]]:
            for table in there:
                yield from found.execute(f"SELECT id, parent_id FROM {table} ORDER BY time_created, id")

        def one(found: Connection, session: str, name: str, parent: str | None) -> Transcript | None:
            newer = second.session_of(found, session, name, parent) if "session_v2" in there else None
            return newer or (_of_database(found, session, name, parent) if "session" in there else None)

        yield from of_database(source, listed, one)
    else:
        session = convert(sample.document["info"], Session, f"{source.name} info")
        messages: list[Message] = []
        for number, value in enumerate(sample.document["messages"]):
            where = f"{source.name} message {number}"
            exported = convert(value, _Exported, where)
            parts = convert_all(exported.parts, Part, f"{where} part")
            messages.append(Message(convert(exported.info, Info, where), parts))
        yield transcript(Assembly(source.name, NAME), session, messages)


def _of_database(found: Connection, session: str, name: str, parent: str | None) -> Transcript | None:
    parts: defaultdict[str, list[Part]] = defaultdict(list)
    asked = "SELECT message_id, id, data FROM part WHERE session_id = ? ORDER BY id"
    for message, part, data in found.execute(asked, (session,)):
        parts[message].append(cell(data, Part, f"{name} part {part}"))
    asked = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
    messages = [
        Message(cell(data, Info, f"{name} message {message}", id=message), parts[message])
        for message, data in found.execute(asked, (session,))
    ]
    if not (of_session := row(found, "session", "id", session)):
        return None
    stated = {"id": session, "parentID": of_session["parent_id"], "time": {"created": of_session["time_created"]}}
    about = convert(stated | {key: of_session.get(key) for key in ("version", "directory")}, Session, name)
    return transcript(Assembly(name, NAME, parent), about, messages)


def _stored(source: Source, folder: Path) -> Iterator[Transcript]:
    """Return the sessions of a storage folder in order of their files, each with its parent's name."""
    sessions = [json_file(path, Session) for path in sorted(folder.glob("session/**/*.json"))]
    parts: defaultdict[str, list[Part]] = defaultdict(list)
    # Newer versions have a folder per message, in which the parts' own `messageID` may be missing. The names of parts
    # grow with time.
    for path in sorted(folder.glob("part/**/*.json")):
        part = json_file(path, Part)
        parts[part.message_id or path.parent.name].append(part)
    # An id is untrusted, and no path: it is looked up among the existing folders.
    kept = {path.name: path for path in (folder / "message").iterdir()}
    names = {session.id: f"{source.name}#{session.id}" for session in sessions}
    copied = [COPIED] if (folder.parent / "opencode.db").exists() else []
    for session in sessions:
        paths = sorted(kept[session.id].glob("*.json")) if session.id in kept else ()
        infos = sorted((json_file(path, Info) for path in paths), key=lambda info: info.created_ms or 0)
        assembly = Assembly(names[session.id], NAME, names.get(session.parent_id or ""))
        made = transcript(assembly, session, [Message(info, parts[info.id]) for info in infos])
        yield msgspec.structs.replace(made, notes=(*made.notes, *copied))
