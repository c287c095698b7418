"""The user's own code, for workers: files that labels name, installed plug-ins, and classes that neither holds.

A worker may run on another machine, in another folder, or without the user's packages. It gets source text: of files
and, on another machine, of the packages that bring plug-ins. Only a class that was made in the process that started
the worker, as in a notebook, is sent by value (cloudpickle).
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
from collections.abc import Iterable
from importlib.metadata import EntryPoint
from pathlib import Path

import cloudpickle
import msgspec

from ctxsim.counting.estimators import Estimator, registered_estimators
from ctxsim.counting.estimators import register as register_estimator
from ctxsim.errors import CtxsimError
from ctxsim.plugins import OUTSIDE, give_points, installed
from ctxsim.plugins.files import files_loaded, give_files
from ctxsim.policies import Policy, Spec, open_policies, register, registered_policies
from ctxsim.readers.source.placed import Copies


class Shipped(msgspec.Struct, frozen=True):
    """Files by path, classes of policies and estimators by value, and installed plug-ins if they are sent along."""

    files: dict[str, bytes] = {}
    classes: bytes = b""
    packages: Packages | None = None


def shipped(specs: Iterable[Spec], elsewhere: bool = False) -> Shipped:
    """Return the code that these policies and their estimators need and that isn't ctxsim's; for another machine, all
    installed plug-ins too.
    """
    # Classes from files or made of functions aren't registered: the worker opens them by their labels.
    known = {*registered_policies().values(), *registered_estimators().values()}
    own = {cls for spec in specs for cls in spec.outside} & known
    if own:
        packages = plugin_packages()
        own = {cls for cls in own if cls.__module__.partition(".")[0] not in packages}
    by_value = _by_value(sorted(own, key=lambda cls: cls.__qualname__)) if own else b""
    return Shipped(files_loaded(), by_value, packages_installed() if elsewhere else None)


def _by_value(classes: list[type]) -> bytes:
    """Pickle classes with their code, so that a worker needn't have their module."""
    modules = {sys.modules[cls.__module__] for cls in classes if cls.__module__ in sys.modules}
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        data: bytes = cloudpickle.dumps(classes)
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)
    return data


def unpack(code: Shipped) -> None:
    """Register shipped code in this process, in place of earlier code, since a worker may outlive a bench."""
    global _unpacked
    # Other threads of a worker must not open labels before all of it is registered.
    with _LOCK:
        if code == _unpacked:
            return
        _unpacked = code
        give_files(code.files)
        if code.packages is not None:
            give_packages(code.packages)
        for cls in cloudpickle.loads(code.classes) if code.classes else ():
            if issubclass(cls, Policy):
                register(cls)
            elif issubclass(cls, Estimator):
                register_estimator(cls)
        open_policies.cache_clear()


_LOCK = threading.Lock()


_unpacked = Shipped()
"""The code that this process got last."""


def code_given() -> Shipped | None:
    """Return the code that this process got last, for another that it starts; None if it got none. Files of packages
    are left out: they are on the search path, which both processes share.
    """
    if _unpacked == Shipped():
        return None
    packages = _unpacked.packages
    return msgspec.structs.replace(_unpacked, packages=packages and Packages(points=packages.points))


GROUPS = ("ctxsim.policies", "ctxsim.estimators", "ctxsim.readers", OUTSIDE)

MOST_BYTES = 100_000_000
"""Most bytes of all files of plug-ins together; more is no source text."""


class Packages(msgspec.Struct, frozen=True):
    """Files of packages by their paths below a folder of packages, and the entry points: group, name, value."""

    files: dict[str, bytes] = {}
    points: tuple[tuple[str, str, str], ...] = ()


def _points() -> list[EntryPoint]:
    return sorted((point for group in GROUPS for point in installed(group)), key=lambda one: (one.group, one.name))


def plugin_packages() -> set[str]:
    """Return the names of the packages that bring plug-ins."""
    return {point.value.partition(":")[0].partition(".")[0].strip() for point in _points()}


def packages_installed() -> Packages:
    """Return all installed plug-ins. Raises CtxsimError where they are too large to be sent."""
    files: dict[str, bytes] = {}
    for name in sorted(plugin_packages() - {"ctxsim"}):
        spec = importlib.util.find_spec(name)
        for folder in map(Path, (spec and spec.submodule_search_locations) or ()):
            files |= {
                f"{name}/{file.relative_to(folder).as_posix()}": file.read_bytes()
                for file in sorted(folder.rglob("*"))
                if file.is_file() and "__pycache__" not in file.parts
            }
        if spec and not spec.submodule_search_locations and spec.origin and Path(spec.origin).is_file():
            files[Path(spec.origin).name] = Path(spec.origin).read_bytes()
    size = sum(map(len, files.values()))
    if size > MOST_BYTES:
        raise CtxsimError(f"the packages of plug-ins have {size / 1e6:,.0f} MB, more than {MOST_BYTES / 1e6:,.0f} MB: "
                          f"too much to send to a cluster: {', '.join(sorted(plugin_packages()))}")  # fmt: skip
    return Packages(files, tuple((point.group, point.name, point.value) for point in _points()))


def give_packages(packages: Packages) -> None:
    """Use these plug-ins in place of the installed ones and of any given before."""
    global _given, _copies
    if packages == _given:
        return
    if _copies is not None:
        sys.path.remove(_copies.name)
        _copies = None
    names = {
        name.partition("/")[0].removesuffix(".py") for one in (_given, packages) for name in (one.files if one else ())
    }
    for module in list(sys.modules):
        if module.partition(".")[0] in names:
            del sys.modules[module]
    _given = packages
    if packages.files:
        _copies = Copies()
        sys.path.insert(0, _copies.name)
        for name, data in packages.files.items():
            file = Path(_copies.name, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
    importlib.invalidate_caches()
    give_points([EntryPoint(name, value, group) for group, name, value in packages.points])


_given: Packages | None = None
_copies: Copies | None = None
