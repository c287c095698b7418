"""Every error a user can cause: one line that says what is wrong, where, and what to do.

CtxsimError
├── InputError     a transcript, scenario or data file that cannot be used
│   ├── NotATranscript  one of no known format
│   └── ReaderFailed    one on which a reader fails: a defect of the reader
├── UnknownName    a policy, estimator, tokenizer or scenario that does not exist
├── LabelError     a label that cannot be parsed
└── ContractError  a policy that breaks the contract that makes its numbers comparable
"""

import contextlib
import difflib
import os
import re
import traceback
from collections.abc import Iterable
from pathlib import Path

_OURS = str(Path(__file__).parent) + os.sep, contextlib.__file__
"""Files that lead to no error by themselves: ctxsim's, and the one that calls its context managers."""

LONGEST = 1_900
"""Most characters of a message: it stays readable whatever text of a file it quotes."""


def one_line(text: str, longest: int = LONGEST) -> str:
    """Return a text as one line that can be written: characters past `longest` are replaced by their number, halves of
    surrogate pairs (as in names of files with odd bytes) are escaped.
    """
    text = " ".join(text.split()).encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= longest else f"{text[:longest]} ... ({len(text) - longest:,} characters more)"


def agreed(text: str) -> str:
    """Return a text in which each `(s)` agrees with the number before it: `2 policy(s)` becomes `2 policies`."""
    text = re.sub(r"\b((?!1 )\d[\d,]*)( [^()\d]*[^aeiou()\d])y\(s\)", r"\1\2ies", text)
    return re.sub(r"\b(\d[\d,]*)( [^()\d]*)\(s\)", lambda one: one[1] + one[2] + "s" * (one[1] != "1"), text)


def many(number: int, what: str) -> str:
    """Return a number with its noun: `many(2, "session(s)")` is `2 sessions`."""
    return agreed(f"{number:,} {what}")


class CtxsimError(Exception):
    """Shown to the user as one line; the command exits with a non-zero status."""

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message))


class Stopped(BaseException):
    """Raised by a signal that ends this process's work. Not an Exception, because users' code may catch those."""


class TooLong(BaseException):
    """A call into users' code takes too long. Not an Exception, so that code that catches those doesn't go on."""


def told(error: BaseException) -> str:
    """Return one line for an exception of any type: the type, the message, and the file and line that led to it."""
    frames = traceback.extract_tb(error.__traceback__)
    at = own_line(error) or (frames[-1] if frames else None)
    place = f" ({Path(at.filename).name}:{at.lineno})" if at else ""
    return one_line(f"{type(error).__name__}: {error}{place}")


def own_line(error: BaseException) -> traceback.FrameSummary | None:
    """Return the line of the first file outside ctxsim that led to an error, whatever it called there; None if only
    ctxsim's code did.
    """
    frames = [one for one in traceback.extract_tb(error.__traceback__) if not one.filename.startswith(_OURS)]
    return next((one for one in reversed(frames) if one.filename == frames[0].filename), None)


class InputError(CtxsimError):
    """A file cannot be used; `where` is path, and line or field if known."""

    def __init__(self, where: object, what: str) -> None:
        super().__init__(f"{where}: {what}")
        self.where = str(where)
        self.what = what

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        # Unpickling in another process needs both arguments, not the one message made of them.
        return type(self), (self.where, self.what)


class NotATranscript(InputError):
    """A file of no known format: normal for a file in a folder of transcripts, a mistake if the user named the file."""


class ReaderFailed(InputError):
    """A reader raised an unexpected error. The file is refused like any bad one; the defect should be reported."""


class LabelError(CtxsimError):
    """A label such as `token-budget:budget=40000` cannot be parsed."""


class ContractError(CtxsimError):
    """A policy broke the contract, so its numbers mean nothing."""


class UnknownName(CtxsimError):
    """No policy, estimator, tokenizer or the like has this name."""


def unknown(kind: str, name: str, known: Iterable[str]) -> UnknownName:
    """Return the error for an unknown `name`. It lists close names, else all (up to 40), else where to see them."""
    names = sorted(known)
    kinds = {"policy": "policies"}.get(kind, f"{kind.split(' of ')[0]}s")
    listed = f"known: {', '.join(names)}" if len(names) <= 40 else f"see: ctxsim list {kinds}"
    return UnknownName(f"unknown {kind} '{name}'; {nearest(name, names) or listed}")


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a question with up to three known names that are close to `name`, or begin so; '' if none does."""
    names = list(known)
    close = difflib.get_close_matches(name, names)
    begins = {one[: len(name) + 1]: one for one in names if one not in close}
    close += [begins[one] for one in difflib.get_close_matches(name, begins, cutoff=0.8)]
    return f"did you mean {' or '.join(close[:3])}?" if close else ""


def how_to_install(extra: str) -> str:
    """Return the command that installs what an extra needs. It never names `ctxsim`, which anybody could register."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        found = distribution("ctxsim")
    except PackageNotFoundError:
        return "install ctxsim by pip, from its own folder or repository"
    wanted = re.compile(rf"""extra\s*==\s*['"]{extra}['"]""")
    needs = [one.partition(";")[0].strip() for one in found.requires or () if wanted.search(one)]
    return f"pip install {' '.join(map(repr, needs))}"
