"""References: what later calls used of earlier tool results, and whether a view still held it.

A necessary condition for the agent to have acted the same, not a prediction of success. docs/references.md.
"""

from ctxsim.simulator.references import canonical, identifiers, quotations, reissue
from ctxsim.simulator.references.finding import first_sent, prepare
from ctxsim.simulator.references.needs import OUTPUT_KINDS, Need, References, word_hash
from ctxsim.simulator.references.reissue import reissues
from ctxsim.simulator.references.survival import Counts, Needles, Survival, all_kept

DETECTORS = (canonical.VERSION, identifiers.VERSION, quotations.VERSION, reissue.VERSION)
"""What found the references of a run."""

__all__ = [
    "DETECTORS",
    "OUTPUT_KINDS",
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
