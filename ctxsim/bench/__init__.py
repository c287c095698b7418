"""Transcripts x policies to a run's folder."""

from ctxsim.bench.conduct import DEFAULT_POLICIES, bench
from ctxsim.bench.task import Setting

__all__ = ["DEFAULT_POLICIES", "Setting", "bench"]
