"""Local copies of other files: of an archive's, a commit's and a store's, and of those that another process has sent.

A reader sees a copy under its own path, beside copies of its neighbours, so that it finds them. Labels, notes and
errors show the original's path.
"""

import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from ctxsim.errors import CtxsimError, InputError
from ctxsim.readers.source.database import WRITTEN_BESIDE
from ctxsim.readers.source.limits import MOST_DEEP, MOST_FILES, SOURCE_BYTES
from ctxsim.readers.source.source import Source
from ctxsim.transcript import Transcript

Put = Callable[[Mapping[str, Path]], Iterable[tuple[Path, InputError]]]
"""Writes originals, by name, to their copies' paths. Gives the path and the error of each that can't be copied."""


class Copies:
    """A temporary folder for copies, deleted together with the last source in it. Raises InputError if there is none.

    In a dask worker it is inside the worker's own folder, which the next worker deletes if this one is killed.
    """

    def __init__(self) -> None:
        inside: str | None = None
        if "distributed.worker" in sys.modules:
            with suppress(ValueError):
                inside = str(sys.modules["distributed.worker"].get_worker().local_directory)
        try:
            self.name = tempfile.mkdtemp(prefix="ctxsim-", dir=inside)
        except OSError as error:
            raise InputError("the temporary folder", f"can't be made: {error.strerror or error}") from error
        self.delete = weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)


class Placed(Source):
    """A copy under the folder `root`. Labels, notes and errors show `shown` in place of `root`.

    `keeps` is the folder of copies: it exists as long as a source refers to it. `archive` is the user's archive that
    holds the original, if one does.
    """

    def __init__(
        self, name: str, root: str, shown: str, keeps: Copies | None = None, archive: Path | None = None, **more: Any
    ) -> None:
        super().__init__(name, **more)
        self.root = root
        self.shown = shown
        self.archive = archive
        self.beside: str | None = None
        """Hash of the names beside the original, if not all of those files are here."""
        self._keeps = keeps

    def __getstate__(self) -> dict[str, Any]:
        # Only the process that made the copies deletes them.
        return {**self.__dict__, "_keeps": None}

    @property
    def held(self) -> tuple[Path | None, str]:
        """The user's archive that holds the original, or None, and the original's name in it."""
        return self.archive, self.name.removeprefix(self.shown)

    def read_by(self, read: Callable[[Source], Iterator[Transcript]]) -> Iterator[Transcript]:
        """Yield a reader's transcripts of the copy, with the original's path in names and notes; errors show it too."""
        root, shown = self.root, self.shown
        # An archive that is one recording has the name of the archive alone.
        cut = None if self.name.startswith(shown) else -1
        name = f"{root[:cut]}{self.name.removeprefix(shown[:cut])}"
        copy = Source(name, self.path, self.data, self.named, self.refused, self.column, self.reader)
        try:
            for transcript in read(copy):
                yield msgspec.structs.replace(
                    transcript,
                    name=told(transcript.name, root, shown),
                    parent=transcript.parent and told(transcript.parent, root, shown),
                    notes=tuple(told(note, root, shown) for note in transcript.notes),
                )
        except CtxsimError as error:
            raise retold(error, root, shown) from error


def told(text: str, root: str, shown: str) -> str:
    """Return a text with the originals' paths. `shown` ends with a mark, which the folder's own name lacks."""
    return text.replace(root, shown).replace(root.rstrip("/"), shown[:-1])


def retold(error: Any, root: str, shown: str) -> Any:
    """Return an error about a copy as the same error about the original."""
    if isinstance(error, InputError):
        return type(error)(told(error.where, root, shown), told(error.what, root, shown))
    return type(error)(told(str(error), root, shown))


def copied(
    names: Iterable[str], wanted: Callable[[str], bool], put: Put, walk: Callable[[str], Iterator[Source]], shown: str,
    top: str = "", archive: Path | None = None, size: int = 0,
) -> Iterator[Source]:  # fmt: skip
    """Yield what `walk` finds at `top` in a folder of copies, under the originals' names, which begin with `shown`.

    Of all `names`, `put` copies those that are `wanted`. Others become empty files: readers know folders by the names
    in them. A name that ends with a slash is a folder's. The copies are deleted when no source needs them any more.
    Raises InputError for too many names, if `size`, the bytes of all copies, is too much, and as `put` and `walk` do.
    """
    where = shown + top if top else shown[:-1]
    places: dict[str, Path] = {}
    unplaced: list[InputError] = []
    refused: dict[Path | None, InputError] = {}
    copies = Copies()
    try:
        if size > min(SOURCE_BYTES, shutil.disk_usage(copies.name).free):
            most = f"more than is free there or than {SOURCE_BYTES / 1e9:.0f} GB"
            raise InputError(where, f"takes {size / 1e9:.1f} GB in the temporary folder, {most}: give it in parts")
        # Readers look for names in the folder above too: it holds nothing else.
        root = f"{copies.name}/copies/"
        Path(root).mkdir()
        folders = {""}
        for number, below in enumerate(sorted(names), 1):
            try:
                place = _stand_in(root, below, folders)
                if place and (below == top or wanted(below) or below.endswith(WRITTEN_BESIDE)):
                    places[below] = place
            except (OSError, ValueError) as error:
                why = getattr(error, "strerror", None) or error
                unplaced.append(InputError(shown + below, f"can't be copied: {why}"))
            if number + len(folders) > MOST_FILES + 1:
                raise InputError(where, f"holds more than {MOST_FILES:,} files and folders: give it in parts")
        for path, refusal in put(places):
            # A folder that is one recording isn't read without one of its files.
            refused |= dict.fromkeys((path, *path.parents), refusal)
    except (OSError, InputError) as error:
        # Whoever keeps the error keeps this frame, but not the copies.
        copies.delete()
        if isinstance(error, InputError):
            raise
        raise InputError(where, f"can't be copied to the temporary folder: {error.strerror or error}") from error
    for one in unplaced:
        yield Placed(one.where, root, shown, copies, archive, named=True, refused=one)
    try:
        for source in walk(root + top):
            if isinstance(source, Placed):
                # A member of an archive among the copies.
                source.shown, source.archive = told(source.shown, root, shown), None
            else:
                failed = refused.get(source.path)
                source = Placed(
                    source.name, root, shown, copies, archive, path=None if failed else source.path,
                    named=source.named or failed is not None, refused=failed or source.refused,
                )  # fmt: skip
            source.name = told(source.name, root, shown)
            source.refused = source.refused and retold(source.refused, root, shown)
            yield source
    except CtxsimError as error:
        raise retold(error, root, shown) from None


def _stand_in(root: str, below: str, folders: set[str]) -> Path | None:
    """Return an empty file at the place of a copy; None for a folder. All folders that it is in are added to `folders`.

    Raises OSError, or ValueError for a name that leads elsewhere.
    """
    parts = below.removesuffix("/").split("/")
    if {"", ".", ".."}.intersection(parts):
        raise ValueError("its name is no path")
    if len(parts) > MOST_DEEP + 1:
        raise ValueError(f"it is more than {MOST_DEEP} folders deep")
    above = below
    while (above := above.rpartition("/")[0]) not in folders:
        folders.add(above)
    path = Path(root, below)
    if below.endswith("/"):
        path.mkdir(parents=True, exist_ok=True)
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(exist_ok=False)
    return path
