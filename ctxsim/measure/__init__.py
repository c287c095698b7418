"""One transcript under one policy: its rows, what it lost, and what that costs."""

from ctxsim.measure.frontier import frontier_rows
from ctxsim.measure.measured import KEEP_ALL, Basis, Measured, measure
from ctxsim.measure.summary import summarize, summary_row

__all__ = ["KEEP_ALL", "Basis", "Measured", "frontier_rows", "measure", "summarize", "summary_row"]
