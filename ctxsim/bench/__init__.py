"""Transcripts x policies to a run's folder."""

from ctxsim.bench.conduct import DEFAULT_POLICIES, bench
from ctxsim.bench.presets import PRESETS, preset_policies
from ctxsim.bench.task import Setting

__all__ = ["DEFAULT_POLICIES", "PRESETS", "Setting", "bench", "preset_policies"]
