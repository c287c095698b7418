"""Calls into a policy: it is anybody's code, and whatever it does, the replay of the others goes on.

What it raises, an attempt to end the process, and a call that doesn't come back are one line with their place.
"""

from __future__ import annotations

import os
import signal
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ctxsim.errors import ContractError, InputError
from ctxsim.policies import Policy

VARIABLE = "CTXSIM_POLICY_SECONDS"
DEFAULT_S = 60.0
"""How long one call into a policy from outside the package may take."""


class _TooLong(BaseException):
    """Not an Exception: a policy that catches those must not go on."""


def guarded(policy: Policy, moment: str, *arguments: Any) -> Any:
    """Return what a policy does at a moment. Raises ContractError if it raises, exits or takes too long."""
    function = getattr(policy, moment)
    try:
        if function.__module__.startswith("ctxsim."):
            return function(*arguments)
        with _limited():
            return function(*arguments)
    except ContractError:
        raise
    except _TooLong:
        raise ContractError(
            f"{policy.label}: {moment} took longer than {limit_s():g} s; {VARIABLE} sets the limit"
        ) from None
    except SystemExit as error:
        raise ContractError(f"{policy.label}: {moment} wanted to end the process ({_place(error)})") from error
    # It is anybody's code: whatever it raises is told in one line, with its place.
    except Exception as error:
        raise ContractError(
            f"{policy.label}: {moment} raised {type(error).__name__}: {error} ({_place(error)})"
        ) from error


def limit_s() -> float:
    """Return the time limit in seconds. Raises InputError if the variable is no positive number."""
    text = os.environ.get(VARIABLE, str(DEFAULT_S))
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e9:
        raise InputError(VARIABLE, f"is '{text}', not a number of seconds")
    return seconds


def _place(error: BaseException) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{place.filename}:{place.lineno}"


@contextmanager
def _limited() -> Iterator[None]:
    """Interrupts what takes too long, where a signal can: in a main thread, on systems that have an alarm."""
    if not hasattr(signal, "SIGALRM") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: Any) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGALRM, ring)
    # It rings again, for a policy that catches everything.
    signal.setitimer(signal.ITIMER_REAL, limit_s(), 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
