"""Facts of files that were seen before, in the user's cache folder: numbers and names, never a text of a recording.

A file is known by its path, size and time. What an index of another version holds is forgotten.
"""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from ctxsim.answers.bill.facts import Rates, Session
from ctxsim.readers.source import Source

VERSION = 5
"""Of the facts and of how they are told from a recording: whoever changes either counts it up."""

Extract = Callable[[Source], tuple[Session, ...]]


class Known(msgspec.Struct, array_like=True):
    """A file as it was when its facts were told."""

    state: tuple[tuple[int, int], ...]
    sessions: tuple[Session, ...]


class Index(msgspec.Struct, array_like=True):
    """All files that were seen, by path and, in an archive, member; `rates` are the prices that were looked up."""

    version: int = VERSION
    files: dict[str, Known] = {}
    priced_by: str = ""
    rates: dict[str, Rates | None] = {}


def place() -> Path:
    """Return the file of the index: below XDG_CACHE_HOME, else ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "ctxsim", "bill", "facts.msgpack")


def load(path: Path) -> Index:
    """Return the index of a file; an empty one where there is none, or one of another version or cut off."""
    try:
        found = msgspec.msgpack.decode(path.read_bytes(), type=Index)
    except (OSError, msgspec.MsgspecError):
        return Index()
    return found if found.version == VERSION else Index()


def save(path: Path, index: Index) -> None:
    """Write the index for its user alone, whole or not at all; a folder that can't be written keeps none."""
    # What was seen before is answered without it.
    from ctxsim.results.files import replacing

    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with replacing(path) as temporary:
            temporary.touch(mode=0o600)
            temporary.write_bytes(msgspec.msgpack.encode(index))
    except OSError:
        return


def forget(path: Path) -> bool:
    """Remove the index; False if there was none."""
    known = path.exists()
    path.unlink(missing_ok=True)
    return known


class Indexed:
    """Facts of sources, from an index where it knows them, else told anew and remembered in it."""

    def __init__(self, index: Index, extract: Extract) -> None:
        self.index, self._extract = index, extract
        self.changed = False

    def of(self, source: Source) -> tuple[Session, ...]:
        """Return the sessions of a source. Raises InputError for what can't be read."""
        key, state = _key(source), _state(source)
        known = self.index.files.get(key)
        if known and state and known.state == state:
            return known.sessions
        found = self._extract(source)
        if state:
            self.index.files[key] = Known(state, found)
            self.changed = True
        return found


def _key(source: Source) -> str:
    path = source.path.resolve() if source.path else source.name
    return f"{path}!{source.member or ''}!{source.column}!{source.reader}"


def _state(source: Source) -> tuple[tuple[int, int], ...]:
    """Sizes and times of what a source is in, a database's log beside it too; () for what has none."""
    path = source.path
    if path is None or source.refused is not None or source.reader.endswith(".py"):
        return ()
    files: Iterable[Path] = sorted(path.rglob("*")) if path.is_dir() else (path, path.with_name(f"{path.name}-wal"))
    found = []
    for file in files:
        with suppress(OSError):
            known = file.stat()
            found.append((known.st_size, known.st_mtime_ns))
    return tuple(found)
