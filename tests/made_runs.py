"""Runs with a summary written by hand: what advice and tables are made from, with figures that can be added up."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ctxsim.results import Run, RunInfo, read_run
from ctxsim.results.columns import CallRow, SummaryRow
from ctxsim.results.folder import RunFolder
from ctxsim.results.frames import arrow_batch
from ctxsim.results.run_info import TABLES, Recorder
from ctxsim.results.writer import RunWriter

Table = Mapping[str, Sequence[Mapping[str, Any]]]


def made_run(
    folder: Path,
    rows: Table,
    bounds: Sequence[str] = ("keep-all",),
    recorders: Sequence[Recorder] = (),
    refetch: float | None = None,
    tables: Mapping[str, Sequence[msgspec.Struct]] | None = None,
    **told: Any,
) -> Run:
    """A run of some policies, each with a few columns of its transcripts, or of the first; keep-all's come first.

    Unless said otherwise a transcript has 10 calls, is its own session, and all of what it needed is kept. `tables` has
    rows of the other tables, `told` what `run.json` says.
    """
    keep_all = [dict(row) for row in rows["keep-all"]]
    summary = []
    for label, given in rows.items():
        for n, (row, whole) in enumerate(zip(given, keep_all, strict=False)):
            cost, base = row.get("cost_usd"), whole.get("cost_usd")
            tokens = row.get("tokens_sum", 1000)
            values = {
                "transcript": f"t{n}", "root": f"t{n}", "policy": label, "calls": 10, "survival": 1.0,
                "calls_with_aged_needs": 1, "tokens_sum": tokens, "tokens_peak": tokens // 10,
                "tokens_full_sum": whole.get("tokens_sum", 1000),
                "cost_vs_keep_all": cost / base if cost is not None and base else None, "size": "counted",
                **row,
            }  # fmt: skip
            summary.append(summary_row(**values))
    info = RunInfo(**{
        "name": "made", "title": "Made by hand", "ctxsim": "0", "tokenizers": {}, "policies": tuple(rows), "shown": {},
        "bounds": tuple(bounds), "limits": {}, "providers": ({},), "inputs": (), "detectors": (),
        "recorders": tuple(recorders) or msgspec.UNSET, "refetch": msgspec.UNSET if refetch is None else refetch,
        **told,
    })  # fmt: skip
    with RunFolder(folder) as held:
        held.begin()
        with RunWriter(held) as writer:
            writer.write({name: arrow_batch(TABLES[name][0], of) for name, of in (tables or {}).items()}, summary)
            writer.finish(info)
        held.clear()
    return read_run(folder)


def summary_row(**values: Any) -> SummaryRow:
    """A row in which nothing is known, and nothing happened, but for these values."""
    return SummaryRow(**(NOTHING | values))


def call_row(**values: Any) -> CallRow:
    """A call of which nothing is known, and at which nothing happened, but for these values."""
    return CallRow(**(NO_CALL | values))


_EMPTY: dict[Any, Any] = {str: "", int: 0, float: 0.0}
NOTHING, NO_CALL = (
    {name: _EMPTY.get(hint) for name, hint in typing.get_type_hints(row).items()} for row in (SummaryRow, CallRow)
)
