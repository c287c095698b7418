"""Sets one key in the text of a configuration file, in the file's format, and keeps every other byte."""

from types import ModuleType
from typing import Any, Literal

from ctxsim.errors import CtxsimError
from ctxsim.live.configs import json_text, toml_text, yaml_text

Format = Literal["json", "jsonc", "toml", "yaml"]
Path = tuple[str | int, ...]
"""Keys from the outermost in. A number is an index in a list."""

Value = bool | int | float | str

_TEXTS: dict[str, ModuleType] = {"json": json_text, "jsonc": json_text, "toml": toml_text, "yaml": yaml_text}


def parsed(text: str, form: Format) -> Any:
    """Return the data of a text; an empty text is an empty mapping. Raises CtxsimError if it isn't of the format."""
    try:
        return _TEXTS[form].parsed(text) if text.strip() else {}
    except RecursionError:
        raise CtxsimError("it is nested too deeply") from None
    except ValueError as error:
        raise CtxsimError(f"it is no {form}: {' '.join(str(error).split())}") from None


def edited(text: str, form: Format, path: Path, value: Value) -> str:
    """Return the text with a value set at a path. All other comments, order, blanks and line ends stay.

    Missing tables on the path are made. Raises CtxsimError if the text isn't of the format, if a key on the path holds
    something other than a table, or if the result wouldn't parse to the wanted data.
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
    """Return a copy of data with a value set at a path. Raises CtxsimError if a key on the path holds no table."""
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
    """Return a path as text, with dots between its keys."""
    return ".".join(map(str, path))
