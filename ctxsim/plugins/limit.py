"""The time limit of a call into users' code, for this process's main thread."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ctxsim.errors import TooLong
from ctxsim.plugins.files import limit_in

VARIABLE = "CTXSIM_POLICY_SECONDS"
DEFAULT_S = 60.0
"""Seconds that one call into a policy, an estimator or a reader from outside the package may take."""


def limit_s() -> float:
    """Return the time limit in seconds, as `limit_in` does."""
    return limit_in("seconds", VARIABLE, DEFAULT_S)


def too_long() -> str:
    """Return what is said of a call that takes longer."""
    return f"took longer than {limit_s():g} s; {VARIABLE} sets the limit"


@contextmanager
def limited() -> Iterator[None]:
    """Raise TooLong in a block that takes longer than `limit_s()`; only in the main thread, on systems with SIGALRM.

    A block within such a block has no limit of its own.
    """
    can = hasattr(signal, "SIGALRM") and threading.current_thread() is threading.main_thread()
    if not can or signal.getsignal(signal.SIGALRM) is _ring:
        yield
        return
    before = signal.signal(signal.SIGALRM, _ring)
    # It rings again, for code that catches everything.
    signal.setitimer(signal.ITIMER_REAL, limit_s(), 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _ring(number: int, frame: object) -> None:
    raise TooLong(too_long())
