"""Seeded draws between nothing and all fetched again: the same rows whoever asks, and none where nobody does."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from command_line import ctxsim

from ctxsim import bench
from ctxsim.cli.running import _apart
from ctxsim.policies import open_policy
from ctxsim.results import Run
from ctxsim.simulator.measure.measured import AsSent
from ctxsim.simulator.measure.refetch import refetched
from ctxsim.simulator.provider.resolve import resolve
from ctxsim.synthesis import load_scenario, synthesize

SCENARIO = "documented-53k"
MASK = open_policy("mask:keep=2").label
ALL = open_policy("mask:keep=1000").label
"""Loses nothing."""

OWN = """from dataclasses import dataclass
from ctxsim.policies.mask import Mask

@dataclass
class Own(Mask):
    keep: int = 2
"""


def rows(run: Run, policy: str) -> list[tuple[int, int, float, int]]:
    found = run.table("draws", policy=[policy])
    return list(zip(found.draw, found.inserted, found.cost_usd, found.tokens_sent, strict=True))


def test_draws_are_closed_replays_with_dice_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    labels = [MASK, ALL, "oracle-lossless", f"{tmp_path / 'own.py'}:Own"]
    run = bench(SCENARIO, labels, refetch=0.5, draws=4)
    scenario = load_scenario(SCENARIO)
    basis = AsSent(synthesize(scenario), resolve({}, (SCENARIO, scenario.provider))).basis()
    dice = [Random(f"{draw} {SCENARIO}") for draw in range(1, 5)]
    expected = [refetched(basis, open_policy(MASK), (0.5, one)) for one in dice]
    mine = rows(run, MASK)
    assert mine == [(n, one.calls, one.cost_usd, one.tokens_sent) for n, one in enumerate(expected, 1)]
    assert {inserted for _, inserted, _, _ in mine} == {0, 1, 2}
    # A policy from a file runs in a process of its own, and a bound goes by recorded places.
    assert rows(run, run.info.policies[-1]) == mine
    assert rows(run, "oracle-lossless") == []
    (usd,) = run.of(ALL).cost_usd
    assert [(inserted, cost) for _, inserted, cost, _ in rows(run, ALL)] == [(0, pytest.approx(usd))] * 4
    # Fewer draws are the first of more, and amounts of other tables don't depend on them.
    fewer = bench(SCENARIO, [MASK, ALL], refetch=0.5, draws=2)
    assert rows(fewer, MASK) == mine[:2]
    assert all(fewer.of(label).to_csv(index=False) == run.of(label).to_csv(index=False) for label in (MASK, ALL))
    assert run.problems() == []


def test_a_rate_has_a_folder_of_its_own(tmp_path: Path) -> None:
    done = ctxsim("bench", "--scenario", SCENARIO, "--policy", "mask:keep=2", "--refetch", "0.5:draws=1",
                  cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (tmp_path / "results").iterdir()] == [f"{SCENARIO}.mask-keep=2.refetch=0.5.draws=1"]
    usual = dict.fromkeys(("estimator", "models", "model", "window", "refetch", "draws", "sample"))
    assert _apart([], {**usual, "rules": (), "seed": 0, "head": "fitted", "across": False}) == ""
