"""Offline simulator and benchmark for what LLM agents do when their context fills up.

`ctxsim.api` holds what `import ctxsim` gives. It is loaded at the first use of one of its names, so that the import
itself loads nothing.
"""

from __future__ import annotations

import importlib

# Type checkers take this name for true; importing it from typing takes longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ctxsim.api import Measurement as Measurement
    from ctxsim.api import Policy as Policy
    from ctxsim.api import Provider as Provider
    from ctxsim.api import Run as Run
    from ctxsim.api import Scenario as Scenario
    from ctxsim.api import Transcript as Transcript
    from ctxsim.api import View as View
    from ctxsim.api import bench as bench
    from ctxsim.api import measure as measure
    from ctxsim.api import open_policy as open_policy
    from ctxsim.api import read as read
    from ctxsim.api import read_run as read_run
    from ctxsim.api import replay as replay
    from ctxsim.api import scenario as scenario

__version__ = "0.1.0"

__all__ = [
    "Measurement", "Policy", "Provider", "Run", "Scenario", "Transcript", "View",
    "bench", "measure", "open_policy", "read", "read_run", "replay", "scenario",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load a public name at its first use (PEP 562)."""
    if name in __all__:
        return getattr(importlib.import_module("ctxsim.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
