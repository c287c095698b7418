"""Calls into a policy, which may be a user's code: whatever it does, the replay of the other policies goes on.

An exception, an attempt to end the process and a call that takes too long become an error of one line with its place.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, redirect_stdout
from typing import Any

from ctxsim.errors import LONGEST, ContractError, CtxsimError, TooLong, one_line, own_line
from ctxsim.policies import Policy

MOMENTS = (
    "", "constructor", "start", "on_tool_result", "before_call", "after_call", "on_overflow", "threshold", "end",
)  # fmt: skip
"""The parts of a policy that are called; '' while none is."""

SAID = LONGEST // 2
"""Most characters of an error's message, so that its place still fits."""

_hear: Callable[[str], object] | None = None
"""Callback for each call into users' code, and for its end, with ''. If set, it replaces the time limit here."""


def heard_by(hear: Callable[[str], object]) -> None:
    """Set the callback for calls into users' code. Its owner must end this process if a call takes too long."""
    global _hear
    _hear = hear


def guarded(policy: Policy, moment: str, *arguments: Any) -> Any:
    """Return what a policy does at a moment. Raises ContractError if it raises, exits or takes too long."""
    function = getattr(policy, moment)
    try:
        if function.__module__.startswith("ctxsim.") and not policy.others_code:
            return function(*arguments)
        # Standard output is for tables and rows.
        with _heard(_hear, moment) if _hear else _limited(), redirect_stdout(sys.stderr):
            return function(*arguments)
    except CtxsimError as error:
        said = _said(error)
        # A program's errors begin with its label.
        raise ContractError(said if said.startswith(policy.label) else f"{policy.label}: {moment}: {said}") from error
    except TooLong as error:
        raise ContractError(f"{policy.label}: {moment} {error}") from None
    except (SystemExit, KeyboardInterrupt) as error:
        # A policy's own process hears no Ctrl-C.
        if isinstance(error, KeyboardInterrupt) and _hear is None:
            raise
        raise ContractError(f"{policy.label}: {moment} wanted to end the process{_place(error)}") from error
    # Users' code may raise anything; the error is one line with its place.
    except Exception as error:
        raise ContractError(f"{policy.label}: {moment} raised {type(error).__name__}: {_said(error)}") from error


def _said(error: Exception) -> str:
    """An error's message and place. A long message is cut, so that the place still fits."""
    return one_line(str(error), SAID) + _place(error)


def _place(error: BaseException) -> str:
    line = own_line(error)
    return f" ({line.filename}:{line.lineno})" if line else ""


@contextmanager
def _heard(hear: Callable[[str], object], moment: str) -> Iterator[None]:
    hear(moment)
    try:
        yield
    finally:
        hear("")


def _limited() -> AbstractContextManager[None]:
    # Imported here, as only users' code has a limit.
    from ctxsim.plugins.limit import limited

    return limited()
