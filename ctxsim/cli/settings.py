"""Defaults from a project's file for what a command line leaves out."""

from typing import Any

from ctxsim.api.project import OPTIONS, RULES, found


def usual_paths(paths: tuple[str, ...], scenarios: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command line's paths, or the project's if the command line has neither paths nor scenarios."""
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
