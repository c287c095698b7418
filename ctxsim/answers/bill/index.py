"""An index of the facts of files, in the user's cache folder: numbers and names, never text of a recording.

A file is identified by its path, size and modification time. An index of another version of ctxsim is discarded.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import field

from ctxsim.answers.bill.facts import Rates, Session
from ctxsim.readers.source import Source


@cache
def version() -> str:
    """Return a hash of the names, sizes and times of ctxsim's files: facts may depend on any of them."""
    root = Path(__file__).parents[2]
    files = sorted(file for kind in ("py", "toml") for file in root.rglob(f"*.{kind}"))
    states = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return sha256(msgspec.msgpack.encode(states)).hexdigest()


class Key(NamedTuple):
    """Where a source's facts are in the index: file, and archive member, column and reader. `state`: see `Known`."""

    path: str
    part: str
    state: tuple[tuple[int, int], ...]


class Known(msgspec.Struct, array_like=True):
    """The facts of a file, and the sizes and times of the file when they were extracted."""

    state: tuple[tuple[int, int], ...]
    sessions: tuple[Session, ...]


class Index(msgspec.Struct, array_like=True):
    """Facts by path and part; `rates` are the prices that were looked up."""

    version: str = field(default_factory=version)
    files: dict[str, dict[str, Known]] = {}
    priced_by: str = ""
    rates: dict[str, Rates | None] = {}


def place() -> Path:
    """Return the path of the index: below XDG_CACHE_HOME, else ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "ctxsim", "bill", "facts.msgpack")


def load(path: Path) -> Index:
    """Return the index in a file; an empty one if the file is missing, damaged or of another version."""
    with suppress(OSError, msgspec.MsgspecError):
        found = msgspec.msgpack.decode(path.read_bytes(), type=Index)
        if found.version == version():
            return found
    return Index()


def save(path: Path, index: Index) -> None:
    """Write the index atomically, without files that are gone, readable for its user alone. If the folder can't be
    written, there is no index.
    """
    # Imported here, as answers from an unchanged index don't need it.
    from ctxsim.results.files import replacing

    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with replacing(path) as temporary:
            temporary.touch(mode=0o600)
            there = {path: known for path, known in index.files.items() if os.access(path, os.F_OK)}
            temporary.write_bytes(msgspec.msgpack.encode(msgspec.structs.replace(index, files=there)))


def key_of(source: Source) -> Key:
    """Return the key of a source in an index, with the present state of its files."""
    path, member = source.held
    return Key(
        str(path.resolve() if path else source.name), f"{member}!{source.column}!{source.reader}", _state(source)
    )


def known(index: Index, key: Key) -> tuple[Session, ...] | None:
    """Return the sessions of a key; None if the index has none, or if the files have changed since."""
    found = index.files.get(key.path, {}).get(key.part)
    return found.sessions if found and key.state and found.state == key.state else None


def add(index: Index, key: Key, sessions: tuple[Session, ...]) -> bool:
    """Store the sessions of a key; return whether they can be stored."""
    try:
        msgspec.msgpack.encode((key.path, key.part, sessions))
    except UnicodeEncodeError:
        # The name of a file isn't UTF-8.
        return False
    if key.state:
        index.files.setdefault(key.path, {})[key.part] = Known(key.state, sessions)
    return bool(key.state)


def _state(source: Source) -> tuple[tuple[int, int], ...]:
    """Sizes and times of a source's files, with a database's write-ahead log; () for a source that isn't indexed."""
    path, _ = source.held
    if path is None or source.refused is not None or source.reader.endswith(".py"):
        return ()
    files: Iterable[Path] = sorted(path.rglob("*")) if path.is_dir() else (path, path.with_name(f"{path.name}-wal"))
    found = []
    for file in files:
        with suppress(OSError):
            known = file.stat()
            found.append((known.st_size, known.st_mtime_ns))
    return tuple(found)
