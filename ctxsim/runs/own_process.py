"""Policies from files and plug-ins, replayed in a process of their own: one that dies or hangs costs only its own row.

One process (the child) serves all rows of the same code, one after the other. It gets a transcript and a label, and
returns the transcript's rows, or what is sent, call by call. Its time is limited here, its memory by itself; what it
prints goes to standard error.
"""

import atexit
import mmap
import os
import pickle
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

import msgspec

from ctxsim.errors import ContractError
from ctxsim.plugins.files import FROM_FILE, files_loaded
from ctxsim.plugins.limit import limit_s, too_long
from ctxsim.policies import Spec
from ctxsim.runs.parts import unpacked
from ctxsim.runs.rows import Rows
from ctxsim.runs.user_code import Shipped, code_given, plugin_packages, shipped
from ctxsim.safety.processes import end_group, ended, environment, exchanged, python
from ctxsim.simulator.measure.measured import AsSent
from ctxsim.simulator.measure.summary import WHAT_IF, WhatIf
from ctxsim.simulator.replay import Sent
from ctxsim.simulator.replay.guard import MOMENTS

BETWEEN_S = 600.0
"""Seconds that a child may take between two calls of its policy, to count and measure."""

LENGTH_BYTES = 8
SEEN_BYTES = 24

OTHERS = "{}: its process gave something else than it was asked for"

_ENDS_S = 1.0


class Seen(NamedTuple):
    """A child's progress: entries into and exits from the policy, the moment's index (0: none), calls replayed."""

    entered: int = 0
    moment: int = 0
    replayed: int = 0


class Shown:
    """Shared memory in which a child shows its progress to its parent."""

    def __init__(self, file: int) -> None:
        self._numbers = memoryview(mmap.mmap(file, SEEN_BYTES)).cast("Q")

    @property
    def now(self) -> Seen:
        """The present progress."""
        return Seen(*self._numbers)

    def within(self, moment: str) -> None:
        """Record that the policy is called at a moment, or with '' that it has returned."""
        self._numbers[1] = MOMENTS.index(moment)
        self._numbers[0] += 1

    def replayed(self, calls: int) -> None:
        """Record the number of calls replayed."""
        self._numbers[2] = calls


class Asked(NamedTuple):
    """A request to a child: the transcript's rows under a policy or, with `calls`, what is sent."""

    label: str
    calls: bool = False
    what_if: WhatIf = WHAT_IF


class Answer(msgspec.Struct, frozen=True):
    """A child's answer: a line per failure, and the packed rows or requests; None if the policy can't run."""

    failed: tuple[str, ...]
    rows: bytes | None


def others(spec: Spec) -> frozenset[str]:
    """Return the modules of a policy that are from files and plug-in packages, and its `messages:` names."""
    if os.name != "posix":
        return frozenset()
    modules = {cls.__module__ for cls in spec.outside}
    packages = plugin_packages() if modules else set()
    found = {name for name in modules if name.startswith(FROM_FILE) or name.partition(".")[0] in packages}
    return frozenset(found | {name for _, name, _ in spec.links if name.startswith("messages:")})


def rows_apart(
    one: AsSent, spec: Spec, failed: list[str], tell: Callable[[int], object] = lambda done: None,
    what_if: WhatIf = WHAT_IF,
) -> Rows | None:  # fmt: skip
    """Return a transcript's rows under a policy from outside ctxsim, made in a process of its own.

    None, and a line in `failed`, if the policy raises. Raises ContractError if the process ends or hangs.
    """
    answer = _answer(one, spec, Asked(spec.typed, what_if=what_if), tell)
    failed += answer.failed
    if answer.rows is None:
        return None
    rows = unpacked(answer.rows)
    if not isinstance(rows, Rows) or rows.tables["calls"].num_rows != len(one.transcript.calls):
        raise ContractError(OTHERS.format(spec.label))
    return rows


def sent_apart(one: AsSent, spec: Spec) -> Iterator[Sent]:
    """Yield what is sent of a transcript under a policy from outside ctxsim, replayed in a process of its own.

    Raises ContractError: after the earlier calls if the policy raises, at once if the process ends or hangs.
    """
    answer = _answer(one, spec, Asked(spec.typed, calls=True), lambda done: None)
    if answer.rows is None:
        raise ContractError("; ".join(answer.failed))
    try:
        sent = pickle.loads(answer.rows)
    except (pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError, TypeError, ValueError):
        sent = None
    if not isinstance(sent, list) or not all(isinstance(call, Sent) for call in sent):
        raise ContractError(OTHERS.format(spec.label))
    yield from sent
    if answer.failed:
        raise ContractError(answer.failed[0])


def _answer(one: AsSent, spec: Spec, asked: Asked, tell: Callable[[int], object]) -> Answer:
    key = (threading.get_ident(), others(spec))
    child = _running.get(key)
    if child is None or child.files != files_loaded() or not child.alive:
        if child is not None:
            child.end()
        child = _running[key] = Child(code_given() or shipped([spec]))
    try:
        return child.ask(one, asked, tell)
    except BaseException:
        _running.pop(key).end()
        raise


class Child:
    """A running process, and the files with which it was started."""

    def __init__(self, code: Shipped) -> None:
        self.files = files_loaded()
        self._asked: AsSent | None = None
        with tempfile.TemporaryFile() as file:
            file.truncate(SEEN_BYTES)
            self._shown = Shown(file.fileno())
            ours, theirs = os.pipe()
            self._process = subprocess.Popen(
                python("ctxsim.runs.own_process_main", str(theirs), str(file.fileno()), str(os.getpid())),
                stdin=subprocess.PIPE, stdout=2, pass_fds=(theirs, file.fileno()), env=environment(), bufsize=0,
                start_new_session=True,
            )  # fmt: skip
            os.close(theirs)
        self._answers = os.fdopen(ours, "rb", 0)
        assert self._process.stdin
        self._requests = self._process.stdin
        os.set_blocking(self._requests.fileno(), False)
        os.set_blocking(ours, False)
        self._waiting = pickle.dumps(code)

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def ask(self, one: AsSent, asked: Asked, tell: Callable[[int], object]) -> Answer:
        """Return the child's answer. Raises ContractError if it ends or is silent too long; the caller ends it then."""
        if one is not self._asked:
            self._waiting += pickle.dumps(msgspec.structs.replace(one, counter=None))
            self._asked = one
        waiting, self._waiting = self._waiting + pickle.dumps(asked), b""
        label, heard = asked.label, bytearray()
        seen, since = Seen(), time.monotonic()
        for block in exchanged(self._requests, self._answers, waiting):
            heard += block
            length = int.from_bytes(heard[:LENGTH_BYTES], "big")
            if length <= len(heard) - LENGTH_BYTES:
                return _decoded(label, bytes(heard[LENGTH_BYTES:]))
            if not block and not self.alive:
                # A forked copy of the child may still hold the pipe.
                break
            if (now := self._shown.now) != seen:
                seen, since = now, time.monotonic()
            tell(seen.replayed)
            self._limit(label, seen, time.monotonic() - since)
        raise self._silent(label)

    def _limit(self, label: str, seen: Seen, silent_s: float) -> None:
        if seen.moment and silent_s > limit_s():
            raise ContractError(f"{label}: {MOMENTS[seen.moment]} {too_long()}")
        if silent_s > BETWEEN_S:
            raise ContractError(f"{label}: its process did nothing for {BETWEEN_S:g} s")

    def _silent(self, label: str) -> ContractError:
        # The pipe closes a little before the child has ended.
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDS_S)
        end_group(self._process.pid)
        moment = MOMENTS[self._shown.now.moment]
        within = f" in {moment}" if moment else ""
        return ContractError(f"{label}: its process {ended(self._process.wait())}{within}, without an answer")

    def end(self) -> None:
        """Kill the child and all processes that it started."""
        end_group(self._process.pid)
        self._process.wait()
        self._requests.close()
        self._answers.close()


def _decoded(label: str, answer: bytes) -> Answer:
    try:
        return msgspec.msgpack.decode(answer, type=Answer)
    except msgspec.DecodeError as error:
        raise ContractError(f"{label}: its process gave an answer that is none: {error}") from None


_running: dict[tuple[int, frozenset[str]], Child] = {}


def end_apart() -> None:
    """Kill the processes that serve this thread."""
    # Other threads may change `_running` meanwhile.
    for key in [key for key in list(_running) if key[0] == threading.get_ident()]:
        _running.pop(key).end()


@atexit.register
def _end_all() -> None:
    while _running:
        _running.popitem()[1].end()


# A forked copy must not end the processes of the one that it was copied from.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_running.clear)
