"""Defaults from a project's file for what a command line leaves out."""

from pathlib import Path
from typing import Any

from ctxsim.api.project import OPTIONS, RULES, found
from ctxsim.errors import CtxsimError


def usual_paths(paths: tuple[str, ...], scenarios: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command line's paths, or the project's if the command line has neither paths nor scenarios."""
    for name in paths:
        if set(name) & set("/:*?[@") or Path(name).exists():
            continue
        from ctxsim.api.lists import completions
        from ctxsim.policies import registered_policies

        for option, known in (("--scenario", completions("scenarios")), ("--policy", registered_policies())):
            if name in known:
                raise CtxsimError(f"{name}: no file or folder; it is named by {option} {name}")
    return paths or (() if scenarios else found().paths)


def defaults() -> dict[str, dict[str, Any]]:
    """Return the project's defaults of options, by command."""
    said = found()
    shared = said.given("goal", *OPTIONS)
    shared["rules"] = tuple(f"{name}={value}" for name, value in said.given(*RULES).items())
    return {
        "bench": shared | ({"policies": said.policies} if said.policies else {}),
        "sweep": shared | ({"grids": said.grids} if said.grids else {}),
    }
