"""Sets one key in the text of a configuration file, in the file's format, and keeps every other byte."""

from typing import Any, Literal

from ctxsim.errors import CtxsimError, InputError
from ctxsim.live.configs import json_text, yaml_text
from ctxsim.plugins.files import Keys, config_values, dotted, with_value

Format = Literal["json", "jsonc", "toml", "yaml"]

Value = bool | int | float | str


def parsed(text: str, form: Format) -> Any:
    """Return the data of a text; an empty text is an empty mapping. Raises CtxsimError if it isn't of the format."""
    try:
        return config_values(text, form, "")
    except InputError as error:
        raise CtxsimError(f"it {error.what}") from None


def edited(text: str, form: Format, path: Keys, value: Value) -> str:
    """Return the text with a value set at a path. All other comments, order, blanks and line ends stay.

    Missing tables on the path are made. Raises CtxsimError if the text isn't of the format, if a key on the path holds
    something other than a table, or if the result wouldn't parse to the wanted data.
    """
    wanted = with_value(parsed(text, form), path, value)
    edit = {"toml": _toml_edited, "yaml": yaml_text.edited}.get(form, json_text.edited)
    try:
        made = edit(text, path, value)
        done = parsed(made, form) == wanted
    except (ValueError, RecursionError, CtxsimError):
        done = False
    if not done:
        raise CtxsimError(f"{dotted(path)} can't be set without touching what is beside it; set it by hand")
    return made


def _toml_edited(text: str, path: Keys, value: Value) -> str:
    import tomlkit

    document: Any = tomlkit.parse(text)
    table = document
    for key in path[:-1]:
        table = table.setdefault(key, tomlkit.table())
    table[path[-1]] = value
    made = tomlkit.dumps(document)
    return made.replace("\r\n", "\n").replace("\n", "\r\n") if "\r\n" in text else made
