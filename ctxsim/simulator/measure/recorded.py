"""Keep-all against what was recorded of the same calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ctxsim.results.columns import CallRow
from ctxsim.simulator.measure.totals import total
from ctxsim.simulator.provider import Provider
from ctxsim.transcript import UNLOGGED, Transcript


def against_recorded(rows: Sequence[CallRow], transcript: Transcript, provider: Provider) -> dict[str, Any]:
    """Return, by column, how large what was recorded is, and what keep-all (its rows) sends and pays at those calls."""
    compared = [row for row in rows if row.tokens_recorded]
    paid = [row for row in rows if row.cost_recorded_usd is not None]
    unlogged = sum(media.tokens for item in transcript.items for media in item.media if media.kind == UNLOGGED)
    return {
        "size": provider.size,
        "tokens_hidden": transcript.head.hidden + unlogged,
        "tokens_factor": provider.tokens_factor,
        "calls_recorded": len(compared),
        "tokens_recorded_sum": sum(row.tokens_recorded or 0 for row in compared),
        "tokens_full_recorded": sum(row.tokens_full for row in compared),
        "cost_recorded_usd": total(row.cost_recorded_usd for row in paid) if paid else None,
        "cost_full_recorded_usd": total(row.cost_usd for row in paid) if paid else None,
    }
