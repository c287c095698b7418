"""Which room a module belongs to, and which tests are that room's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath


def room(module: str) -> str:
    """Return the room of a module, both relative to the package: its folder, two steps deep; "." at the top."""
    return "/".join(PurePosixPath(module).parent.parts[:2]) or "."


def own_tests(module: str, tests: dict[str, str]) -> Sequence[str]:
    """Return the test files of a module's room, in the order in which they are likely to notice a change.

    `tests` are texts by path, relative to the folder of tests, which is laid out like the package. First come tests
    named after the module or its folder, then those of the room that name the module, then the room's others. If the
    module's folder has no tests, the room's tests are all those in and below the nearest folder above that has some.
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
