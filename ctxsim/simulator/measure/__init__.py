"""One transcript under one policy: its rows, what it lost, and what that costs."""

from ctxsim.simulator.measure.columns import Columns
from ctxsim.simulator.measure.measured import KEEP_ALL, Basis, Measured, measure
from ctxsim.simulator.measure.summary import frontier_rows, summarize, summary_row

__all__ = [
    "KEEP_ALL",
    "Basis",
    "Columns",
    "Measured",
    "frontier_rows",
    "measure",
    "summarize",
    "summary_row",
]
