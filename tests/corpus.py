"""Real recordings, where they are: CTXSIM_CORPUS, or ../shared/transcripts beside the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

BESIDE = Path(__file__).parents[2] / "shared" / "transcripts"
FOLDER = Path(os.environ.get("CTXSIM_CORPUS") or BESIDE)
here = pytest.mark.skipif(not FOLDER.is_dir(), reason="no recordings here: set CTXSIM_CORPUS to a folder of them")
"""Marks a test that needs them; elsewhere it is skipped, and says so."""
