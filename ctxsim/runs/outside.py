"""Policies and estimators that aren't ctxsim's own: whose they are decides where they run, and what is sent along."""

import os
from collections.abc import Iterable

from ctxsim.plugins.files import FROM_FILE
from ctxsim.policies import Spec


def classes_outside(specs: Iterable[Spec]) -> set[type]:
    """Return the classes of policies and of their estimators that stand outside of the package."""
    found = {cls for spec in specs for cls in (type(spec.estimator), *(cls for cls, _, _ in spec.links))}
    return {cls for cls in found if cls.__module__.partition(".")[0] != "ctxsim"}


def others(spec: Spec) -> frozenset[str]:
    """Return the files and packages, by module, that a policy is from if it isn't ctxsim's nor this process's own."""
    if os.name != "posix":
        return frozenset()
    found = {name for _, name, _ in spec.links if name.startswith("messages:")}
    if modules := {cls.__module__ for cls in classes_outside([spec])}:
        from ctxsim.runs.user_code import plugin_packages

        packages = plugin_packages()
        found |= {name for name in modules if name.startswith(FROM_FILE) or name.partition(".")[0] in packages}
    return frozenset(found)
