"""Session files of appended lines that name their parents: the branch a session ended on, and its sub-agents."""

from collections import Counter as Frequencies
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from ctxsim.readers.source import Record, convert, has

CHAT = frozenset({"user", "assistant", "tool_result"})


class Envelope(msgspec.Struct, rename="camel", kw_only=True):
    """Fields beside the message in every line of Claude Code, Qwen Code and, under other names, pi.

    `line` and `index`, the number of the record, are set by ctxsim. Their encoded names are ones that no log has, so
    that they are never read from a log.
    """

    type: str
    uuid: str | None = None
    parent_uuid: str | UnsetType | None = UNSET
    logical_parent_uuid: str | None = None
    session_id: str | None = None
    is_sidechain: bool | None = None
    agent_id: str | None = None
    subtype: str | None = None
    timestamp: Any = None
    cwd: Any = None
    version: Any = None
    line: int = msgspec.field(default=0, name="(line)")
    index: int = msgspec.field(default=0, name="(index)")


E = TypeVar("E", bound=Envelope)


def where(lines: Sequence[Envelope]) -> tuple[str, str]:
    """Return the project folder and the agent's version, each from the first line that states it; '' if none does."""
    project = next((line.cwd for line in lines if isinstance(line.cwd, str) and line.cwd), "")
    return project, next((line.version for line in lines if isinstance(line.version, str) and line.version), "")


def tree_lines(
    records: Iterable[Record],
    counts: Frequencies[str],
    known: Collection[str],
    kind: type[E],
    names: tuple[str, str] = ("uuid", "parentUuid"),
    hear: Callable[[Any], object] = lambda *_: None,
) -> Iterator[E]:
    """Yield the lines of the `known` types, and of others only what the chain of parents needs, if they are in it.

    The others are counted, and `hear` gets their values. `names` are those of a line's id and of its parent's.
    """
    for index, record in enumerate(records):
        value = record.value
        type_ = str(value.get("type")) if isinstance(value, dict) else "JSON that is no object"
        if type_ in known:
            line = convert(value, kind, record.where)
        else:
            counts[type_] += 1
            hear(value)
            if not has(value, **{names[0]: str}):
                continue
            ids = {name: value[name] for name in (*names, "agentId") if isinstance(value.get(name, 0), str | None)}
            line = convert(ids | {"type": type_, "isSidechain": value.get("isSidechain") is True}, kind, record.where)
        line.line, line.index = record.line, index
        yield line


def conversations(
    name: str, lines: Iterable[E], main_of: Callable[[PurePath, str], str]
) -> Iterator[tuple[str, str | None, list[E]]]:
    """Yield name, parent and lines of the session, then of the sub-agents in its file.

    A sub-agent's own file is one conversation, whose parent is its session's file: `main_of(folder, session id)` if it
    is in a folder `subagents` of that folder, else a file beside it, or None if the lines name no session.
    """
    main, agents = _by_agent(lines)
    if len(agents) == 1 and not any(line.type in CHAT for line in main):
        ((_, own),) = agents.items()
        session = next((line.session_id for line in own if line.session_id), "")
        folder = next((above.parent for above in PurePath(name).parents if above.name == "subagents"), None)
        near = beside(name, session) if session else None
        yield name, main_of(folder, session) if folder else near, own
        return
    yield name, None, main
    for agent, own in agents.items():
        yield f"{name}#{agent}", name, own


def _by_agent(lines: Iterable[E]) -> tuple[list[E], dict[str, list[E]]]:
    """Return the lines of the main conversation, and those of each sub-agent by its id or by its first line's uuid."""
    main: list[E] = []
    agents: dict[str, list[E]] = {}
    agent_of: dict[str, str] = {}
    for line in lines:
        if not line.is_sidechain:
            main.append(line)
            continue
        parent = line.parent_uuid if isinstance(line.parent_uuid, str) else ""
        agent = line.agent_id or agent_of.get(parent) or line.uuid or "sidechain"
        if line.uuid:
            agent_of[line.uuid] = agent
        agents.setdefault(agent, []).append(line)
    return main, {agent: found for agent, found in agents.items() if any(line.type in CHAT for line in found)}


def branch(lines: Sequence[E], ends: Callable[[E], bool] = lambda line: line.type in CHAT) -> set[int]:
    """Return the positions of the last line for which `ends` is true, and of its ancestors."""
    positions = {line.uuid: position for position, line in enumerate(lines) if line.uuid}

    def parent(position: int) -> int | None:
        line = lines[position]
        named = [uuid for uuid in (line.parent_uuid, line.logical_parent_uuid) if isinstance(uuid, str)]
        # A null parent starts a conversation. A parent that isn't in the file, or no parent field as in files without
        # links, stands for the line before.
        broken = bool(named) or line.parent_uuid is UNSET or line.subtype == "compact_boundary"
        before = position - 1 if broken and position else None
        return next((positions[uuid] for uuid in named if uuid in positions), before)

    found: set[int] = set()
    last = max((at for at, line in enumerate(lines) if ends(line)), default=None)
    # A loop in the links ends the walk.
    while last is not None and last not in found:
        found.add(last)
        last = parent(last)
    return found


def beside(name: str, session: str) -> str:
    """Return the name that the session's own file would have in the folder of the file `name`."""
    path = PurePath(name)
    suffixes = "".join(suffix for suffix in path.suffixes[-2:] if suffix in (".jsonl", ".gz", ".zst"))
    # A log may name any session, also one that no file can be called.
    return str(path.parent / f"{session}{suffixes or '.jsonl'}")
