"""Bounds: what nobody can beat who doesn't know the future, and what even he who knows it can't.

`schedule` says when each dead result is best cleared under cache prices; `frontier` the least tokens and dollars at
each survival. docs/references.md, "Bounds".
"""

from ctxsim.simulator.bounds.frontier import Family, Frontier, Scheduled, frontiers
from ctxsim.simulator.bounds.lossless import plan
from ctxsim.simulator.bounds.programme import LEVELS
from ctxsim.simulator.bounds.walk import Walk

__all__ = ["LEVELS", "Family", "Frontier", "Scheduled", "Walk", "frontiers", "plan"]
