"""Where the project stands: for the pages, runs and sources that tests look at."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent
