"""Users' settings and rules, parsed with limits on size and depth, limits in variables, and Python files of labels."""

import hashlib
import json
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

from ctxsim.errors import CtxsimError, InputError, LabelError, one_line

MOVED = {
    # https://specifications.freedesktop.org/basedir/latest/
    "~/.config": "XDG_CONFIG_HOME", "~/.local/share": "XDG_DATA_HOME",
    # As the agents' documentation states, which `readers.agent_folders` names.
    "~/.claude": "CLAUDE_CONFIG_DIR", "~/.codex": "CODEX_HOME", "~/.gemini": "GEMINI_CLI_HOME/.gemini",
    "~/.copilot": "COPILOT_HOME", "~/.pi/agent": "PI_CODING_AGENT_DIR", "~/.openclaw": "OPENCLAW_STATE_DIR",
    "~/.qwen": "QWEN_HOME", "~/.kimi": "KIMI_SHARE_DIR", "~/.kimi-code": "KIMI_CODE_HOME", "~/.cline": "CLINE_DIR",
    "~/.grok": "GROK_HOME", "~/.hermes": "HERMES_HOME",
}  # fmt: skip
"""Folders of the user's home, with the environment variable that moves each and all that is in it."""


def at_home(path: str, environment: Mapping[str, str] = os.environ) -> Path:
    """Return the path of what lies at `~/...` unless a variable of MOVED says otherwise."""
    for folder, named in MOVED.items():
        variable, _, below = named.partition("/")
        if (root := environment.get(variable)) and Path(path).is_relative_to(folder):
            return Path(root, below, Path(path).relative_to(folder))
    return Path(path).expanduser()


def config_folder() -> Path:
    """Return the user's configuration folder for ctxsim, which may not exist."""
    return at_home("~/.config/ctxsim")


def limit_in(unit: str, variable: str, default: float) -> float:
    """Return the limit that an environment variable sets. Raises InputError if it is no positive number."""
    text = os.environ.get(variable, str(default))
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e9:
        raise InputError(variable, f"is '{text}', not a number of {unit}")
    return number


MOST_BYTES = 1_000_000
MOST_PARTS = 100
"""Most parts of a dotted TOML key. The parser's time grows with the square of their number."""

_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+"""
_LONG_KEY = re.compile(rf"(?<![\w-]){_PART}(?:\.[ \t]*+{_PART}){{{MOST_PARTS}}}", re.ASCII)

_BESIDE_TEXT = re.compile(
    r'("(?:[^"\\]|\\.)*+(?:"|\Z)|/\*(?:(?!\*/).)*+\Z)|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL
)
"""Comments and trailing commas. Group 1 matches what stays: strings, which may hold either, and unclosed comments."""


def opened(path: Path) -> BinaryIO:
    """Return a file, open for binary reading. Raises InputError for a pipe or a device, OSError if opening it fails."""
    # Without it, opening a pipe would wait for a writer.
    at_once = getattr(os, "O_NONBLOCK", 0)
    stream = open(path, "rb", opener=lambda name, flags: os.open(name, flags | at_once))  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise InputError(path, "is a pipe, a device or a socket, no file")
    return stream


def small_file(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return the bytes of a file. Raises InputError for a pipe, a device, or a file of more than `most` bytes (1 MB
    unless given), and OSError if it doesn't exist or can't be read.
    """
    with opened(path) as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise InputError(path, f"is larger than {most:,} bytes, which no such file is")
    return data


def without_comments(text: str) -> str:
    """Return JSON with blanks in the place of comments and trailing commas."""
    # Twice, because a comment may stand between a trailing comma and the bracket.
    for _ in range(2):
        text = _BESIDE_TEXT.sub(lambda one: one[1] or re.sub("[^\n]", " ", one[0]), text)
    return text


def config_values(text: str, form: str, where: object) -> Any:
    """Parse a configuration file in JSON (`json` or `jsonc`, with comments), `toml` or `yaml`; an empty one is an empty
    table. Raises InputError if it isn't of that format or is nested too deeply.
    """
    if form == "toml":
        return toml_values(text.encode(), where)
    try:
        if form == "yaml":
            import yaml

            try:
                return yaml.safe_load(text) or {}
            except yaml.YAMLError as error:
                raise ValueError(str(error)) from None
        plain = without_comments(text).removeprefix("\ufeff")
        return json.loads(plain) if plain.strip() else {}
    except (ValueError, RecursionError) as error:
        raise InputError(where, f"can't be read as {form}: {one_line(str(error))}") from None


Keys = tuple[str | int, ...]
"""Keys of a value in nested tables, from the outermost in. A number is an index in a list."""


def with_value(data: Any, keys: Keys, value: object) -> Any:
    """Return a copy of data with a value set under keys. Raises CtxsimError if a key before the last holds no table."""
    if not keys:
        return value
    key, rest = keys[0], keys[1:]
    if isinstance(key, int):
        if not isinstance(data, list) or key >= len(data):
            raise CtxsimError(f"there is no entry {key} in the list on the way to {dotted(keys)}")
        return [with_value(one, rest, value) if n == key else one for n, one in enumerate(data)]
    if not isinstance(data, dict):
        kind = "null" if data is None else type(data).__name__
        raise CtxsimError(f"what stands on the way to {dotted(keys)} is {kind}, not a table")
    return {**data, key: with_value(data.get(key, {}), rest, value)}


def dotted(keys: Keys) -> str:
    """Return keys as text, with dots between them."""
    return ".".join(map(str, keys))


def toml_values(data: bytes, where: object) -> dict[str, Any]:
    """Parse TOML. Raises InputError for invalid TOML, nesting too deep, or a key of more than `MOST_PARTS` parts."""
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
"""Prefix of the names of modules that were loaded from users' files."""

_texts: dict[str, bytes] = {}
"""Contents by path, of files that were loaded and of files that another process gave."""

_given: set[str] = set()


def give_files(files: Mapping[str, bytes]) -> None:
    """Use these contents for the files of these paths, whether or not the files exist on this machine."""
    _texts.update(files)
    _given.update(files)


def files_given() -> bool:
    """Return whether another process gave files. That process has opened them already."""
    return bool(_given)


def files_loaded() -> dict[str, bytes]:
    """Return the contents, by path, of all files that were loaded in this process or given to it."""
    return dict(_texts)


def load_file(kind: str, path: str) -> ModuleType:
    """Run a user's Python file and return it as a module. Errors call the file by its `kind`.

    The same path and contents give the same module, so that two labels of one file name one class. Raises LabelError
    if there is no such file, or if running it fails.
    """
    return _run_file(kind, path, user_file(kind, path))


def user_file(kind: str, path: str, read: Callable[[Path], bytes] = Path.read_bytes) -> bytes:
    """Return the contents of a file that a label or an option names. Errors call the file by its `kind`. Raises
    LabelError if it doesn't exist.
    """
    if path not in _given:
        if not Path(path).is_file():
            raise LabelError(f"no {kind} file {path}")
        _texts[path] = read(Path(path))
    return _texts[path]


@cache
def _run_file(kind: str, path: str, text: bytes) -> ModuleType:
    # Files of one name need two module names: a class's annotations are resolved in `sys.modules`.
    number = hashlib.sha256(path.encode("utf-8", "surrogateescape") + b"\0" + text).hexdigest()[:16]
    module_name = f"{FROM_FILE}{kind}_{Path(path).stem}_{number}"
    module = ModuleType(module_name)
    module.__file__ = path
    sys.modules[module_name] = module
    try:
        # Standard output is reserved for tables and rows.
        with redirect_stdout(sys.stderr):
            exec(compile(text, path, "exec"), vars(module))
    # A user's file may raise anything. It is reported in one line with the line number.
    except (Exception, SystemExit) as error:
        line = error.lineno if isinstance(error, SyntaxError) and error.filename == path else _line_in(path, error)
        told = f"{type(error).__name__}: {one_line(str(error))}"
        told += "; PYTHONPATH names folders of modules" if isinstance(error, ModuleNotFoundError) else ""
        raise LabelError(f"{kind} file {path}, line {line}: {told}") from error
    return module


def _line_in(path: str, error: BaseException) -> int | None:
    """The last line of the file in the traceback, even if a library raised the error."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).name == Path(path).name]
    return (own or frames)[-1].lineno
