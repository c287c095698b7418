"""Hashes that identify a run: of ctxsim's code, of the files that a setting's labels name, and of the run's request.

No run is overwritten silently: a folder that holds another run, or the documented reference, is refused.
"""

import hashlib
import inspect
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import msgspec

from ctxsim.errors import CtxsimError, InputError, many
from ctxsim.policies import Spec
from ctxsim.results.files import description
from ctxsim.results.run_info import __version__
from ctxsim.runs.task import Setting, specs_of


@cache
def own_code() -> str:
    """Return the version and a hash of the package's code and data files: equal if and only if these are the same."""
    folder = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".toml", ".json", ".csv")):
        digest.update(file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return f"ctxsim {__version__} ({digest.hexdigest()[:16]})"


def refuse_other_code(code: str) -> None:
    """Raise CtxsimError in a worker whose code isn't that of the process that sends it tasks."""
    if own_code() != code:
        raise CtxsimError(
            f"a worker has {own_code()}, this process {code}: numbers of two versions would mix; install the same"
        )


def others_code(specs: Iterable[Spec]) -> str:
    """Return a hash of the files in which policies and estimators from outside the package are written, or ''."""
    files = sorted({file for spec in specs for cls in spec.outside if (file := _file_of(cls))})
    return hashlib.sha256(b"".join(Path(file).read_bytes() + b"\0" for file in files)).hexdigest() if files else ""


def _file_of(cls: type[object]) -> str | None:
    try:
        file = inspect.getsourcefile(cls)
    except (TypeError, OSError):
        return None
    return file if file and Path(file).is_file() else None


REFERENCE = "REFERENCE"
"""The file that marks a documented run with which others are compared."""

REPLACE = "give another --out, or --force to replace it (in Python: out, overwrite=True)"


class _Asked(msgspec.Struct):
    title: str = ""
    question: str = ""
    policies: tuple[str, ...] = ()


def is_reference(folder: Path) -> bool:
    """Return whether a folder holds a documented reference."""
    return (folder / REFERENCE).is_file()


def refuse_another(folder: Path, question: str) -> None:
    """Return if a run may be written here: the folder has no `run.json`, or one of the same question.

    Raises InputError for the documented reference, for another run, and for a `run.json` that is no run's.
    """
    if is_reference(folder):
        raise InputError(folder, f"is a documented reference; {REPLACE}")
    try:
        found = msgspec.json.decode(description(folder), type=_Asked)
    except FileNotFoundError:
        return
    except msgspec.DecodeError:
        found = _Asked()
    if found.question != question:
        held = f" ({found.title}; {many(len(found.policies), 'policy(s)')})" if found.title else ""
        raise InputError(folder, f"holds another run{held}; {REPLACE}")


def question(setting: Setting, sources: Iterable[str]) -> str:
    """Return the digest of a run's request: version, policies, options and the names of its sources."""
    # Full labels, so that the digest doesn't depend on how they were typed.
    opened = msgspec.structs.replace(setting, policies=tuple(spec.label for spec in specs_of(setting)))
    digest = hashlib.sha256(msgspec.json.encode((__version__, opened)))
    for name in sources:
        digest.update(name.encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest()
