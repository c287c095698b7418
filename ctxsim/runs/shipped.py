"""The user's own code, for workers: files as labels name them, installed plug-ins, and classes that neither holds.

A worker may stand on another machine, in another folder, or without the user's packages. What it gets is source text:
of files, and, on another machine, of the packages that bring plug-ins. Only a class that was made in the process that
started it, as in a notebook, goes by value (cloudpickle).
"""

import sys
from collections.abc import Iterable

import cloudpickle
import msgspec

from ctxsim.counting.estimators import Estimator, registered_estimators
from ctxsim.counting.estimators import register as register_estimator
from ctxsim.plugins import files_loaded, give_files
from ctxsim.policies import Policy, Spec, open_policies, register, registered_policies
from ctxsim.runs.packages import Packages, give_packages, packages_installed, plugin_packages


class Shipped(msgspec.Struct, frozen=True):
    """Files by path, classes of policies and estimators by value, and installed plug-ins where they are sent along."""

    files: dict[str, bytes] = {}
    classes: bytes = b""
    packages: Packages | None = None


def shipped(specs: Iterable[Spec], elsewhere: bool = False) -> Shipped:
    """Return the code that these policies and their estimators need and that isn't ctxsim's; for another machine, all
    installed plug-ins too.
    """
    found: set[type] = {cls for spec in specs for cls, _, _ in spec.links} | {type(spec.estimator) for spec in specs}
    # What stands in a file, or is made of a function, is opened by its label again.
    known: set[type] = {*registered_policies().values(), *registered_estimators().values()}
    others = {"ctxsim", *plugin_packages()}
    own = [cls for cls in found & known if cls.__module__.partition(".")[0] not in others]
    by_value = _by_value(sorted(own, key=lambda cls: cls.__qualname__)) if own else b""
    return Shipped(files_loaded(), by_value, packages_installed() if elsewhere else None)


def _by_value(classes: list[type]) -> bytes:
    """Classes with their code: a worker need not have the module that they are from."""
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
    """Make shipped code known in this process: what came last counts, as a worker may outlive a bench."""
    global _unpacked
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


_unpacked = Shipped()
"""What this process got last."""


def code_given() -> Shipped | None:
    """Return what this process got last; None for the one that was asked first."""
    return _unpacked if _unpacked != Shipped() else None
