"""Responses that several logs hold count once: the log of a resumed session begins with those of the session before.

A response is known again by its time, its model and its recorded usage, whatever file it stands in. A run has no time
of each response, but when a transcript begins, and each call's number.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from typing import TYPE_CHECKING

from ctxsim.results import Run

if TYPE_CHECKING:
    import pandas

REFUSED = {"overflow": "overflows", "rate_limited": "rate_limited", "invalid_pairs": "invalid_pairs",
           "invalid_thinking": "invalid_thinking", "stopped": "stopped"}  # fmt: skip
"""What a call's status is counted under."""


class Once:
    """Tells of one response after the other whether it was told before."""

    def __init__(self) -> None:
        self._told: set[tuple[Hashable, ...]] = set()

    def again(self, *mark: Hashable) -> bool:
        """Whether this response was told before."""
        known = mark in self._told
        self._told.add(mark)
        return known


def rows_once(run: Run, label: str) -> pandas.DataFrame:
    """Return a policy's rows without the calls that a transcript before holds too: a transcript of such calls alone is
    left out, others have the tokens, dollars and counts of their own calls.
    """
    rows: pandas.DataFrame = run.of(label)
    repeated = _repeated(run)
    if repeated is None:
        return rows
    less = _sums(run, label, repeated)
    if run.nothing:
        less["tokens_full_sum"] = _sums(run, run.nothing, repeated).tokens_sum
    less = less.reindex(rows.transcript, fill_value=0).set_index(rows.index)
    own = rows.assign(**{name: (rows[name] - less[name]).clip(lower=0) for name in less})
    alone = repeated.groupby("transcript").size().reindex(rows.transcript, fill_value=0).to_numpy()
    return own[alone < run.of(run.labels[0]).calls.to_numpy()].reset_index(drop=True)


def _sums(run: Run, label: str, repeated: pandas.DataFrame) -> pandas.DataFrame:
    """By transcript, what of a policy's rows is of repeated calls."""
    calls = run.table("calls", policy=[label], transcript=repeated.transcript.unique().tolist())
    calls = calls.merge(repeated, on=["transcript", "call"])
    calls = calls.rename(columns={"tokens_sent": "tokens_sum", "tokens_full": "tokens_full_sum"})
    calls = calls.assign(calls=1, compactions_recorded=calls.call == 1)
    calls = calls.assign(**{name: calls.status == status for status, name in REFUSED.items()})
    names = ["calls", "tokens_sum", "tokens_full_sum", "cost_usd", "compactions", "compactions_recorded"]
    return calls.groupby("transcript")[[*names, *REFUSED.values()]].sum()


@lru_cache(maxsize=1)
def _repeated(run: Run) -> pandas.DataFrame | None:
    """Transcript and number of each call that a transcript before holds too; one without usage goes with its log's call
    before it. None where there are none.
    """
    rows = run.of(run.labels[0])
    alike = rows[rows.started.notna() & rows.duplicated(["started", "model"], keep=False)]
    if not len(alike):
        return None
    calls = run.table(
        "calls", "transcript", "call", "tokens_recorded", "cost_recorded_usd", policy=[run.labels[0]],
        transcript=alike.transcript.tolist(),
    )  # fmt: skip
    known = calls[calls.tokens_recorded.notna()].merge(alike[["transcript", "started"]], on="transcript")
    once = Once()
    marks = zip(known.started, known.call, known.tokens_recorded, known.cost_recorded_usd.fillna(0), strict=True)
    known["again"] = [float(once.again(*mark)) for mark in marks]
    calls = calls.merge(known[["transcript", "call", "again"]], how="left", on=["transcript", "call"])
    found = calls.loc[calls.groupby("transcript").again.ffill() == 1, ["transcript", "call"]]
    # One call alone may be like another's by chance: two trials of one task that begin together.
    found = found[found.groupby("transcript").call.transform("size") > 1]
    return found if len(found) else None
