"""Keep-all against what was recorded of the same calls."""

from __future__ import annotations

from typing import Any

from ctxsim.simulator.measure.columns import Columns
from ctxsim.simulator.measure.totals import total
from ctxsim.simulator.provider import Provider
from ctxsim.transcript import UNLOGGED, Transcript


def against_recorded(of: Columns, transcript: Transcript, provider: Provider) -> dict[str, Any]:
    """Return, by column, how large what was recorded is, what keep-all sends and pays at those calls, and where and
    when its agent worked.
    """
    compared = [pair for pair in zip(of["tokens_recorded"], of["tokens_full"], strict=True) if pair[0]]
    costs = zip(of["cost_recorded_usd"], of["cost_usd"], strict=True)
    paid = [pair for pair in costs if pair[0] is not None]
    unlogged = sum(media.tokens for item in transcript.items for media in item.media if media.kind == UNLOGGED)
    return {
        "size": provider.size,
        "tokens_hidden": transcript.head.hidden + unlogged,
        "tokens_factor": provider.tokens_factor,
        "calls_recorded": len(compared),
        "tokens_recorded_sum": sum(recorded for recorded, _ in compared),
        "tokens_full_recorded": sum(full for _, full in compared),
        "cost_recorded_usd": total(recorded for recorded, _ in paid) if paid else None,
        "cost_full_recorded_usd": total(full for _, full in paid) if paid else None,
        "started": next((call.time_s for call in transcript.calls if call.time_s is not None), None),
        "project": transcript.project or None,
        "model": transcript.model or None,
        "version": transcript.version or None,
        "compactions_recorded": int(transcript.carried > 0),
    }
