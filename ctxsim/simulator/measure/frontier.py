"""The frontiers of a transcript as rows."""

from __future__ import annotations

from math import floor
from typing import Any

from ctxsim.results.columns import FrontierRow
from ctxsim.simulator.bounds import LEVELS, Scheduled
from ctxsim.simulator.measure.measured import Basis


def frontier_rows(basis: Basis) -> list[FrontierRow]:
    """Return both frontiers of a transcript, level by level; only their beginning where nothing aged is needed."""
    scheduled = Scheduled(basis.ledger)
    levels = LEVELS if any(basis.keep_all.calls["refs_needed_strict"]) else LEVELS[:1]
    return [
        FrontierRow(
            transcript=basis.transcript.name,
            family=family,
            survival=level,
            tokens=amount(frontier.tokens(level), 1),
            cost_usd=amount(frontier.cost_usd(level), 10),
            scheduled_usd=amount(scheduled.usd(frontier, level), 10) if family == "results" else None,
        )
        for family, frontier in basis.frontiers.items()
        for level in levels
    ]


def amount(value: float | None, digits: int) -> Any:
    """Return a bound, rounded down so that it stays one."""
    # Not because of what floating point lost: 1.9999999 is 2.
    return None if value is None else floor(value * 10**digits + 1e-4) / 10**digits
