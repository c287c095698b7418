"""OpenCode sessions: a storage folder of one small JSON file per session, message and part, or an exported document.

Documentation: https://opencode.ai/docs (`opencode export`), https://github.com/sst/opencode (`session/message-v2.ts`)

    session/<project>/ses_1.json   {"id": "ses_1", "parentID": null, "version": "1.0.1"}
    message/ses_1/msg_1.json       {"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": {"created": 1000}}
    message/ses_1/msg_2.json       {"id": "msg_2", "sessionID": "ses_1", "role": "assistant", "modelID": "m"}
    part/msg_1/prt_1.json          {"messageID": "msg_1", "type": "text", "text": "Any mail?"}
    part/msg_2/prt_2.json          {"messageID": "msg_2", "type": "tool", "tool": "search", "callID": "c1",
                                    "state": {"status": "completed", "input": {"q": "mail"}, "output": "2 messages"}}
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from ctxsim.readers.formats.opencode.session import Info, Message, Part, Session, transcript
from ctxsim.readers.source import Sample, Source, convert
from ctxsim.readers.source.folder import json_file
from ctxsim.transcript import Transcript

NAME = "opencode"
TITLE = "OpenCode sessions"
DOCS = "https://opencode.ai/docs"
VERSIONS = "storage folders of 0.x and 1.x, exported sessions"
READS = "Sessions with their sub-sessions, tool calls and results, reasoning, and the usage of each step."
NOT_READ = (
    "The SQLite database of newer versions: export its sessions. Snapshots, patches and file attachments of text."
)


class Exported(msgspec.Struct):
    """One message of an exported session, with its parts."""

    info: Any
    parts: list[Any]


def owns(folder: Path) -> bool:
    """Whether a folder holds the three trees of a storage folder."""
    return all((folder / tree).is_dir() for tree in ("session", "message", "part"))


def matches(sample: Sample) -> bool:
    """An exported session: an object with `info` and `messages`, each with `info` and `parts`."""
    document = sample.document
    if not isinstance(document, dict) or not isinstance(document.get("info"), dict):
        return False
    messages = document.get("messages")
    return isinstance(messages, list) and all(
        isinstance(message, dict) and isinstance(message.get("info"), dict) and isinstance(message.get("parts"), list)
        for message in messages
    )


def read(source: Source, sample: Sample) -> Iterator[Transcript]:
    """Return one transcript per session."""
    if sample.folder:
        yield from _stored(source, sample.folder)
        return
    session = convert(sample.document["info"], Session, f"{source.name} info")
    messages: list[Message] = []
    for number, value in enumerate(sample.document["messages"]):
        where = f"{source.name} message {number}"
        exported = convert(value, Exported, where)
        parts = [convert(part, Part, f"{where} part {place}") for place, part in enumerate(exported.parts)]
        messages.append(Message(convert(exported.info, Info, where), parts))
    yield transcript(source.name, NAME, session, messages, None)


def _stored(source: Source, folder: Path) -> Iterator[Transcript]:
    """Return the sessions of a storage folder in order of their files, each with its parent's name."""
    sessions = [convert(json_file(path), Session, str(path)) for path in sorted(folder.glob("session/**/*.json"))]
    parts: defaultdict[str, list[Part]] = defaultdict(list)
    # Newer versions have a folder per message, in which the parts' own `messageID` may be missing. The names of parts
    # grow with time.
    for path in sorted(folder.glob("part/**/*.json")):
        part = convert(json_file(path), Part, str(path))
        parts[part.message_id or path.parent.name].append(part)
    # Looked up among the folders that are there: an id is anybody's text, and no path.
    kept = {path.name: path for path in (folder / "message").iterdir()}
    names = {session.id: f"{source.name}#{session.id}" for session in sessions}
    for session in sessions:
        messages = []
        for path in sorted(kept[session.id].glob("*.json")) if session.id in kept else ():
            info = convert(json_file(path), Info, str(path))
            messages.append(Message(info, parts.get(info.id, [])))
        messages.sort(key=lambda message: message.info.created_ms)
        parent = names.get(session.parent_id or "")
        yield transcript(names[session.id], NAME, session, messages, parent)
