"""References: identifiers and quotations of earlier tool results that calls use, and whether a view still held them.

Survival is a necessary condition for the agent to have acted the same, not a prediction of success. docs/references.md.
"""

from ctxsim.simulator.references import canonical, identifiers, quotations
from ctxsim.simulator.references.finding import REISSUE, first_sent, prepare, reissues
from ctxsim.simulator.references.needs import OUTPUT_KINDS, Need, References, word_hash
from ctxsim.simulator.references.survival import Counts, Needles, Survival, all_kept

DETECTORS = (canonical.VERSION, identifiers.VERSION, quotations.VERSION, REISSUE)
"""Versions of the rules that found the references of a run."""

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
