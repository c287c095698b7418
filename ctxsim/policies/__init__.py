"""Policies: one file per policy, found by looking into this folder; others by path or entry point."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
import traceback
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

import msgspec

from ctxsim import labels
from ctxsim.errors import LabelError, unknown
from ctxsim.estimators import DEFAULT, Estimator, open_estimator
from ctxsim.policies.policy import Oracle, Overflow, Policy, Stop, Surroundings, with_estimator

__all__ = ["Oracle", "Overflow", "Policy", "Spec", "Stop", "Surroundings", "open_policy", "registered_policies"]

ENTRY_POINTS = "ctxsim.policies"


class Spec(msgspec.Struct, frozen=True):
    """A chain of policies and its estimator, ready to be made afresh for each transcript."""

    label: str
    parts: tuple[tuple[type[Policy], str, dict[str, str]], ...]
    estimator: Estimator
    short: str = ""
    """The label without what is at its default; opens the same."""

    @property
    def bound(self) -> bool:
        """Whether it marks a floor or a ceiling."""
        return all(cls.bound for cls, _, _ in self.parts)

    def create(self) -> list[Policy]:
        """Return fresh policy objects, in chain order."""
        return [labels.build("policy", cls, name, parameters) for cls, name, parameters in self.parts]


def _defined_in(module: object) -> list[type[Policy]]:
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Policy)
        and value.__module__ == getattr(module, "__name__", "")
        and value not in (Policy, Oracle)
    ]


@cache
def registered_policies() -> dict[str, type[Policy]]:
    """Return all built-in and installed policy classes by name. Two of one name are a LabelError."""
    found: dict[str, type[Policy]] = {}
    classes = [
        cls
        for module in pkgutil.iter_modules(__path__)
        for cls in _defined_in(importlib.import_module(f"{__name__}.{module.name}"))
    ]
    for cls in [*classes, *(point.load() for point in entry_points(group=ENTRY_POINTS))]:
        if cls.name in found:
            raise LabelError(f"two policies are called {cls.name}: {found[cls.name]} and {cls}")
        found[cls.name] = cls
    return found


def _from_file(path: str, class_name: str) -> type[Policy]:
    file = Path(path)
    if not file.is_file():
        raise LabelError(f"no policy file {path}")
    module_name = f"ctxsim_policy_{file.stem}"
    module_spec = importlib.util.spec_from_file_location(module_name, file)
    assert module_spec and module_spec.loader  # the name ends in .py
    module = importlib.util.module_from_spec(module_spec)
    sys.modules[module_name] = module
    try:
        module_spec.loader.exec_module(module)
    # The file is anybody's code: whatever it raises is told in one line, with its place.
    except Exception as error:
        line = getattr(error, "lineno", None) or traceback.extract_tb(error.__traceback__)[-1].lineno
        raise LabelError(f"policy file {path}, line {line}: {type(error).__name__}: {error}") from error
    classes = {cls.__name__: cls for cls in _defined_in(module)}
    if class_name not in classes:
        raise unknown(f"policy class in {path}", class_name, classes)
    return classes[class_name]


def _open_part(label: str, estimator: Estimator | None) -> tuple[type[Policy], str, dict[str, str], Estimator | None]:
    path, dot_py, rest = label.partition(".py:")
    if dot_py:
        class_name, parameters = labels.split(rest)
        name = f"{path}.py:{class_name}"
        cls = _from_file(f"{path}.py", class_name)
    else:
        name, parameters = labels.split(label)
        known = registered_policies()
        if name not in known:
            raise unknown("policy", name, known)
        cls = known[name]
    own = parameters.pop("estimator", None)
    if not own and estimator is None and cls.decides_by:
        own = cls.decides_by
    return cls, name, parameters, open_estimator(own) if own else estimator


def open_policy(label: str, estimator: Estimator | None = None) -> Spec:
    """Return the policy or `a+b` chain that a label names; its own `estimator=` goes before the one given.

    Raises UnknownName or LabelError with what is wrong in the label.
    """
    opened = [_open_part(part, estimator) for part in label.split("+")]
    chosen = {own for _, _, _, own in opened if own}
    if len(chosen) > 1:
        raise LabelError(f"'{label}': a chain decides by one estimator, this one names {len(chosen)}")
    by = chosen.pop() if chosen else open_estimator(DEFAULT)
    built = [(name, labels.build("policy", cls, name, parameters)) for cls, name, parameters, _ in opened]
    implied = {open_estimator(cls.decides_by) for cls, _, _, _ in opened if cls.decides_by}
    full = with_estimator("+".join(labels.of(name, policy) for name, policy in built), by, always=bool(implied))
    short = "+".join(labels.of(name, policy, defaults=False) for name, policy in built)
    if implied != {by}:
        short = with_estimator(short, by, always=bool(implied))
    return Spec(full, tuple((c, n, p) for c, n, p, _ in opened), by, short)
