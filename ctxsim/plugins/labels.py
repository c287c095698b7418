"""Labels: `name:key=value,key=value`, the written form of a policy or an estimator and its parameters."""

import dataclasses
import inspect
import re
import traceback
from collections.abc import Container, Hashable, Mapping
from enum import Enum
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec

from ctxsim.errors import CtxsimError, LabelError, unknown

T = TypeVar("T")

_PARAMETERS = re.compile(r":([\w.]+=.*)", re.DOTALL)
_QUOTED = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)


def unquoted(command: str) -> str:
    """Return a command line with NUL characters in place of escaped and quoted parts. The length stays the same."""
    return _QUOTED.sub(lambda found: "\0" * len(found[0]), command)


BOUND = " (bound)"
"""Suffix that tables print after the name of a bound."""


def pasted(label: str) -> str:
    """Return a label as it was before a table marked it as a bound or broke it over lines.

    A line break in a `pipe:` command's quotes belongs to the command.
    """
    label, command = label.strip().removesuffix(BOUND), "pipe:" in label
    for broken in reversed(list(re.finditer(r"[ \t]*\n[ \t]*", unquoted(label) if command else label))):
        start, end = broken.span()
        between = " " if command and label[start - 1] not in ",:+/" else ""
        label = label[:start] + between + label[end:]
    return label


def chain(label: str) -> list[str]:
    """Return the links of an `a+b` chain, as printed or as typed, without spaces around them. A `+` in a `pipe:`
    command's quotes belongs to it.
    """
    label = pasted(label)
    plain = unquoted(label) if "pipe:" in label else label
    cuts = [-1, *(place for place, character in enumerate(plain) if character == "+"), len(label)]
    return [label[start + 1 : end].strip() for start, end in pairwise(cuts)]


OWN = ("messages", "pipe")
"""Prefixes of labels that run a user's own code."""

_BY_WORDS = re.compile(r"(?P<name>[\w-]+)(?:/[\d.]+| *, *[\w-]+)*(?::[\w.]+=.*)?")


def by_words(label: str) -> bool:
    """Return whether each link of a label is the name of a class or of presets, maybe with `key=value`: no file, no
    program and no framework's class.
    """
    found = [_BY_WORDS.fullmatch(link) for link in chain(label)]
    return label.isprintable() and ".py" not in label and all(one and one["name"] not in OWN for one in found)


def named(link: str) -> tuple[str, str]:
    """Return a link's name and its parameters as one text. `path.py:Class` and `framework:Class` are names too."""
    if link.startswith("pipe:"):
        return link, ""
    found = _PARAMETERS.search(link)
    return (link[: found.start()], found[1]) if found else (link, "")


def split(label: str) -> tuple[str, dict[str, str]]:
    """Return the name and the raw parameters of a label.

    `estimator=` takes the whole rest of the label, because an estimator's own label may hold commas; so it stands last.
    Raises LabelError for a part that is not `key=value`.
    """
    name, _, rest = label.strip().partition(":")
    parameters: dict[str, str] = {}
    while rest:
        if rest.startswith("estimator="):
            part, rest = rest, ""
        else:
            part, _, rest = rest.partition(",")
        key, equals, value = part.partition("=")
        if not (key and equals and value):
            raise LabelError(f"'{label}': '{part}' is not key=value, as in token-budget:budget=40000,retain=500")
        if key in parameters:
            raise LabelError(f"'{label}': {key} is given twice")
        parameters[key] = value
    return name, parameters


@cache
def _types(cls: Hashable, limits: bool = True) -> dict[str, Any]:
    """A class's field types, with the limits of their values or without. Cached, because resolving them costs more than
    everything else here. Raises LabelError for an annotation that can't be resolved.
    """
    try:
        return get_type_hints(cls, include_extras=limits)
    # Resolving a user's annotations evaluates them, which may raise anything.
    except Exception as error:
        how = "define or import its names at the top level of the file, not in a function or under TYPE_CHECKING"
        raise LabelError(f"{cls}: an annotation can't be read: {type(error).__name__}: {error}; {how}") from error


def key(field: dataclasses.Field[Any]) -> str:
    """Return a field's name in labels: its own name, unless its metadata has another `label`."""
    return str(field.metadata.get("label", field.name))


def _fields(of: Any) -> dict[str, dataclasses.Field[Any]]:
    """The fields of a class or an object that a label sets, by their names in labels."""
    return {key(field): field for field in dataclasses.fields(of) if field.init}


def parameters(value: Any) -> dict[str, Any]:
    """Return an object's parameters by their names in labels. Raises LabelError if its constructor takes others."""
    if lost := inspect.signature(type(value)).parameters.keys() - {one.name for one in dataclasses.fields(value)}:
        raise LabelError(f"{value.name}: its label would lose {', '.join(sorted(lost))}; make the class a @dataclass")
    return {called: getattr(value, field.name) for called, field in _fields(value).items()}


def build(kind: str, cls: type[T], name: str, parameters: Mapping[str, str]) -> T:
    """Return `cls(**parameters)` with each value converted to its field's type.

    Raises LabelError, naming the parameter, for an unknown one, a missing one, or a value of another type.
    """
    fields = _fields(cls)
    types = _types(cls)  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for called, text in parameters.items():
        if called not in fields:
            if not fields:
                raise LabelError(f"{name} has no parameters; the fields of a @dataclass are")
            raise LabelError(f"{name}: {unknown('parameter', called, fields)}")
        attribute = fields[called].name
        try:
            values[attribute] = msgspec.convert(text, types[attribute], strict=False)
        except msgspec.ValidationError as error:
            words = ", ".join(words_of(types[attribute]))
            said = f"expected {words}" if words else _plain(str(error), text)
            raise LabelError(f"{name}: {called}={text}: {said}") from None
    for called in required(cls):
        if called not in parameters:
            raise LabelError(f"{kind} {name} needs {called}=..., as in {name}:{called}=20")
    try:
        return cls(**values)
    except CtxsimError:
        raise
    # A user's class may raise anything, or try to end the process. Both are reported in one line.
    except (Exception, SystemExit) as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        told = f"{type(error).__name__}: {error} ({place.filename}:{place.lineno})"
        raise LabelError(f"{kind} {written(name, parameters)} can't be made: {told}") from error


_KINDS = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "a text"}


def words_of(kind: Any) -> list[str]:
    """Return the words that a type allows: string literals, and the values of enums."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [str(one.value) for one in kind]
    return [word for one in get_args(kind) for word in ([one] if isinstance(one, str) else words_of(one))]


def _kind(name: str) -> str:
    return _KINDS.get(name, name)


def _plain(said: str, text: str) -> str:
    """An error message of msgspec with plain words for types; `sweep`'s syntax is added if the value is a range."""
    said = re.sub(r"`([\w| ]+)`", lambda found: " or ".join(map(_kind, found[1].split(" | "))), said.lower())
    said = said.removesuffix(", got a text")
    range_ = re.fullmatch(r"(\d+)(?:-|\.\.|:|to)(\d+)", text)
    return said + (f"; a range, in sweep: {range_[1]}..{range_[2]}@5" if range_ else "")


def written(name: str, given: Mapping[str, str]) -> str:
    """Return the label of a name and raw parameters."""
    return f"{name}:{','.join(f'{key}={text}' for key, text in given.items())}" if given else name


def of(name: str, value: Any, defaults: bool = True) -> str:
    """Return an object's label, which can be pasted back, with every parameter or only those not at their default."""
    return written(name, stated(name, value, defaults))


def lasting(kind: str, cls: type[Any], name: str, given: Mapping[str, str]) -> tuple[str, str]:
    """Return two labels of the object that raw parameters make: with and without parameters at their default.

    Raises LabelError if the label would make another object.
    """
    made = build(kind, cls, name, given)
    now = stated(name, made, True, given)
    again = stated(name, build(kind, cls, name, now), True, given)
    if again != now:
        told = next(key for key in now if again.get(key) != now[key])
        raise LabelError(f"{kind} {name}: {told}={now[told]} becomes {again.get(told)} when it is made again")
    return written(name, now), written(name, stated(name, made, False, given))


def stated(name: str, value: Any, defaults: bool, given: Container[str] | None = None) -> dict[str, str]:
    """Return the raw parameters for the label of an object.

    A value that doesn't read back as itself is left out if it is the default, or if its parameter isn't in `given`.
    Raises LabelError if it is a given one.
    """
    found: dict[str, str] = {}
    types = _types(type(value))  # type: ignore[arg-type]
    for called, field in _fields(value).items():
        parameter = getattr(value, field.name)
        plain = _same(parameter, _default(field))
        if plain and not defaults:
            continue
        read = {text: _read(name, called, text, types[field.name]) for text in _texts(parameter)}
        exact = next((text for text in read if _same(read[text], parameter)), None)
        if exact is None and (plain or (given is not None and called not in given)):
            continue
        # A field of type float may hold an int.
        near = next((text for text in read if read[text] == parameter), None)
        if exact is None and near is None and given is not None:
            raise LabelError(f"{name}: {called}={parameter!r} can't be written in a label like {name}:{called}=value")
        found[called] = exact or near or str(parameter)
    return found


def _default(field: dataclasses.Field[Any]) -> Any:
    # The fields of a class from another process have another MISSING object, so the types are compared.
    if callable(field.default_factory):
        return field.default_factory()
    missing = type(dataclasses.MISSING)
    return dataclasses.MISSING if isinstance(field.default, missing) else field.default


def _same(one: Any, other: Any) -> bool:
    """Whether two values have the same type and the same repr: 1 is neither 1.0 nor True."""
    return type(one) is type(other) and repr(one) == repr(other)


def _texts(value: Any) -> list[str]:
    """How a label may write a value. 4.0 is 4; other floats keep every digit, or two values would share a label."""
    if isinstance(value, Enum):
        return [str(value.value)]
    return [str(int(value)), str(value)] if isinstance(value, float) and value.is_integer() else [str(value)]


def _read(name: str, called: str, text: str, kind: Any) -> Any:
    """The value that a parameter's text in a label is read as; MISSING if it can't be read."""
    link = written("a", {called: text})
    # Without a path in the name, `.py:` in the value would be taken for the end of one.
    alone = text.isprintable() and (".py:" not in text or ".py:" in name)
    try:
        if alone and chain(link) == [link] and split(link)[1] == {called: text}:
            return msgspec.convert(text, kind, strict=False)
    except (LabelError, msgspec.ValidationError, TypeError):
        pass
    return dataclasses.MISSING


def kebab(class_name: str) -> str:
    """Return the name in labels of a class that sets no `name`: `TokenBudget` is `token-budget`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", class_name).lower()


def required(cls: type[Any]) -> list[str]:
    """Return the parameters that a label of this class must give."""
    return [called for called, field in _fields(cls).items() if _default(field) is dataclasses.MISSING]


def signature(name: str, cls: type[Any]) -> str:
    """Return a label's pattern: each parameter with its default, or its type where it has none. Raises LabelError."""
    types = _types(cls, False)  # type: ignore[arg-type]
    parts = []
    for called, field in _fields(cls).items():
        default, kind = _default(field), types[field.name]
        shown = f"<{getattr(kind, '__name__', kind)}>" if default is dataclasses.MISSING else _texts(default)[0]
        parts.append(f"{called}={shown}")
    return f"{name}:{','.join(parts)}" if parts else name
