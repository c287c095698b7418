"""How large each library is that `pip install .` installs, and what it is used for.

    python -m evidence.environment

prints a table in Markdown: megabytes (10^6 bytes) on disk of each library that ctxsim requires, and of those that only
it requires. Measured in the environment that runs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

SERVES = {
    "click": "the command line",
    "cloudpickle": "classes of policies to worker processes",
    "filelock": "one writer for a run's folder",
    "genai-prices": "prices and windows",
    "highspy": "linear programmes of the frontier",
    "matplotlib": "pictures",
    "msgspec": "values, JSON, validation",
    "numpy": "bootstrap intervals, fits, hashes of words",
    "pandas": "results as frames, tables",
    "pillow": "sizes of recorded images",
    "pyarrow": "Parquet, CSV, zstd",
    "pyyaml": "agents' settings in YAML",
    "regex": "words in scripts other than Latin, for Claude's tokenizers",
    "rich": "tables and progress on a terminal",
    "splintr-rs": "the default tokenizers",
    "tiktoken": "the reference tokenizer",
    "tomlkit": "agents' settings in TOML, with their comments",
    "transformers": "any local tokenizer",
}
"""What ctxsim uses each library for."""

REQUIREMENT = re.compile(r"^([\w.-]+)[^;]*(?:;(.*))?$")


def asked_for(found: Distribution) -> list[str]:
    """Return the names of the distributions that a distribution requires without extras."""
    named = (REQUIREMENT.match(text) for text in found.requires or ())
    return [_canonical(one[1]) for one in named if one and "extra ==" not in (one[2] or "")]


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def installed(name: str) -> Distribution | None:
    """Return a distribution of this environment; None if it isn't installed."""
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def reached(names: Iterable[str], apart: str = "") -> set[str]:
    """Return the installed ones of these names and all that they require, without going through `apart`."""
    found: set[str] = set()
    waiting = [name for name in names if name != apart]
    while waiting:
        name = waiting.pop()
        one = installed(name)
        if name not in found and one is not None:
            found.add(name)
            waiting += [needed for needed in asked_for(one) if needed != apart]
    return found


def megabytes(name: str) -> float:
    """Return the megabytes of a distribution's files on disk, without compiled Python."""
    one = installed(name)
    files = (Path(str(file.locate())) for file in (one.files if one else None) or () if file.suffix != ".pyc")
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


def main() -> None:
    """Print the table, largest first."""
    own = installed("ctxsim")
    assert own is not None, "run it where ctxsim is installed"
    names = asked_for(own)
    whole = reached(names)
    rows = []
    for name in names:
        alone = whole - reached(names, apart=name)
        rows.append((sum(map(megabytes, alone)), megabytes(name), name, alone - {name}))
    print("| library | MB | MB with its own libraries | its own libraries | used for |\n|---|--:|--:|---|---|")
    for together, size, name, others in sorted(rows, reverse=True):
        brings = ", ".join(sorted(others, key=megabytes, reverse=True)[:3]) + (", ..." if len(others) > 3 else "")
        print(f"| {name} | {size:.1f} | {together:.1f} | {brings} | {SERVES[name]} |")
    print(f"\nAll {len(whole)} libraries: {sum(map(megabytes, whole)):.0f} MB")


if __name__ == "__main__":
    main()
