"""Bounds: what nobody can beat who doesn't know the future, and what even he who knows it can't.

`schedule` says when each dead result is best cleared under cache prices; `frontier` the least tokens and dollars at
each survival. docs/bounds.md.
"""

from ctxsim.simulator.bounds.frontier import Family, Frontier, frontiers
from ctxsim.simulator.bounds.programme import LEVELS

__all__ = ["LEVELS", "Family", "Frontier", "frontiers"]
