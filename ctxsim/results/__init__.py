"""Results: the columns, a run's folder, and its writer."""

from typing import TYPE_CHECKING, Any

from ctxsim.results.run_info import TABLES, InputInfo, RunInfo, Tables

if TYPE_CHECKING:
    from ctxsim.results.run import Run, read_run

__all__ = ["TABLES", "InputInfo", "Run", "RunInfo", "Tables", "read_run"]


def __getattr__(name: str) -> Any:
    """Import the reading of runs on first use (PEP 562), since a replay only writes runs."""
    if name not in ("Run", "read_run"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ctxsim.results import run

    return getattr(run, name)
