"""Recorded compactions: what they kept and lost, and what others would have."""

from ctxsim.answers.compactions.study import Scored, SummaryScore, score, score_summary

__all__ = ["Scored", "SummaryScore", "score", "score_summary"]
