"""Lists the licences of everything that `pip install .` installs, and that development and CI install.

    python -m evidence.licences

Reads the metadata of the environment that runs it.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import Distribution
from textwrap import TextWrapper
from typing import Any

from evidence.environment import asked_for, installed, reached
from evidence.lock import locked

PAGE = """# Licences

This page lists the licence of every installed package, as the package's metadata states it. `python -m
evidence.licences` prints this page.

## What `pip install .` installs

{installed}

## What development and CI add

These packages come from `requirements/test.txt`. Packages that only other platforms need are left out.

{beside}
"""

_KNOWN = {
    "Apache License 2.0": "Apache-2.0", "Apache Software License": "Apache-2.0", "Apache 2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0", "ISC License (ISCL)": "ISC",
    "Apache License, Version 2.0": "Apache-2.0", "Apache": "Apache-2.0", "Apache 2": "Apache-2.0",
    "BSD License": "BSD", "MIT License": "MIT", "The MIT License (MIT)": "MIT", "BSD 3-Clause License": "BSD-3-Clause",
    "3-Clause BSD License": "BSD-3-Clause", "new BSD": "BSD-3-Clause", "BSD 3-Clause": "BSD-3-Clause",
    "Python Software Foundation License": "PSF-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}  # fmt: skip
"""SPDX's names of licences that package metadata names differently."""


_LINES = TextWrapper(120, subsequent_indent="  ", break_on_hyphens=False)


def licence(one: Distribution) -> str:
    """Return a distribution's licence: its SPDX expression if stated, else its classifiers, else its own text."""
    metadata: Any = one.metadata
    said: str | None = metadata.get("License-Expression")
    if said:
        return said
    classified = [
        line.rpartition(" :: ")[2]
        for line in metadata.get_all("Classifier") or ()
        if line.startswith("License :: ") and line != "License :: OSI Approved"
    ]
    own = (metadata.get("License") or "").strip().splitlines()
    names = classified or [line for line in own[:1] if line]
    return ", ".join(_KNOWN.get(name, name) for name in names) or "no licence stated"


def table(names: set[str]) -> str:
    """Return a Markdown list of these packages: a line for each licence."""
    return by_licence([(name, licence(one)) for name in sorted(names) if (one := installed(name)) is not None])


def by_licence(rows: Iterable[tuple[str, str]]) -> str:
    """Return a Markdown list of packages and their licences: the licence of most packages first."""
    found: dict[str, list[str]] = {}
    for name, said in rows:
        found.setdefault(said, []).append(name)
    first = sorted(found, key=lambda said: (-len(found[said]), said))
    return "\n".join(_LINES.fill(f"- {said}: {', '.join(found[said])}") for said in first)


def main() -> None:
    """Print the page."""
    own = installed("ctxsim")
    assert own is not None, "run it where ctxsim is installed"
    runtime = reached(asked_for(own))
    print(PAGE.format(installed=table(runtime), beside=table(set(locked("test")) - runtime)), end="")


if __name__ == "__main__":
    main()
