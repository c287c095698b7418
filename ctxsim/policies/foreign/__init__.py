"""Other people's code as a policy: a function over messages, a process, a framework's class.

One core turns a view into messages and back (`mapping`); what differs is only who is asked.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import partial

from ctxsim.plugins import Form
from ctxsim.policies.foreign import adapters, framework, messages, pipe
from ctxsim.policies.foreign.shortener import Shortener
from ctxsim.policies.policy import Policy

ABSTRACT: tuple[type[Policy], ...] = (Shortener, pipe.Pipe)
"""Classes that labels name only together with the code that they stand for."""

_FRAMEWORKS: list[framework.Framework] = [
    importlib.import_module(f"{adapters.__name__}.{module.name}").FRAMEWORK
    for module in pkgutil.iter_modules(adapters.__path__)
]

FORMS: dict[str, Form[Policy]] = {
    messages.NAME: messages.opened,
    pipe.NAME: pipe.opened,
    **{one.prefix: partial(framework.opened, one) for one in _FRAMEWORKS},
}
"""What opens a label, by its prefix."""

ABOUT: dict[str, str] = {
    messages.PATTERN: messages.ABOUT,
    pipe.PATTERN: pipe.ABOUT,
    **{f"{one.prefix}:CLASS:key=value": f"A class of {one.install}, by its own parameters." for one in _FRAMEWORKS},
}
"""What each form of label is, by its pattern."""
