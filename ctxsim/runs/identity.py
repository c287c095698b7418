"""What made a number: the code of ctxsim itself, and the files that a setting's labels name."""

import hashlib
import inspect
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import ctxsim
from ctxsim import __version__
from ctxsim.policies import Spec


@cache
def own_code() -> str:
    """Return the version and a hash of every file of the package: equal where, and only where, the code is the same."""
    folder = Path(ctxsim.__file__).parent
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".toml", ".json", ".csv")):
        digest.update(file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return f"ctxsim {__version__} ({digest.hexdigest()[:16]})"


def others_code(specs: Iterable[Spec]) -> str:
    """Return a hash of the files in which policies and estimators from outside the package are written, or ''."""
    classes = {link[0] for spec in specs for link in spec.links} | {type(spec.estimator) for spec in specs}
    files = sorted({file for cls in classes if (file := _file_of(cls))})
    return hashlib.sha256(b"".join(Path(file).read_bytes() + b"\0" for file in files)).hexdigest() if files else ""


def _file_of(cls: type[object]) -> str | None:
    if cls.__module__.partition(".")[0] == "ctxsim":
        return None
    try:
        file = inspect.getsourcefile(cls)
    except (TypeError, OSError):
        return None
    return file if file and Path(file).is_file() else None
