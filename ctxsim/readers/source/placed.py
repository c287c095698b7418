"""Local copies of other files: of remote objects, and of files that another process has sent.

A reader sees a copy under its own path, beside copies of its neighbours, so that it finds them. Labels, notes and
errors show the original's path.
"""

import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import msgspec

from ctxsim.errors import CtxsimError, InputError
from ctxsim.readers.source.source import Source
from ctxsim.transcript import Transcript


class Copies:
    """A temporary folder for copies, deleted together with the last source in it.

    In a dask worker it is inside the worker's own folder, which the next worker deletes if this one is killed.
    """

    def __init__(self) -> None:
        inside: str | None = None
        if "distributed.worker" in sys.modules:
            with suppress(ValueError):
                inside = str(sys.modules["distributed.worker"].get_worker().local_directory)
        self.name = tempfile.mkdtemp(prefix="ctxsim-", dir=inside)
        weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)


class Placed(Source):
    """A copy under the folder `root`. Labels, notes and errors show `shown` in place of `root`.

    `keeps` is the folder of copies: it exists as long as a source refers to it.
    """

    def __init__(self, name: str, root: str, shown: str, keeps: Copies | None = None, **told: Any) -> None:
        super().__init__(name, **told)
        self.root = root
        self.shown = shown
        self.beside: str | None = None
        """Hash of the names beside the original, if not all of those files are here."""
        self._keeps = keeps

    def __getstate__(self) -> dict[str, Any]:
        # Only the process that made the copies deletes them.
        return {**self.__dict__, "_keeps": None}

    def told(self, text: str) -> str:
        """Return a text that names the copy with the original's path."""
        return text.replace(self.root, self.shown)

    def read_by(self, read: Callable[[Source], Iterator[Transcript]]) -> Iterator[Transcript]:
        """Yield a reader's transcripts of the copy, with the original's path in names and notes; errors show it too."""
        name = self.root + self.name.removeprefix(self.shown)
        copy = Source(name, self.path, self.data, self.named, self.member, self.refused, self.column, self.reader)
        try:
            for transcript in read(copy):
                yield msgspec.structs.replace(
                    transcript,
                    name=self.told(transcript.name),
                    parent=transcript.parent and self.told(transcript.parent),
                    notes=tuple(map(self.told, transcript.notes)),
                )
        except CtxsimError as error:
            raise retold(error, self.root, self.shown) from error


def retold(error: Any, root: str, shown: str) -> Any:
    """Return an error about a copy as the same error about the original."""
    if isinstance(error, InputError):
        return type(error)(error.where.replace(root, shown), error.what.replace(root, shown))
    return type(error)(str(error).replace(root, shown))
