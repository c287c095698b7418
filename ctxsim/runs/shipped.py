"""The user's own code, for workers: files as their labels name them, and classes that no file of a label holds.

A worker may stand on another machine, in another folder, or without the user's packages. What it gets is text and
classes by value (cloudpickle), made by the process that started it.
"""

import sys
from collections.abc import Iterable

import cloudpickle
import msgspec

from ctxsim.counting.estimators import Estimator, registered_estimators
from ctxsim.counting.estimators import register as register_estimator
from ctxsim.plugins import files_loaded, give_files
from ctxsim.policies import Policy, Spec, open_policies, register, registered_policies


class Shipped(msgspec.Struct, frozen=True):
    """Files by path, and classes of policies and estimators."""

    files: dict[str, bytes] = {}
    classes: bytes = b""


def shipped(specs: Iterable[Spec]) -> Shipped:
    """Return the code that these policies and their estimators need and that isn't ctxsim's."""
    found: set[type] = {cls for spec in specs for cls, _, _ in spec.links} | {type(spec.estimator) for spec in specs}
    # What stands in a file, or is made of a function, is opened by its label again.
    known: set[type] = {*registered_policies().values(), *registered_estimators().values()}
    own = [cls for cls in found & known if not cls.__module__.startswith("ctxsim.")]
    return Shipped(files_loaded(), _by_value(sorted(own, key=lambda cls: cls.__qualname__)) if own else b"")


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
    for cls in cloudpickle.loads(code.classes) if code.classes else ():
        if issubclass(cls, Policy):
            register(cls)
        elif issubclass(cls, Estimator):
            register_estimator(cls)
    open_policies.cache_clear()


_unpacked = Shipped()
"""What this process got last."""
