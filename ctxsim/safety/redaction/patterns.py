"""What redaction searches for: a table of patterns, and of words that are no secrets."""

import re
import tomllib
from pathlib import Path
from typing import Any

TABLE: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def part(name: str) -> str:
    """Return the text of a part of patterns."""
    return _whole(TABLE["parts"][name])


def compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern of the table, with its parts in place of their names."""
    return re.compile(_whole(pattern))


def _whole(pattern: str) -> str:
    return re.sub("<([A-Z_]+)>", lambda found: part(found[1]), pattern)
