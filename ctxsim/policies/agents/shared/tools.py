"""What a tool does, by the names it has in any agent: a policy may replay another agent's recordings."""

import json
import re

from ctxsim.transcript import Item
from ctxsim.view import View

SHELLS = frozenset(
    ("bash", "shell", "exec_command", "unified_exec", "local_shell", "run_shell_command", "run_commands",
     "execute_command", "terminal", "execute_bash", "container.exec", "developer__shell", "powershell")
)  # fmt: skip
READERS = frozenset(
    ("read", "read_file", "read_files", "view", "cat", "open_file", "readfile", "read_many_files", "view_file")
)
CAT = re.compile(r"cat +([^\s|&;<>$`'\"*?-][^\s|&;<>$`'\"*?]*)")
PATHS = ("file_path", "path", "absolute_path", "filePath", "filename", "file")


def is_shell(tool: str) -> bool:
    """Whether a tool runs commands."""
    return tool.lower() in SHELLS


def is_reader(tool: str) -> bool:
    """Whether a tool shows a file."""
    return tool.lower() in READERS


def path_read(call: Item, by_cat: bool = False) -> str:
    """Return the path that a call reads; of a shell's call, with `by_cat`, the path of a plain `cat`; '' if none."""
    try:
        arguments = json.loads(call.text)
    except ValueError:
        return ""
    if not isinstance(arguments, dict):
        return ""
    if is_shell(call.tool):
        printed = CAT.fullmatch(str(arguments.get("command", "")).strip()) if by_cat else None
        return printed[1] if printed else ""
    found = (arguments[key] for key in PATHS if isinstance(arguments.get(key), str))
    return next(found, "")


def files_read(view: View, by_cat: bool = False) -> dict[str, Item]:
    """Return, by path, the newest result of each file read, newest first. `by_cat` includes a shell's `cat PATH`."""
    found: dict[str, Item] = {}
    for result in reversed(view.results):
        if not (is_reader(result.tool) or (by_cat and is_shell(result.tool))) or result.answers is None:
            continue
        call = view.find(result.answers)
        if call and (path := path_read(call, by_cat)):
            found.setdefault(path, result)
    return found
