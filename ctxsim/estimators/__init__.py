"""Estimators: one file per family, found by looking into this folder."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from ctxsim import labels
from ctxsim.errors import unknown
from ctxsim.estimators.estimator import Estimator

__all__ = ["DEFAULT", "Estimator", "estimator_label", "open_estimator", "registered_estimators"]

DEFAULT = "chars:ratio=4"


@cache
def registered_estimators() -> dict[str, type[Estimator]]:
    """Return all estimator classes by name."""
    found: dict[str, type[Estimator]] = {}
    for module in pkgutil.iter_modules(__path__):
        for value in vars(importlib.import_module(f"{__name__}.{module.name}")).values():
            if isinstance(value, type) and issubclass(value, Estimator) and value is not Estimator:
                found[value.name] = value
    return found


def open_estimator(label: str = DEFAULT) -> Estimator:
    """Return the estimator of a label such as `chars:ratio=3.5`. Raises UnknownName or LabelError."""
    name, parameters = labels.split(label)
    known = registered_estimators()
    if name not in known:
        raise unknown("estimator", name, known)
    return labels.build("estimator", known[name], name, parameters)


def estimator_label(estimator: Estimator) -> str:
    """Return the label that names an estimator and all its parameters."""
    return labels.of(estimator.name, estimator)
