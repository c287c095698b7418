"""Instructions that an agent loads beside its system prompt: AGENTS.md at three levels, merged in order."""

from pathlib import Path

import msgspec

from ctxsim.errors import InputError

NAME = "AGENTS.md"
GLOBAL_FOLDER = ".adk-code"
LIMIT_BYTES = 32 * 1024
PROJECT_SIGNS = (".git", ".hg", "go.mod", "package.json")


class Instructions(msgspec.Struct, frozen=True):
    """The merged text, the files it came from, its size in UTF-8 bytes, and whether the limit cut it."""

    merged: str
    sources: tuple[Path, ...]
    bytes: int
    truncated: bool


def project_root(folder: Path) -> Path | None:
    """Return the nearest folder, this one or above, that holds a sign of a project; None if there is none."""
    return next((up for up in (folder, *folder.parents) if any((up / sign).exists() for sign in PROJECT_SIGNS)), None)


def load_instructions(folder: Path, home: Path | None = None) -> Instructions:
    """Return the instructions that an agent working in a folder would load, global, project and folder, in this order.

    Document 003, part 5. It says "first found wins" and "concatenate in order"; its test demands the latter, and so
    does its limit. The limit of 32 KiB is in bytes, and cuts between two characters. A file found twice counts once.
    Raises InputError if `folder` isn't a folder, or if a file isn't UTF-8 text.
    """
    folder = folder.expanduser().resolve()
    if not folder.is_dir():
        raise InputError(folder, "is no folder to load instructions for")
    root = project_root(folder)
    levels = [(home or Path.home()) / GLOBAL_FOLDER, *([root] if root else []), folder]
    sources = [file for file in dict.fromkeys(level / NAME for level in levels) if file.is_file()]
    try:
        texts = [file.read_text(encoding="utf-8").rstrip("\n") for file in sources]
    except UnicodeDecodeError as error:
        raise InputError(folder, f"has an {NAME} that is not UTF-8: {error}") from None
    data = "\n\n".join(texts).encode()
    merged = data[:LIMIT_BYTES].decode("utf-8", "ignore")
    return Instructions(merged, tuple(sources), len(merged.encode()), len(data) > LIMIT_BYTES)
