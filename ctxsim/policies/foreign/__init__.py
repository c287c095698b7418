"""Users' and frameworks' code as a policy: a function over messages, a process, a framework's class.

`conversation` turns a view into messages, and `mapping` turns the returned messages into edits. A form's own imports
are made when a label first uses it.
"""

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

from ctxsim.plugins import FOLDERS, folders
from ctxsim.plugins.labels import OWN
from ctxsim.policies.policy import Policy

Form = Callable[[str], tuple[str, type[Policy], dict[str, str]]]
"""Parses the rest of a label after a prefix. Returns the name with the prefix, a class, and the raw parameters."""


def forms() -> list[str]:
    """Return the prefixes that are followed by more than parameters."""
    return [*OWN, *(name for name, (_, place) in folders(FOLDERS[1]).items() if (place / "adapter.py").exists())]


def form(prefix: str) -> Form:
    """Return the parser of labels with one of these prefixes."""
    if prefix in OWN:
        opened: Form = importlib.import_module(f"{__name__}.{prefix}").opened
        return opened
    return partial(importlib.import_module(f"{__name__}.framework").opened, _framework(prefix))


def about() -> dict[str, str]:
    """Return the description of each form of label, by its pattern."""
    own = [importlib.import_module(f"{__name__}.{prefix}") for prefix in OWN]
    frameworks = [_framework(prefix) for prefix in forms() if prefix not in OWN]
    return {one.PATTERN: one.ABOUT for one in own} | {
        f"{one.prefix}:CLASS:key=value": f"A class of {one.install}, by its own parameters." for one in frameworks
    }


def _framework(prefix: str) -> Any:
    package, _ = folders(FOLDERS[1])[prefix]
    return importlib.import_module(f"{package}.adapter").FRAMEWORK
