"""What paths on the command line mean: files, archives, folders, lists and patterns, as sources of transcripts."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from glob import glob
from pathlib import Path

from ctxsim.errors import InputError, NotATranscript
from ctxsim.readers.reader import owner
from ctxsim.readers.source import Source, archive_members, standard_input
from ctxsim.readers.source.limits import read_all

SUFFIXES = (".json", ".jsonl", ".gz", ".zst", ".eval", ".traj", ".zip")


def _walk(folder: Path) -> Iterator[Path | Source]:
    """Return files, and folders that are one source as a whole, in sorted order; what can't be read as a refusal."""
    try:
        if owner(folder):
            yield folder
            return
        entries = sorted(folder.iterdir())
    except OSError as error:
        refusal = InputError(folder, f"can't be looked into: {error.strerror or error}")
        yield Source(str(folder), named=True, refused=refusal)
        return
    for entry in entries:
        if entry.is_dir():
            if entry.is_symlink():
                yield _left_out(entry, "is a link to a folder: give that folder by its own name")
            else:
                yield from _walk(entry)
        elif entry.suffix in SUFFIXES and not _is_own(entry):
            # A pipe would wait for ever, a device never end.
            yield entry if entry.is_file() else _left_out(entry, f"is {_what(entry)}, no file")


def _left_out(path: Path, why: str) -> Source:
    return Source(str(path), refused=NotATranscript(path, why))


def _what(path: Path) -> str:
    try:
        mode = path.stat().st_mode
    except OSError:
        return "a link that leads nowhere"
    kinds = {stat.S_ISFIFO: "a pipe", stat.S_ISSOCK: "a socket", stat.S_ISCHR: "a device", stat.S_ISBLK: "a device"}
    return next((name for is_it, name in kinds.items() if is_it(mode)), "something unknown")


def _is_own(path: Path) -> bool:
    """Whether it's a result of ctxsim: a folder that is read and written into twice doesn't read what it wrote."""
    return path.name == "run.json" and (path.parent / "summary.parquet").exists()


def sources(*paths: str) -> Iterator[Source]:
    """Return what paths on the command line mean: `-`, a file, an archive, or a folder, walked in sorted order.

    `@file` is a list of such paths, a line each; what has * or ? or [ in it and isn't there is a pattern. What several
    of them mean comes once. Raises InputError if one means nothing.
    """
    seen = set()
    for path in paths:
        for source in _sources(path):
            key = (source.path.resolve() if source.path else source.name, source.member)
            if key not in seen:
                seen.add(key)
                yield source


def _sources(path: str) -> Iterator[Source]:
    if path == "-":
        yield standard_input()
        return
    root = Path(path)
    if path.startswith("@") and not root.exists():
        yield from _listed(path[1:])
        return
    if set(path) & set("*?[") and not root.exists():
        # A pattern may begin anywhere, so there is no folder to ask.
        matching = sorted(glob(path, recursive=True))  # noqa: PTH207
        if not matching:
            raise InputError(path, "matches nothing")
        for one in matching:
            yield from _sources(one)
        return
    if not root.exists():
        raise InputError(path, "does not exist")
    if not root.is_dir() and not root.is_file():
        if not root.is_fifo():
            raise InputError(path, f"is {_what(root)}, no file")
        # A pipe can be read only once.
        with root.open("rb") as stream:
            yield Source(path, data=read_all(stream, path), named=True)
        return
    found = [root] if root.is_file() else _walk(root)
    any_found = False
    for file in found:
        any_found = True
        if isinstance(file, Source):
            yield file
        elif file.suffix == ".zip":
            yield from archive_members(file)
        else:
            yield Source(str(file), file, named=file == root)
    if not any_found:
        raise InputError(path, f"has no files with the endings {', '.join(SUFFIXES)}")


def _listed(path: str) -> Iterator[Source]:
    """The sources of a list of paths, one a line; relative ones are relative to where the command runs."""
    try:
        names = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"@{path}", f"is no list of paths: {error}") from None
    for name in filter(None, map(str.strip, names)):
        yield from _sources(name)
