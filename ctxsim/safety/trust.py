"""What a project's or a scenario's file may say: data freely; what runs code or leaves the project once it is trusted.

A file comes with a clone, from anybody. Trust is bound to its content: whoever changes it asks again. As git's
`safe.directory` and direnv's `allow` do.
"""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from ctxsim.errors import InputError
from ctxsim.plugins.files import config_folder, small_file

STORE = "trusted"
"""The file in the user's configuration folder: a digest of content and a name on each line."""

_RUNS = re.compile(r"\.py\b|(?:^|[+,=|])(?:pipe|messages|reader|git)\s*:")
"""What of a label or a path runs a program, or a file as one."""

_everything = False


def trust_everything(everything: bool) -> None:
    """Ask nothing from now on, or ask again: for continuous integration of one's own."""
    global _everything
    _everything = everything


def store() -> Path:
    """Return where the user keeps what he trusts."""
    return config_folder() / STORE


def asking(labels: Iterable[str], paths: Iterable[str], folder: Path, project: Path) -> list[str]:
    """Return what of a file in a folder runs code, connects, looks for the user's folders, or leaves the project."""
    return [
        *(label for label in labels if _RUNS.search(label)),
        *(path for path in paths if path != "-" and (_RUNS.search(path) or _leaves(path, folder, project))),
    ]


def _leaves(path: str, folder: Path, project: Path) -> bool:
    if path.startswith(("@", "~", "column:")) or "://" in path:
        return True
    return not Path(folder, path).resolve().is_relative_to(project.resolve())


def trusted(content: bytes) -> bool:
    """Return whether the user trusts a file of this content."""
    try:
        known = store().read_bytes().splitlines()
    except OSError:
        known = []
    return _everything or any(line.split(b" ", 1)[0] == _digest(content).encode() for line in known)


def refuse(file: Path, content: bytes, asked: list[str]) -> None:
    """Raise InputError where a file asks for what only a trusted one may have."""
    if asked and not trusted(content):
        more = f" and {len(asked) - 1} more" if len(asked) > 1 else ""
        raise InputError(
            file,
            f"'{asked[0]}'{more} would run code or leave the project: look at it, then `ctxsim trust {file}`, or "
            "ctxsim --trust",
        )


def trust(file: Path) -> str:
    """Take a file as it is now for trusted, and return its digest. Raises InputError if it can't be read."""
    try:
        digest = _digest(small_file(file))
    except OSError as error:
        raise InputError(file, f"can't be read: {error.strerror or error}") from None
    kept = store()
    kept.parent.mkdir(parents=True, exist_ok=True)
    with kept.open("a", encoding="utf-8") as lines:
        lines.write(f"{digest} {file.absolute()}\n")
    return digest


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
