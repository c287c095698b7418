"""Offline simulator and benchmark for what LLM agents do when their context fills up.

What is public stands in `PUBLIC`, by the module that holds it. A name is loaded at its first use, so that the import
itself loads nothing.
"""

from __future__ import annotations

import importlib

# Type checkers take this name for true; importing it from typing takes longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ctxsim.api.advising import advise, construct
    from ctxsim.api.applying import apply, change, undo
    from ctxsim.api.bill import bill, compare_unpaired
    from ctxsim.api.forecasts import Forecasts, forecast
    from ctxsim.api.inputs import open_policy
    from ctxsim.api.live import Endpoint, drive, serve
    from ctxsim.api.probing import bisect_setting, check_setting
    from ctxsim.api.replays import Replay, Transcripts, read, replay, scenario
    from ctxsim.api.runs import Comparison, Run, bench, compare, read_run, sweep
    from ctxsim.api.settings import settings
    from ctxsim.api.trust import calibrate, check, compactions, estimates, validate
    from ctxsim.counting.estimators import Estimator
    from ctxsim.policies import Policy
    from ctxsim.results.run_info import __version__ as __version__
    from ctxsim.simulator.provider import Provider
    from ctxsim.synthesis import Scenario
    from ctxsim.transcript import Transcript
    from ctxsim.view import View

PUBLIC = {
    "ctxsim.api.forecasts": ("Forecasts", "forecast"),
    "ctxsim.api.applying": ("apply", "change", "undo"),
    "ctxsim.api.probing": ("bisect_setting", "check_setting"),
    "ctxsim.api.advising": ("advise", "construct"),
    "ctxsim.api.replays": ("Replay", "Transcripts", "read", "replay", "scenario"),
    "ctxsim.api.runs": ("Comparison", "Run", "bench", "compare", "read_run", "sweep"),
    "ctxsim.api.settings": ("settings",),
    "ctxsim.api.trust": ("calibrate", "check", "compactions", "estimates", "validate"),
    "ctxsim.api.bill": ("bill", "compare_unpaired"),
    "ctxsim.api.inputs": ("open_policy",),
    "ctxsim.api.live": ("Endpoint", "drive", "serve"),
    "ctxsim.counting.estimators": ("Estimator",),
    "ctxsim.policies": ("Policy",),
    "ctxsim.results.run_info": ("__version__",),
    "ctxsim.simulator.provider": ("Provider",),
    "ctxsim.synthesis": ("Scenario",),
    "ctxsim.transcript": ("Transcript",),
    "ctxsim.view": ("View",),
}

__all__ = [
    "Comparison", "Endpoint", "Estimator", "Forecasts", "Policy", "Provider", "Replay", "Run", "Scenario",
    "Transcript", "Transcripts", "View", "advise", "apply", "bench", "bill", "bisect_setting", "calibrate",
    "change", "check", "check_setting", "compactions", "compare", "compare_unpaired", "construct", "drive",
    "estimates", "forecast", "open_policy", "read", "read_run", "replay", "scenario", "serve", "settings", "sweep",
    "undo", "validate",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load a public name at its first use (PEP 562)."""
    for module, names in PUBLIC.items():
        if name in names:
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
