"""`messages:FILE.py:function`: a user's function over OpenAI-style messages as a policy."""

import dataclasses
import inspect
from collections.abc import Callable, Hashable
from types import SimpleNamespace
from typing import Any, get_type_hints

from ctxsim.errors import LabelError, unknown
from ctxsim.plugins import labels
from ctxsim.plugins.files import load_file
from ctxsim.policies.foreign.conversation import Message
from ctxsim.policies.foreign.shortener import Answer, Context, Parameter, Session, shortener
from ctxsim.policies.policy import Policy

NAME = "messages"
PATTERN = "messages:FILE.py:function:lasting=True"
ABOUT = """A function of yours, `def shorten(messages: list[dict]) -> list[dict]`, asked before each call.

The messages are OpenAI's, the system prompt first, each with an `id`. What it returns is the conversation from then
on; with `lasting=False` it is that request only, and the next one starts from the unedited messages. Its further
parameters are the label's; one called `context` is told window, usage and estimate. It may return `Stop(reason)`.
"""

CONTEXT = "context"
LASTING: Parameter = ("lasting", bool, True)


def opened(rest: str) -> tuple[str, type[Policy], dict[str, str]]:
    """Return the name, class and raw parameters of the policy that a label names after `messages:`.

    Raises LabelError or UnknownName for a file or a function that can't be used.
    """
    path, dot_py, after = rest.partition(".py:")
    if not dot_py:
        raise LabelError(f"'{NAME}:{rest}' is not {NAME}:FILE.py:function, as in {NAME}:mine.py:shorten")
    function_name, given = labels.split(after)
    path = f"{path}.py"
    functions = dict(inspect.getmembers(load_file("messages", path), inspect.isfunction))
    if function_name not in functions:
        raise unknown(f"function in {path}", function_name, functions)
    function = functions[function_name]
    name = f"{NAME}:{path}:{function_name}"
    doc = inspect.getdoc(function) or f"{function_name} of {path}."
    return name, shortener(name, doc, _parameters(name, function), _session, (function,), shows_reasoning=True), given


def _parameters(name: str, function: Callable[..., Any]) -> tuple[Parameter, ...]:
    """The function's own parameters after the messages, and `lasting`."""
    own = list(inspect.signature(function).parameters.values())
    if not own or any(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in own):
        raise LabelError(f"{name} must take a list of messages, and parameters by name")
    own = [one for one in own[1:] if one.name != CONTEXT]
    # Types of the messages and of the answer may be imported for type checkers only.
    hinted = SimpleNamespace(
        __annotations__={one.name: one.annotation for one in own if one.annotation is not one.empty}
    )
    try:
        hints = get_type_hints(hinted, inspect.unwrap(function).__globals__)
    except NameError as error:
        raise LabelError(f"{name}: the type of a parameter is unknown: {error}") from None
    parameters = []
    for one in own:
        if one.name == LASTING[0]:
            raise LabelError(f"{name}: every such policy has a parameter {one.name}; give yours another name")
        default = dataclasses.MISSING if one.default is one.empty else one.default
        if not isinstance(default, Hashable):
            what = type(default).__name__
            raise LabelError(f"{name}: the default of {one.name} is a {what}; make it a plain value")
        kind = hints.get(one.name, str if default is dataclasses.MISSING else type(default))
        parameters.append((one.name, kind, default))
    return (*parameters, LASTING)


def _session(function: Callable[..., Any], policy: Policy) -> Session:
    names = inspect.signature(function).parameters
    given = {name: value for name, value in labels.parameters(policy).items() if name in names}

    def shorten(messages: list[Message], context: Context) -> Answer:
        more = given | ({CONTEXT: context} if CONTEXT in names else {})
        answer: Answer = function(messages, **more)
        if answer is None:
            raise TypeError(f"{policy.name} returned nothing; it must return a list of messages")
        return answer

    return Session(shorten)
