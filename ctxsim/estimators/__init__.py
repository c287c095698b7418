"""Estimators: one file per family, found by looking into this folder."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from ctxsim import labels
from ctxsim.errors import unknown
from ctxsim.estimators.estimator import Estimator, Reported

__all__ = ["DEFAULT", "Estimator", "Reported", "estimator_label", "open_estimator", "registered_estimators"]

DEFAULT = "chars"


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
    """Return the estimator of a label such as `chars:ratio=3.5`, or `chars/3.5` for short.

    Raises UnknownName or LabelError.
    """
    name, parameters = labels.split(label)
    short, slash, ratio = name.partition("/")
    if slash:
        name, parameters = short, {"ratio": ratio, **parameters}
    known = registered_estimators()
    if name not in known:
        raise unknown("estimator", name, known)
    return labels.build("estimator", known[name], name, parameters)


def estimator_label(estimator: Estimator) -> str:
    """Return the label that names an estimator and the parameters that are not at their default."""
    return labels.of(estimator.name, estimator, defaults=False)
