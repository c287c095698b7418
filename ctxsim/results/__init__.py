"""Results: the columns, a run's folder, and its writer."""

from ctxsim.results.frames import frame
from ctxsim.results.run import TABLES, InputInfo, Run, RunInfo, Tables, read_run

__all__ = ["TABLES", "InputInfo", "Run", "RunInfo", "Tables", "frame", "read_run"]
