"""One key set in the text of a configuration file, in its own format; every other byte stays."""

from types import ModuleType
from typing import Any, Literal

from ctxsim.errors import CtxsimError
from ctxsim.live.configs import json_text, toml_text, yaml_text

Format = Literal["json", "jsonc", "toml", "yaml", "env"]
Path = tuple[str | int, ...]
"""Keys from the outside in; a number is a place in a list."""

Value = bool | int | float | str

_TEXTS: dict[str, ModuleType] = {"json": json_text, "jsonc": json_text, "toml": toml_text, "yaml": yaml_text}


def parsed(text: str, form: Format) -> Any:
    """Return what a text holds; an empty one is an empty mapping. Raises CtxsimError where it isn't of the format."""
    try:
        return _TEXTS[form].parsed(text) if text.strip() else {}
    except RecursionError:
        raise CtxsimError("it is nested too deeply") from None
    except ValueError as error:
        raise CtxsimError(f"it is no {form}: {' '.join(str(error).split())}") from None


def edited(text: str, form: Format, path: Path, value: Value) -> str:
    """Return the text with a value under a key. Comments, order, blanks and line ends of all else stay.

    Tables on the way that aren't there are made. Raises CtxsimError where the text isn't of the format, a key on the
    way holds something else than a table, or the result wouldn't say what it should.
    """
    wanted = with_value(parsed(text, form), path, value)
    try:
        made: str = _TEXTS[form].edited(text, path, value)
        done = parsed(made, form) == wanted
    except (ValueError, RecursionError, CtxsimError):
        done = False
    if not done:
        raise CtxsimError(f"{told(path)} can't be set without touching what is beside it; set it by hand")
    return made


def with_value(data: Any, path: Path, value: Value) -> Any:
    """Return a copy of data with a value under a key. Raises CtxsimError where a key on the way holds no table."""
    if not path:
        return value
    key, rest = path[0], path[1:]
    if isinstance(key, int):
        if not isinstance(data, list) or key >= len(data):
            raise CtxsimError(f"there is no entry {key} in the list on the way to {told(path)}")
        return [with_value(one, rest, value) if n == key else one for n, one in enumerate(data)]
    if not isinstance(data, dict):
        raise CtxsimError(f"what stands on the way to {told(path)} is {type(data).__name__}, not a table")
    return {**data, key: with_value(data.get(key, {}), rest, value)}


def told(path: Path) -> str:
    """Return a path as people write it: dots between keys."""
    return ".".join(map(str, path))
