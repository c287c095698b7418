"""Bounds: what nobody can beat who doesn't know the future, and what even he who knows it can't.

`schedule` says when each dead result is best cleared under cache prices; `frontier` the least tokens and dollars at
each survival. docs/references.md, "Bounds".
"""

from ctxsim.bounds.frontier import LEVELS, Family, Frontier, frontiers, scheduled_usd
from ctxsim.bounds.lossless import plan

__all__ = ["LEVELS", "Family", "Frontier", "frontiers", "plan", "scheduled_usd"]
