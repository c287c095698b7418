"""Recorded compactions: what they kept and lost, and what others would have."""

from ctxsim.answers.compactions.rates import FEWEST, PRIOR, excess, share
from ctxsim.answers.compactions.study import Compactions, SummaryScore, score, score_summary

__all__ = ["FEWEST", "PRIOR", "Compactions", "SummaryScore", "excess", "score", "score_summary", "share"]
