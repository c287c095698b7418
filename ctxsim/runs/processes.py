"""Processes of this machine: how many are worth starting for recordings, and a function of each source in them."""

import atexit
import gc
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, TypeVar

import msgspec

from ctxsim.errors import CtxsimError
from ctxsim.readers.source import Source
from ctxsim.safety.processes import collect_rarely, end_with, safe_path, said_of_path

BYTES_EACH, MOST = 4_000_000, 8
"""Bytes of recordings that are worth a process, which takes half a second to start; and most processes by default."""

PACKED = {".gz": 6, ".zst": 6, ".zip": 6, ".eval": 6}
"""Approximate factor from the size of a packed file to that of its content, by suffix."""

Found = TypeVar("Found")

_to_parent: Connection | None = None
"""The pipe to which a worker process of this machine writes its progress."""

_NAME_CHARS = 200


def fitting(sources: Iterable[Source], bytes_each: int = BYTES_EACH) -> int:
    """Return how many processes are worth starting for these sources: at most one per core, and at most MOST."""
    size = 0
    for path in {source.path for source in sources if source.path is not None}:
        with suppress(OSError):
            size += path.stat().st_size * PACKED.get(path.suffix, 1)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, MOST, size // bytes_each))


def each(function: Callable[[Source], Found], sources: Sequence[Source], jobs: int) -> Iterator[Found]:
    """Yield a function of each source, in order, from `jobs` processes. The function raises nothing, can be pickled.

    The user's own readers, and what is no file, are read in this process. Raises CtxsimError if a process is killed
    that reads alone.
    """
    if jobs < 2 or any(source.path is None or source.reader for source in sources):
        yield from map(function, sources)
        return
    done = 0
    # If one is killed, which memory for several may be the reason of, one alone reads the rest.
    for many in (jobs, 1):
        with Pool(many) as pool:
            try:
                # Not by `map`: Python 3.11's pool, killed after an interrupt, fails on what `map` has cancelled.
                asked = deque(pool.submit(function, source) for source in sources[done:])
                while asked:
                    found = asked.popleft().result()
                    done += 1
                    yield found
                return
            except BrokenProcessPool:
                pool.check_began()
            finally:
                pool.kill()
    raise CtxsimError("a process that read recordings was killed; is there enough memory?")


class Pool(ProcessPoolExecutor):
    """Processes that ignore Ctrl-C, and end with the process that started them.

    The current folder, whose files may be from anyone, is not on their path.
    """

    def __init__(self, jobs: int, words: Connection | None = None) -> None:
        # Spawned: a fork of a process with the tokenizer's threads can hang.
        context = get_context("spawn")
        # Without a lock, which a killed process would hold forever.
        self._began = context.RawValue("b", 0)
        with safe_path() as said:
            # The pool's locks start a process that tracks them.
            super().__init__(jobs, context, _begin, (os.getpid(), words, said, self._began))

    def check_began(self) -> None:
        """Raise CtxsimError if no process has begun its work."""
        if not self._began.value:
            raise CtxsimError('no process began; a script needs `if __name__ == "__main__":` around calls with jobs')

    def submit(self, *asked: Any) -> Future[Any]:  # type: ignore[override]
        """Submit a task; a process starts here if none is idle."""
        with safe_path():
            return super().submit(*asked)

    def kill(self) -> None:
        """Kill the processes, for which a shutdown would wait."""
        for process in list((self._processes or {}).values()):
            process.kill()


def _begin(parent: int, words: Connection | None, said: str | None, began: Any) -> None:
    global _to_parent
    _to_parent = words
    began.value = 1
    said_of_path(said)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # As in the command itself; and nothing need be collected at the end.
    collect_rarely()
    atexit.register(gc.freeze)
    end_with(parent)


def tell_parent(name: str, done: int, known: int) -> None:
    """Tell the parent process how far a source is done."""
    if _to_parent is not None:
        # A short write needs no lock, which a killed process would hold forever. The parent may be gone.
        with suppress(OSError):
            os.write(_to_parent.fileno(), msgspec.json.encode((name[-_NAME_CHARS:], done, known)) + b"\n")
