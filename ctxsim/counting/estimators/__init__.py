"""Estimators, by rule in this folder, and in those of agents and frameworks. Users' own are found by path
or entry point.
"""

from ctxsim.counting.estimators.estimator import Estimator, Reported
from ctxsim.plugins import Registry, labels

__all__ = [
    "DEFAULT", "Estimator", "Reported", "estimator_label", "judged_estimators", "open_estimator", "register",
    "registered_estimators", "registry",
]  # fmt: skip

DEFAULT = "chars"

registry: Registry[Estimator] = Registry("estimator", __name__, Estimator)
register = registry.register


def registered_estimators() -> dict[str, type[Estimator]]:
    """Return all built-in and installed estimator classes by name."""
    return registry.classes


def judged_estimators() -> list[str]:
    """Return a label for each setting at which a family is judged, except families with required parameters."""
    classes = (pair for pair in registered_estimators().items() if not labels.required(pair[1]))
    return [f"{name}:{setting}" if setting else name for name, cls in classes for setting in cls.judged_at]


def open_estimator(label: str = DEFAULT) -> Estimator:
    """Return the estimator of a label: `chars:ratio=3.5`, `chars/3.5` for short, or `path.py:Class:key=value`.

    Raises UnknownName or LabelError.
    """
    name, slash, ratio = label.partition("/")
    if slash and ".py:" not in label and ":" not in name:
        ratio, _, rest = ratio.partition(":")
        label = f"{name}:ratio={ratio}{',' if rest else ''}{rest}"
    name, cls, parameters = registry.open(label)
    if ".py:" in name:
        # The name of a class from a file is its path, so that its label opens the class again.
        cls.name = name
    return labels.build("estimator", cls, name, parameters)


def estimator_label(estimator: Estimator) -> str:
    """Return the label that names an estimator and the parameters that are not at their default."""
    return labels.of(estimator.name, estimator, defaults=False)
