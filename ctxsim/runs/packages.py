"""Installed plug-ins as source: the packages behind our entry points, for a machine that has not installed them."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import msgspec

from ctxsim.errors import CtxsimError
from ctxsim.plugins import OUTSIDE, give_points, installed
from ctxsim.readers.source.placed import Copies

GROUPS = ("ctxsim.policies", "ctxsim.estimators", "ctxsim.readers", OUTSIDE)

MOST_BYTES = 100_000_000
"""Of all files of plug-ins together: what is larger is no source text."""


class Packages(msgspec.Struct, frozen=True):
    """Files of packages by their paths below a folder of packages, and the entry points: group, name, value."""

    files: dict[str, bytes] = {}
    points: tuple[tuple[str, str, str], ...] = ()


def _points() -> list[EntryPoint]:
    return sorted((point for group in GROUPS for point in installed(group)), key=lambda one: (one.group, one.name))


def plugin_packages() -> set[str]:
    """Return the names of the packages that bring plug-ins."""
    return {_package(point.value) for point in _points()}


def _package(value: str) -> str:
    return value.partition(":")[0].partition(".")[0].strip()


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
    """Take these plug-ins for the installed ones, and no others: what came last counts."""
    global _given, _copies
    if packages == _given:
        return
    if _copies is not None:
        sys.path.remove(_copies.name)
    names = {
        name.partition("/")[0].removesuffix(".py") for one in (_given, packages) for name in (one.files if one else ())
    }
    for module in list(sys.modules):
        if module.partition(".")[0] in names:
            del sys.modules[module]
    _given, _copies = packages, Copies()
    for name, data in packages.files.items():
        file = Path(_copies.name, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    sys.path.insert(0, _copies.name)
    importlib.invalidate_caches()
    give_points([EntryPoint(name, value, group) for group, name, value in packages.points])


_given: Packages | None = None
_copies: Copies | None = None
