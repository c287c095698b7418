"""TOML, by tomlkit, which keeps comments, order and blanks."""

import tomllib
from typing import Any


def parsed(text: str) -> Any:
    """Return the data of a text. Raises ValueError if it isn't TOML."""
    return tomllib.loads(text)


def edited(text: str, path: tuple[str | int, ...], value: Any) -> str:
    """Return the text with a value set at a path. Raises ValueError if it isn't TOML."""
    import tomlkit

    document: Any = tomlkit.parse(text)
    table = document
    for key in path[:-1]:
        if key not in table:
            table[key] = tomlkit.table()
        table = table[key]
    table[path[-1]] = value
    made = tomlkit.dumps(document)
    return made.replace("\r\n", "\n").replace("\n", "\r\n") if "\r\n" in text else made
