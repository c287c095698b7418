"""SHA-256 of the bundled vocabularies: what they come to takes a third of a second to find out again, at each run."""

import hashlib
import tomllib
from importlib.metadata import version
from pathlib import Path

from ctxsim.counting.tokenizers.ranks import rank_file

_DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

STORED_FOR: str = _DATA["version"]
"""The version of the splintr-rs wheel that holds these vocabularies."""

STORED: dict[str, str] = _DATA["sha256"]


def vocabulary_sha256(name: str) -> str:
    """Return the hash of a bundled vocabulary's rank file: as stored, or computed where the wheel is another one."""
    if version("splintr-rs") == STORED_FOR:
        return STORED[name]
    return hashlib.sha256(rank_file(name)).hexdigest()
