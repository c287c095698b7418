"""Transcripts x policies to a run's folder."""

from ctxsim.runs.conduct import DEFAULT_POLICIES, bench
from ctxsim.runs.presets import PRESETS, preset_policies
from ctxsim.runs.task import Setting

__all__ = ["DEFAULT_POLICIES", "PRESETS", "Setting", "bench", "preset_policies"]
