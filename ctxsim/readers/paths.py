"""Resolves paths on the command line to sources: files, archives, folders, lists, patterns and addresses."""

import re
import sys
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from glob import glob
from pathlib import Path
from typing import Any, cast

from ctxsim.errors import InputError, NotATranscript, nearest
from ctxsim.readers.reader import load_reader, owner
from ctxsim.readers.source import Source
from ctxsim.readers.source.limits import MOST_DEEP, MOST_FILES, MOST_STARS, read_all

SUFFIXES = (".json", ".jsonl", ".gz", ".zst", ".eval", ".traj", ".zip", ".parquet", ".db", ".vscdb")
RENAMED = re.compile(r"\.jsonl\.(reset|deleted)\.")
"""A session that OpenClaw has ended: https://github.com/openclaw/openclaw/pull/43215."""

FOUND = "@found"
"""Path that stands for the sessions that agents keep on this machine."""

COLUMN = "column:"
"""`column:NAME:PATH` is a path whose tables hold the conversations in the column NAME."""

READER = "reader:"
"""`reader:NAME:PATH` is a path that is read as the format NAME; `reader:FILE.py:PATH` by the user's own reader."""


WORKTREE = re.compile(r"[/\\]\.(claude[/\\])?worktrees[/\\].*")
"""Folders inside a project where git and Claude Code keep its worktrees."""

_MEANS_MORE = re.compile(r"[@~]|-\Z|(?:column|reader|git):|[\w+.-]+://|.*\0", re.DOTALL)


def is_plain(path: str) -> bool:
    """Return whether a path can only be a file, a folder or a pattern: it has no form such as `@x` or `git:x`."""
    return not _MEANS_MORE.match(path)


def plain(path: str) -> str:
    """Return an existing file's path in a form without special meaning: `./@x` for a file that is named `@x`."""
    return path if is_plain(path) else f"./{path}"


def matches(pattern: str, folder: Path | None = None) -> list[str]:
    """Return the paths that match a pattern, sorted, relative to `folder` or else to the working directory. Raises
    InputError for a pattern with too many `**` or one that leads too deep.
    """
    if pattern.count("**") > MOST_STARS:
        raise InputError(pattern, f"holds ** more than {MOST_STARS} times")
    try:
        return sorted(glob(pattern, root_dir=folder, recursive=True))  # noqa: PTH207 - it may begin anywhere
    except RecursionError:
        raise InputError(pattern, "leads through folders that are too deep") from None


def bare(path: str) -> str:
    """Return a path without its prefixes `column:NAME:` and `reader:NAME:`."""
    while path.startswith((COLUMN, READER)):
        path = path.split(":", 2)[-1]
    return path


_ID = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\.\w+)*$")


def project_name(folder: str) -> str:
    """Return the name of the project in a folder: the last part, which clones of a project share, and its worktrees."""
    return re.split(r"[/\\]+", WORKTREE.sub("", folder).rstrip("/\\"))[-1]


def session_id(name: str) -> str:
    """Return the UUID at the end of a session's name or file name, which stays if the file is moved or compressed; the
    name itself if there is none.
    """
    found = _ID.search(name)
    return found[1] if found else name


def _may_be_log(name: str) -> bool:
    """Return whether a file of this name is read where its folder is given."""
    return name.endswith(SUFFIXES) or RENAMED.search(name) is not None


def _walk(folder: Path, root: Path, deep: int = 0) -> Iterator[Path | Source]:
    """Yield files, and folders that are one source as a whole, in sorted order; refused sources for what can't be read.

    Links that lead out of `root`, the resolved folder that the user gave, are refused too.
    """
    try:
        if owner(folder):
            leading = next((one for one in sorted(folder.rglob("*")) if _leads_out(one, root)), None)
            yield folder if leading is None else _left_out(folder, f"holds {leading.name}, {OUTSIDE}")
            return
        entries = sorted(folder.iterdir())
    except (OSError, RecursionError) as error:
        refusal = InputError(folder, f"can't be looked into: {getattr(error, 'strerror', None) or error}")
        yield Source(str(folder), named=True, refused=refusal)
        return
    for entry in entries:
        may_be_log = _may_be_log(entry.name)
        if entry.is_dir():
            if entry.is_symlink():
                yield _left_out(entry, "is a link to a folder: give that folder by its own name")
            elif deep == MOST_DEEP:
                yield _left_out(entry, f"is more than {MOST_DEEP} folders deep: give it by its own name")
            else:
                yield from _walk(entry, root, deep + 1)
        elif may_be_log and not entry.is_file():
            # Reading a pipe could wait for ever, and a device may have no end.
            yield _left_out(entry, NO_FILE)
        elif may_be_log and _leads_out(entry, root):
            yield _left_out(entry, f"is {OUTSIDE}")
        elif may_be_log and not _is_own(entry):
            yield entry


OUTSIDE = "a link that leads out of the folder: give its file by its own name"
NO_FILE = "is a pipe, a device, a socket or a link that leads nowhere, no file"


def _leads_out(path: Path, root: Path) -> bool:
    return path.is_symlink() and path.exists() and not path.resolve().is_relative_to(root)


def _left_out(path: Path | str, why: str) -> Source:
    return Source(str(path), refused=NotATranscript(path, why))


def _is_own(path: Path) -> bool:
    """Return whether a file is a result of ctxsim: a folder that results are written into isn't read with them."""
    tables = [path.parent, path.parent.parent] if path.suffix == ".parquet" else []
    runs = [path.parent] if path.name == "run.json" else tables
    return any((run / "run.json").exists() and (run / "summary.parquet").exists() for run in runs)


def sources(*paths: str) -> Iterator[Source]:
    """Yield the sources of command-line paths: `-`, a file, an archive, or a folder, walked in sorted order.

    `git:repository@ref:folder` are files of a commit, `s3://bucket/folder/` objects of a store, `@found` local agents'
    sessions. `column:NAME:path` names a table's column, `reader:NAME:path` and `reader:FILE.py:path` the reader.
    `@file` lists such paths, one a line. What has * or ? or [ in it and doesn't exist is a pattern. A source comes
    once; a log in a folder that repeats an earlier one is refused. Raises InputError for a path that stands for
    nothing, UnknownName or LabelError for no reader.
    """
    seen = set()
    logs: dict[int | bytes | Path, Source] = {}
    for path in paths:
        for source in _sources(path):
            file, member = source.held
            key = (file.resolve() if file else source.name, member, source.column, source.reader)
            if key not in seen:
                seen.add(key)
                same = _same(source, logs)
                why = f"holds the same as {same.name}, and counts once"
                yield source if same is source else _left_out(source.name, why)


def _same(source: Source, seen: dict[int | bytes | Path, Source]) -> Source:
    """Return an earlier log with the same content as one in a folder, or the log itself.

    `seen` has logs by what points to equal ones, which are the size and the path without `.gz` or `.zst`, or by digest.
    """
    path = source.path
    if path is None or source.named or path.suffix not in SUFFIXES[:4]:
        return source
    same = source
    # A file that is gone by now or can't be read is reported when it is read.
    with suppress(OSError, InputError):
        for key in (path.stat().st_size, path.with_suffix("") if path.suffix in SUFFIXES[2:4] else path):
            first = seen.setdefault(key, source)
            if first is not source:
                same = [seen.setdefault(_digest(one), one) for one in (first, source)][1]
    return same


def _digest(source: Source) -> bytes:
    from hashlib import file_digest

    with source.open() as stream, source.readable():
        return file_digest(cast(Any, stream), "blake2b").digest()


def _sources(path: str) -> Iterator[Source]:
    """Return the sources of one path, by its form."""
    if path.startswith((COLUMN, READER)):
        return _as_told(path)
    if path.startswith("git:"):
        from ctxsim.readers.source.git import git_sources

        return git_sources(path, _may_be_log, _sources)
    if ":" in path:
        from ctxsim.readers.source.remote import is_remote, remote_sources

        if is_remote(path):
            return remote_sources(path, _may_be_log, _sources)
    if path == "-":
        return iter([Source("standard input", data=read_all(sys.stdin.buffer, "standard input"))])
    if not path:
        raise InputError("''", "is no path")
    root = Path(path)
    if not root.exists():
        return _of_many(path, root)
    if root.is_fifo():
        # A pipe can be read only once.
        with root.open("rb") as stream:
            return iter([Source(path, data=read_all(stream, path), named=True)])
    if not root.is_dir() and not root.is_file():
        raise InputError(path, NO_FILE)
    return _files(path, root)


def _as_told(path: str) -> Iterator[Source]:
    """Yield the sources of `column:NAME:PATH` or `reader:NAME:PATH`."""
    kind, name, path = [*path.split(":", 2), ""][:3]
    if not name or not path:
        raise InputError(f"{kind}:{name}", f"is not {kind}:NAME:PATH")
    if kind == "reader":
        load_reader(name)
    for source in _sources(path):
        if kind == "reader":
            source.reader, source.named = name, True
        else:
            # Two columns of one table give different transcripts.
            source.column, source.name = source.column or name, f"{source.name}:{name}"
        yield source


def _of_many(path: str, root: Path) -> Iterator[Source]:
    """Yield the sources of a name that stands for several paths: `@found`, a list, a pattern."""
    if path == FOUND:
        from ctxsim.readers.agent_folders import kept

        found = [Source(str(session), session) for place in kept() for session in place.paths]
        if not found:
            raise InputError(FOUND, "finds no sessions of agents on this machine. See: ctxsim transcripts find")
        yield from found
    elif path.startswith("@"):
        yield from _listed(path[1:])
    elif set(path) & set("*?["):
        matching = matches(path)
        if not matching:
            raise InputError(path, "matches nothing")
        for one in matching:
            yield from _sources(plain(one))
    else:
        close = nearest(root.name, [one.name for one in root.parent.iterdir()]) if root.parent.is_dir() else ""
        raise InputError(path, f"does not exist{close and f'; {close}'}")


def _files(path: str, root: Path) -> Iterator[Source]:
    """Yield a file, the members of an archive, or what a folder holds."""
    number = -1
    for number, file in enumerate([root] if root.is_file() else _walk(root, root.resolve())):
        if number == MOST_FILES:
            yield _left_out(root, f"holds more than {MOST_FILES:,} files: the others aren't read")
            return
        if isinstance(file, Source):
            yield file
        elif file.suffix == ".zip":
            yield from _archived(file, named=file == root)
        else:
            yield Source(str(file), file, named=file == root)
    if number < 0:
        if (root / "run.json").exists():
            raise InputError(path, "is a finished run, which ctxsim report shows; name the recordings")
        raise InputError(path, f"has no files with the endings {', '.join(SUFFIXES)}")


def _archived(path: Path, named: bool) -> Iterator[Source]:
    """Yield what an archive holds, as of a folder; a damaged or empty one as a source that raises when it is read."""
    from ctxsim.readers.source.archive import archived

    def walk(folder: str) -> Iterator[Source]:
        """Yield files, folders that are one source, and archives within this one, which are left as they are."""
        root = Path(folder)
        found = _walk(root, root.resolve())
        return (one if isinstance(one, Source) else Source(str(one), one, named=named and one == root) for one in found)

    source = None
    try:
        for source in archived(path, _may_be_log, walk):
            yield source
        if source is None:
            yield Source(str(path), path, named=named)
    except InputError as refused:
        yield Source(str(path), path, named=True, refused=refused)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError):
        yield Source(str(path), path, named=True)


def _listed(path: str) -> Iterator[Source]:
    """Yield the sources of a file that lists one path a line; relative ones are relative to the working directory."""
    where = f"@{path}"
    try:
        with Path(path).open("rb") as stream:
            data = read_all(stream, where)
        names = list(filter(None, map(str.strip, data.decode("utf-8").splitlines())))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(where, f"is no list of paths: {getattr(error, 'strerror', None) or error}") from None
    # A list may be a stranger's: a reader in it would run code that the user hasn't named.
    for name in names:
        if _CODE.search(name):
            allowed = f"to read the whole list by it: reader:FILE.py:{where}"
            raise InputError(where, f"may not choose code to run, as '{name}' does; {allowed}")
        if bare(name).startswith("@") and bare(name) != FOUND:
            raise InputError(where, f"names another list, {name}")
    for name in names:
        yield from _sources(name)


_CODE = re.compile(rf"(?:^|:){READER}[^:]*\.py(?::|$)")
