"""Results: the columns, a run's folder, and its writer."""

from ctxsim.results.frames import frame
from ctxsim.results.run import Run, read_run
from ctxsim.results.run_info import TABLES, InputInfo, RunInfo, Tables

__all__ = ["TABLES", "InputInfo", "Run", "RunInfo", "Tables", "frame", "read_run"]
