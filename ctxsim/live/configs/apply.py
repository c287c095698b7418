"""Changes configuration files, keeps backups, and restores them byte for byte."""

import difflib
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from ctxsim.errors import CtxsimError, InputError
from ctxsim.live.configs import edit
from ctxsim.plugins.files import Keys, config_folder
from ctxsim.results.files import replacing

MOST_BYTES = 1 << 20
"""The largest file, in bytes, that is taken for a configuration file."""


class Change(msgspec.Struct, frozen=True):
    """A file's bytes before a change, None if it doesn't exist, and after the change."""

    path: Path
    before: bytes | None
    after: bytes

    @property
    def diff(self) -> str:
        """The change as a unified diff; '' if nothing changes."""
        old = (self.before or b"").decode("utf-8").splitlines()
        new = self.after.decode("utf-8").splitlines()
        old_name = "/dev/null" if self.before is None else str(self.path)
        return "\n".join(difflib.unified_diff(old, new, old_name, str(self.path), lineterm=""))


class Applied(msgspec.Struct, frozen=True):
    """A change that was written: the file, its backup ('' if it is new), and its new SHA-256."""

    path: str
    backup: str
    sha256: str


def planned(path: Path, form: edit.Format, values: Mapping[Keys, edit.Value]) -> Change:
    """Return the change that sets the values of some keys in a file, given without links. Nothing is written.

    Raises InputError for a file that isn't a plain file of that format in UTF-8, or is larger than 1 MiB.
    """
    before = _read(path)
    try:
        made = "" if before is None else before.decode("utf-8")
        for keys, value in values.items():
            made = edit.edited(made, form, keys, value)
    except UnicodeDecodeError:
        raise InputError(str(path), "it is no UTF-8; set it by hand") from None
    except CtxsimError as error:
        raise InputError(str(path), str(error)) from None
    return Change(path, before, made.encode("utf-8"))


def write(changes: Sequence[Change]) -> tuple[Applied, ...]:
    """Write changes of different files, which one `undo` restores, and keep backups. Raises InputError, and writes
    nothing, if a file has changed since its change was planned, and OSError, with all files as they were, if one can't
    be written.
    """
    for change in changes:
        if _read(change.path) != change.before:
            raise InputError(str(change.path), "it was changed meanwhile; look at the change again")
    records = _folder()
    number = 1 + max((int(one.stem) for one in records.glob("*.json")), default=0)
    done = []
    for n, change in enumerate(changes, 1):
        backup = records / f"{number:04}-{n}.backup"
        if change.before is not None:
            _put(backup, change.before, 0o600)
        kept = "" if change.before is None else str(backup)
        done.append(Applied(str(change.path), kept, hashlib.sha256(change.after).hexdigest()))
    # The record is written before the files, so that every written change can be undone.
    _put(records / f"{number:04}.json", msgspec.json.Encoder().encode_lines(done), 0o600)
    try:
        for change in changes:
            change.path.parent.mkdir(parents=True, exist_ok=True)
            mode = change.path.stat().st_mode & 0o777 if change.before is not None else 0o600
            _put(change.path, change.after, mode)
    except OSError:
        undo()
        raise
    return tuple(done)


def undo() -> tuple[Applied, ...]:
    """Restore the files of the last `write`, byte for byte, and return the changes that were undone.

    Raises CtxsimError if no change is recorded, and InputError, with every file left as it is, if one was changed after
    it was written.
    """
    record = max(_folder().glob("*.json"), key=lambda one: int(one.stem), default=None)
    if record is None:
        raise CtxsimError("nothing was applied that could be undone")
    done = tuple(msgspec.json.Decoder(Applied).decode_lines(record.read_bytes()))
    before = {Path(one.path): Path(one.backup).read_bytes() if one.backup else None for one in done}
    for one, (path, kept) in zip(done, before.items(), strict=True):
        now = _read(path)
        if now != kept and (now is None or hashlib.sha256(now).hexdigest() != one.sha256):
            old = f"; the copy saved before ctxsim's change is {one.backup}" if one.backup else ""
            raise InputError(str(path), f"it was edited or removed after ctxsim wrote it, so nothing was undone{old}")
    for path, kept in before.items():
        if _read(path) == kept:
            continue
        if kept is None:
            path.unlink()
        else:
            _put(path, kept, path.stat().st_mode & 0o777)
    record.unlink()
    for one in done:
        if one.backup:
            Path(one.backup).unlink()
    return done


def _read(path: Path) -> bytes | None:
    """Return a file's bytes; None if it doesn't exist. Raises InputError if it isn't a plain file or is too large."""
    if path.is_symlink():
        raise InputError(str(path), "it is a link that leads in a circle")
    if not path.exists():
        return None
    if not path.is_file():
        raise InputError(str(path), "it is no plain file")
    if path.stat().st_size > MOST_BYTES:
        raise InputError(str(path), f"it has more than {MOST_BYTES:,} bytes; set it by hand")
    return path.read_bytes()


def _folder() -> Path:
    folder = config_folder() / "applied"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _put(path: Path, data: bytes, mode: int) -> None:
    with replacing(path) as made:
        made.write_bytes(data)
        made.chmod(mode)
