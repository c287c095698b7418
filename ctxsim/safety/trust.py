"""Trust in the files of projects, scenarios and runs: a file needs it to run code or to leave the project.

A file may come with a clone from anyone. Trust is bound to its content: a changed file must be trusted again. Compare
git's `safe.directory` and direnv's `allow`.
"""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from ctxsim.errors import InputError
from ctxsim.plugins.files import config_folder, small_file
from ctxsim.plugins.labels import by_words

_FILE = re.compile(r"file=([^,]*)")
_OF_RULES = re.compile(r"hf:(.*)|(.*\.toml)(?::.*)?", re.DOTALL)

_everything = False


def trust_everything(everything: bool) -> None:
    """Trust every file from now on, or (False) only recorded ones again. For the user's own continuous integration."""
    global _everything
    _everything = everything


def store() -> Path:
    """Return the path of the user's list of trusted files. A line has the digest of a file's content, and its path."""
    return config_folder() / "trusted"


def asking(
    labels: Iterable[str], paths: Iterable[str], folder: Path, project: Path, rules: Iterable[object] = ()
) -> list[str]:
    """Return the labels and paths of a file that run code, connect, look for the user's folders, or leave the project.

    Paths are relative to `folder`, from which they will be opened. `rules` are a provider's values.
    """
    from ctxsim.readers.paths import is_plain

    labels = list(labels)
    files = [file for label in labels for file in _FILE.findall(label)]
    opened = [*paths, *files, *files_of(rules)]
    return [
        *(label for label in labels if not by_words(label)),
        *(path for path in opened if path != "-" and (not is_plain(path) or _leaves(path, folder, project))),
        # In a chain or a grid it isn't clear which file would be opened.
        *(file for file in files if set(file) & set("+|") or ".." in file),
    ]


def files_of(rules: Iterable[object]) -> list[str]:
    """Return the files that a provider's values name: of a vendor, of models, or of a tokenizer."""
    found = (_OF_RULES.fullmatch(value) for value in rules if isinstance(value, str))
    return [one[1] or one[2] or "" for one in found if one]


def _leaves(path: str, folder: Path, project: Path) -> bool:
    """Whether a path, or any path that matches it as a pattern, is outside of the project."""
    from ctxsim.readers.paths import matches

    top = project.resolve()
    inside = Path(folder, path).resolve().is_relative_to(top)
    found = matches(path, folder) if inside else ()
    return not inside or any(not Path(folder, one).resolve().is_relative_to(top) for one in found)


def trusted(content: bytes) -> bool:
    """Return whether the user trusts files with this content."""
    try:
        known = store().read_bytes().splitlines()
    except OSError:
        known = []
    return _everything or any(line.partition(b" ")[0] == _digest(content).encode() for line in known)


def refuse(file: Path, content: bytes, asked: list[str]) -> None:
    """Raise InputError if `asked`, the values of a file that need trust, isn't empty and the file isn't trusted."""
    if asked and not trusted(content):
        more = f" and {len(asked) - 1} more" if len(asked) > 1 else ""
        then = f"look at it, then `ctxsim trust {file}`, or ctxsim --trust"
        raise InputError(file, f"'{asked[0]}'{more} would run code or leave the project: {then}")


def trust(file: Path) -> str:
    """Record a file's present content as trusted, and return its digest. Raises InputError if it can't be read."""
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
