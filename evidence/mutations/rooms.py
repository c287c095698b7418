"""Which room a module is of, and which tests are that room's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath


def room(module: str) -> str:
    """Return the room of a module, both relative to the package: its folder, two steps deep; "." at the top."""
    return "/".join(PurePosixPath(module).parent.parts[:2]) or "."


def own_tests(module: str, tests: dict[str, str]) -> Sequence[str]:
    """Return the test files of a module's room, those that are likeliest to notice a change first.

    `tests`: text by path, relative to the folder of tests, which is laid out as the package. First those that are
    named after the module or its folder, then the room's that name the module, then the room's others. A folder of the
    package without tests of its own belongs to the nearest one above it that has some, with all below that.
    """
    path = PurePosixPath(module)
    names = {path.stem, f"{path.stem}s", path.parent.name} - {"__init__", "policy", ""}
    wing = path.parts[0] if len(path.parts) > 1 else ""
    near = [one for one in tests if PurePosixPath(one).parts[0] == wing or "/" not in one]
    named = [one for one in near if PurePosixPath(one).stem.removeprefix("test_") in names]
    folder = path.parent
    while folder.parts and not any(_inside(one, folder) for one in tests):
        folder = folder.parent
    if folder == path.parent or not folder.parts:
        of_room = [one for one in tests if PurePosixPath(one).parent == folder]
    else:
        of_room = [one for one in tests if _inside(one, folder)]
    dotted = ".".join(("ctxsim", *path.with_suffix("").parts)).removesuffix(".__init__")
    return list(
        dict.fromkeys([*sorted(named), *sorted(one for one in of_room if dotted in tests[one]), *sorted(of_room)])
    )


def _inside(test: str, folder: PurePosixPath) -> bool:
    return folder in PurePosixPath(test).parents
