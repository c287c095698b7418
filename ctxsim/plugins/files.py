"""Users' files: small ones of settings and rules, parsed within bounds, and Python files that labels name."""

import hashlib
import os
import re
import stat
import sys
import tomllib
import traceback
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

from ctxsim.errors import InputError, LabelError, one_line


def config_folder() -> Path:
    """Return the user's own configuration folder of ctxsim, which needn't be there."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config", "ctxsim")


MOST_BYTES = 1_000_000
MOST_PARTS = 100
"""Of a dotted key: the parser's time grows with their square."""

_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+"""
_LONG_KEY = re.compile(rf"(?<![\w-]){_PART}(?:\.[ \t]*+{_PART}){{{MOST_PARTS}}}", re.ASCII)


def opened(path: Path) -> BinaryIO:
    """Return a file, open to read. Raises InputError for a pipe or a device; OSError as the system does."""
    # Opening a pipe to read would wait for a writer.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    stream = os.fdopen(handle, "rb")
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        stream.close()
        raise InputError(path, "is a pipe, a device or a socket, no file")
    return stream


def small_file(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return what stands in a file. Raises InputError for a pipe, a device, or more than 1 MB, or `most`; OSError as
    the system does, for one that isn't there too.
    """
    with opened(path) as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise InputError(path, f"is larger than {most / 1e6:.0f} MB, which no such file is")
    return data


def toml_values(data: bytes, where: object) -> dict[str, Any]:
    """Return the values of TOML. Raises InputError for what is none, or what no person would write."""
    try:
        text = data.decode("utf-8")
        if _LONG_KEY.search(text):
            raise InputError(where, f"has a key of more than {MOST_PARTS} parts")
        return tomllib.loads(text)
    except RecursionError:
        raise InputError(where, "is nested too deeply") from None
    except ValueError as error:
        raise InputError(where, f"is no TOML: {error}") from None


FROM_FILE = "ctxsim_"
"""What the names of modules begin with that were loaded from a user's file."""

_texts: dict[str, bytes] = {}
"""By path, the files that were loaded, and those that another process gave."""

_given: set[str] = set()


def give_files(files: Mapping[str, bytes]) -> None:
    """Take these texts for what stands in files of these paths, whether they are on this machine or not."""
    _texts.update(files)
    _given.update(files)


def files_given() -> bool:
    """Return whether another process gave files: it has opened them before."""
    return bool(_given)


def files_loaded() -> dict[str, bytes]:
    """Return the files that labels have named in this process, by path."""
    return dict(_texts)


def load_file(kind: str, path: str) -> ModuleType:
    """Return anybody's Python file as a module; `kind` is what errors call it.

    The same text gives the same module: two labels of one file name one thing. Raises LabelError where there is no such
    file, or where running it fails.
    """
    return _run_file(kind, path, user_file(kind, path))


def user_file(kind: str, path: str, read: Callable[[Path], bytes] = Path.read_bytes) -> bytes:
    """Return what stands in a file that a label or an option names; `kind` is what errors call it. Raises LabelError
    where there is none.
    """
    if path not in _given:
        if not Path(path).is_file():
            raise LabelError(f"no {kind} file {path}")
        _texts[path] = read(Path(path))
    return _texts[path]


@cache
def _run_file(kind: str, path: str, text: bytes) -> ModuleType:
    # Files of one name in two folders are two modules: a class's annotations are looked up in its own.
    number = hashlib.sha256(path.encode("utf-8", "surrogateescape") + b"\0" + text).hexdigest()[:16]
    module_name = f"{FROM_FILE}{kind}_{Path(path).stem}_{number}"
    module = ModuleType(module_name)
    module.__file__ = path
    sys.modules[module_name] = module
    try:
        # Standard output is for tables and rows.
        with redirect_stdout(sys.stderr):
            exec(compile(text, path, "exec"), vars(module))
    # The file is anybody's code: whatever it raises is told in one line, with its place.
    except (Exception, SystemExit) as error:
        line = error.lineno if isinstance(error, SyntaxError) and error.filename == path else _line_in(path, error)
        told = f"{type(error).__name__}: {one_line(str(error))}"
        raise LabelError(f"{kind} file {path}, line {line}: {told}") from error
    return module


def _line_in(path: str, error: BaseException) -> int | None:
    """The line of the file that led to an error, even to one raised in a library."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).name == Path(path).name]
    return (own or frames)[-1].lineno
