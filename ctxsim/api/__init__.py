"""The public API: one function for each thing that a command does, with typed arguments and a typed return value.

Values that hold rows have `.frame()`. `import ctxsim` loads a function at its first use; docs/python.md has examples.
What an argument may be, its annotation says. The command line's options take over its limits.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from numbers import Integral, Real
from os import PathLike, fspath
from reprlib import repr as shortened
from types import GenericAlias, NoneType, UnionType
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

from msgspec import Meta

from ctxsim.errors import InputError, unknown

P = ParamSpec("P")
R = TypeVar("R")

AnyPath = str | PathLike[str]
Paths = AnyPath | Sequence[AnyPath]
"""One path or several."""

Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Port = Annotated[int, Meta(ge=0, le=65_535)]
Share = Annotated[float, Meta(ge=0, le=1)]
Risk = Annotated[float, Meta(ge=0, le=0.5)]
Seconds = Annotated[float, Meta(ge=1)]

_CALLED = {
    str: "a text", int: "a whole number", float: "a number", bool: "True or False", NoneType: "None",
    PathLike: "a path", Callable: "a function", Mapping: "a dict",
}  # fmt: skip


def paths_of(what: Paths) -> list[str]:
    """Return one path or several as a list of strings."""
    return [fspath(one) for one in ([what] if isinstance(what, str | PathLike) else what)]


def checks_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function raise InputError for an argument that its annotation doesn't allow, before it does anything.

    A word that isn't among those of a Literal raises UnknownName. Values of `**`, and `self`, aren't looked at.
    """
    known = inspect.signature(function)

    @wraps(function)
    def checking(*given: P.args, **named: P.kwargs) -> R:
        for name, value in known.bind(*given, **named).arguments.items():
            parameter = known.parameters[name]
            kind = parameter.annotation
            if parameter.kind is not parameter.VAR_KEYWORD and kind is not parameter.empty:
                kind = eval(kind, function.__globals__) if isinstance(kind, str) else kind
                kind = GenericAlias(Sequence, kind) if parameter.kind is parameter.VAR_POSITIONAL else kind
                if not _fits(value, kind):
                    if get_origin(kind) is Literal and isinstance(value, str):
                        raise unknown(name, value, get_args(kind))
                    raise InputError(f"{name}={shortened(value)}", f"must be {_told(kind)}")
        return function(*given, **named)

    return checking


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is of a type. Iterators aren't used up: of several values, only those in a list are looked at."""
    origin, of = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in of)
    if origin is Annotated:
        low, high = of[1].ge, of[1].le
        return _fits(value, of[0]) and low <= value and (high is None or value <= high)
    if origin is Literal:
        return isinstance(value, str) and value in of
    if origin is type:
        return isinstance(value, type) and issubclass(value, of[0])
    if origin in (tuple, Sequence, Iterable):
        several = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
        if not several or not isinstance(value, list | tuple):
            return several
        return all(_fits(one, of[0]) for one in value) and (origin is not tuple or len(value) == len(of))
    if kind in (int, float):
        number = isinstance(value, Integral if kind is int else Real) and not isinstance(value, bool)
        return number and -math.inf < value < math.inf
    return isinstance(value, origin or kind)


def _told(kind: Any) -> str:
    """A type in words: `a whole number from 0 to 65,535`."""
    origin, of = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(map(_told, of)))
    if origin is Annotated:
        low, high = of[1].ge, of[1].le
        return f"{_told(of[0])} " + (f"of at least {low}" if high is None else f"from {low} to {high:,}")
    if origin is Literal:
        return ", ".join(of)
    if origin in (tuple, Sequence, Iterable):
        return f"a list{f' of {len(of)}' if origin is tuple else ''} (each item: {_told(of[0])})"
    return _CALLED.get(origin or kind) or f"{'a class' if of else 'an object'} of {(of or [kind])[0].__name__}"
