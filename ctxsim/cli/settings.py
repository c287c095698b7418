"""What a project's file says, where a command line says nothing."""

from pathlib import Path
from typing import Any

from ctxsim.api.project import found
from ctxsim.errors import CtxsimError


def usual_paths(paths: tuple[str, ...], scenarios: tuple[str, ...]) -> tuple[str, ...]:
    """Return the paths of a command line, or the project's where it names neither a path nor a scenario."""
    for name in paths:
        if set(name) & set("/:*?[@") or Path(name).exists():
            continue
        from ctxsim.api.lists import completions
        from ctxsim.policies import registered_policies

        for option, known in (("--scenario", completions("scenarios")), ("--policy", registered_policies())):
            if name in known:
                raise CtxsimError(f"{name}: no file or folder; it is named by {option} {name}")
    return paths or (() if scenarios else found().paths)


OPTIONS = ("goal", "estimator", "model", "models", "window", "head", "jobs")
"""Settings that options of the same name stand for."""

RULES = ("tokenizer", "cache")
"""Settings that `--provider` stands for."""


def defaults() -> dict[str, dict[str, Any]]:
    """Return the project's defaults of options, by command."""
    said = found()
    shared: dict[str, Any] = {name: value for name in OPTIONS if (value := getattr(said, name)) is not None}
    shared["rules"] = tuple(f"{name}={value}" for name in RULES if (value := getattr(said, name)) is not None)
    return {
        "bench": shared | ({"policies": said.policies} if said.policies else {}),
        "sweep": shared | ({"grids": said.grids} if said.grids else {}),
    }
