"""Files of settings, scenarios, vendors, models, agents and runs made wrong on purpose: each is read, or is a line."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from odd_files import TARGETS, mutated

from ctxsim.errors import CtxsimError

TRIES = {"run.json": 60, "scenario": 60}
LONGEST = 2_000


@pytest.mark.parametrize("kind", TARGETS)
def test_it_is_read_or_a_line(kind: str, tmp_path: Path) -> None:
    chance = random.Random(35)
    _, target = TARGETS[kind]
    if kind not in ("calibration", "pyproject.toml", "label"):
        target(TARGETS[kind][0], tmp_path)
    refused = 0
    for _ in range(TRIES.get(kind, 300)):
        began = time.process_time()
        try:
            target(mutated(kind, chance), tmp_path)
        except CtxsimError as error:
            refused += 1
            assert "\n" not in str(error) and len(str(error)) <= LONGEST
        assert time.process_time() - began < 10
    assert refused
