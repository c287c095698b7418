"""References: what later calls used of earlier tool results, and whether a view still held it.

A necessary condition for the agent to have acted the same, not a prediction of success. docs/references.md.
"""

from ctxsim.references.naive import naive_counts
from ctxsim.references.needs import Need, References, prepare
from ctxsim.references.reissue import reissues
from ctxsim.references.survival import Counts, Survival

__all__ = ["Counts", "Need", "References", "Survival", "naive_counts", "prepare", "reissues"]
