"""References: what later calls used of earlier tool results, and whether a view still held it.

A necessary condition for the agent to have acted the same, not a prediction of success. docs/references.md.
"""

from ctxsim.references import canonical, loose, reissue, strict
from ctxsim.references.ahead import Ahead
from ctxsim.references.needles import Needles
from ctxsim.references.needs import Need, References, first_sent, prepare, word_hash
from ctxsim.references.reissue import reissues
from ctxsim.references.survival import Counts, Survival, all_kept

DETECTORS = (canonical.VERSION, strict.VERSION, loose.VERSION, reissue.VERSION)
"""What found the references of a run."""

__all__ = [
    "DETECTORS",
    "Ahead",
    "Counts",
    "Need",
    "Needles",
    "References",
    "Survival",
    "all_kept",
    "first_sent",
    "prepare",
    "reissues",
    "word_hash",
]
