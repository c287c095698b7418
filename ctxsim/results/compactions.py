"""The columns of the tables on what recorded compactions kept and lost."""

from pathlib import Path
from typing import Annotated

import msgspec

from ctxsim.errors import InputError
from ctxsim.results.columns import (
    Calls,
    Counted,
    Dollars,
    Fact,
    Fitted,
    Found,
    ModelledCalls,
    ModelledTokens,
    Number,
    OfTranscript,
    Recorded,
    column,
)

Identifiers = column("counted", "identifiers")
RecordedSeconds = column("recorded", "seconds")
MeanCalls = column("counted", "tool calls")
MeanFound = column("counted", "references, mean")
WindowShare = column("recorded", "share of the window")


class CompactionRow(OfTranscript, frozen=True):
    """One recorded compaction. None is "not known", not zero.

    Needs are those of the calls after it: of the next ten for `_soon`, else up to the next compaction or the end.
    A need counts if the request before the compaction held it, and what the calls got afterwards didn't.
    """

    root: Annotated[str, Fact, "the session that it belongs to; its own name, or a parent's"]
    compaction: Annotated[int, Number, "its number in the transcript, from 1"]
    agent: Annotated[str, Fact, "the transcript's format"]
    model: Annotated[str, Fact, "the model of the call before it"]
    started_by: Annotated[str, Fact, "auto, manual, overflow; empty where the log doesn't say"]
    call: Annotated[int, Number, "the first call without the history before, from 1"]
    calls_after: Annotated[int, Calls, "calls up to the next compaction or the end"]
    window: Annotated[int, Recorded, "the model's window: as logged, else the model list's"]
    share: Annotated[float | None, WindowShare, "how much of the window the request before it filled"]
    tokens_before: Annotated[int | None, Recorded, "input before it: as logged, else of the last request"]
    tokens_after: Annotated[int | None, Recorded, "input after it: of the next request, else as logged"]
    tokens_left: Annotated[int, Counted, "the size of the summary and the kept items"]
    tokens_summary: Annotated[int | None, Counted, "the summary; none where the log doesn't hold its text"]
    tokens_unlogged: Annotated[int, Fitted, "what joined after it and is in no log: files attached again"]
    items_kept: Annotated[int, Number, "items that stayed as they were"]
    seconds: Annotated[float | None, RecordedSeconds, "how long it took"]
    needed_strict_soon: Annotated[int, Found, "identifiers that the next ten calls used"]
    kept_strict_soon: Annotated[int | None, Found, "of those, in summary or kept items"]
    needed_strict: Annotated[int, Found, "identifiers that calls after it used"]
    kept_strict: Annotated[int | None, Found, "of those, in summary or kept items"]
    needed_loose_soon: Annotated[int, Found, "quotations that the next ten calls used"]
    kept_loose_soon: Annotated[int | None, Found, "of those, in summary or kept items"]
    needed_loose: Annotated[int, Found, "quotations that calls after it used"]
    kept_loose: Annotated[int | None, Found, "of those, in summary or kept items"]
    needed_carried: Annotated[int, Found, "identifiers used, those that the agent had repeated too"]
    kept_carried: Annotated[int | None, Found, "of those, in summary or kept items"]
    used_again: Annotated[int, Found, "identifiers that calls used after getting them a second time"]
    used_again_kept: Annotated[int | None, Found, "of those, in summary or kept items all the same"]
    identifiers_before: Annotated[int, Identifiers, "different ones in the request before it"]
    identifiers_kept: Annotated[int | None, Identifiers, "of those, in summary or kept items"]
    reread_calls: Annotated[int, Number, "tool calls of the next ten calls that repeat one from before it"]
    reread_exact: Annotated[int, Number, "of those, with the same arguments; the others look into the same file"]
    reread_tokens: Annotated[int, Counted, "the size of those calls and their results"]
    reread_usd: Annotated[float | None, Dollars, "those calls as output, their results as new input"]
    controls: Annotated[int, Number, "calls without a compaction that are its control"]
    control_reread_calls: Annotated[float | None, MeanCalls, "reread_calls at those, mean"]
    control_needed_strict: Annotated[float | None, MeanFound, "needed_strict_soon at those, mean"]
    control_needed_carried: Annotated[float | None, MeanFound, "needed_carried of ten calls at those, mean"]
    tokens_rewritten: Annotated[int | None, ModelledTokens, "input of the next request that wasn't read from a cache"]
    cost_summary_usd: Annotated[float | None, Dollars, "the request before it sent once more, and the summary written"]
    cost_cache_usd: Annotated[float | None, Dollars, "what writing tokens_rewritten costs beyond reading them"]
    payback_calls: Annotated[float | None, ModelledCalls, "calls after which it has paid for itself"]
    lost_used: Annotated[int | None, Found, "identifiers of results that it lost and calls after it used"] = None
    lost_fetched: Annotated[int | None, Found, "of those, brought again first by the same call or file"] = None
    lost_shown: Annotated[int | None, Found, "of those, shown first by a later result"] = None
    kept_used: Annotated[int | None, Found, "the control: lost_used of what the compaction kept"] = None
    kept_fetched: Annotated[int | None, Found, "lost_fetched of those"] = None
    kept_shown: Annotated[int | None, Found, "lost_shown of those"] = None


class BesideRow(OfTranscript, frozen=True):
    """What one policy would have kept of the same request for the next ten calls, with as many tokens left.

    Other rows say the same for control calls, where the agent's next calls were not made from a summary.
    """

    root: Annotated[str, Fact, "the session that it belongs to"]
    compaction: Annotated[int, Number, "the compaction's number"]
    at: Annotated[str, Fact, "compaction or control"]
    call: Annotated[int, Number, "the first call after the edit"]
    name: Annotated[str, Fact, "recorded, clairvoyant, or the policy's name"]
    policy: Annotated[str, Fact, "the policy's full label, with the number that was fitted"]
    tokens_allowed: Annotated[int, Counted, "what the recorded compaction left"]
    tokens_left: Annotated[int, Counted, "what the policy left; it may be unable to leave so few"]
    needed_strict: Annotated[int, Found, "identifiers that the next ten calls used"]
    kept_strict: Annotated[int, Found, "of those, still there"]
    needed_loose: Annotated[int, Found, "quotations that they used"]
    kept_loose: Annotated[int, Found, "of those, still there"]
    needed_carried: Annotated[int, Found, "identifiers used, those that the agent had repeated too"]
    kept_carried: Annotated[int, Found, "of those, still there"]
    identifiers_before: Annotated[int, Identifiers, "different ones in the request before"]
    identifiers_kept: Annotated[int, Identifiers, "of those, still there"]


class CompactionNeedRow(OfTranscript, frozen=True):
    """One identifier or quotation that a call after a recorded compaction used and only the history before it had."""

    compaction: Annotated[int, Number, "the compaction's number"]
    call: Annotated[int, Number, "the first call after it that used it"]
    found: Annotated[str, Fact, "needed, carried (the agent had repeated it) or again (it got it a second time)"]
    detector: Annotated[str, Fact, "strict or loose"]
    kind: Annotated[str, Fact, "path, address, number, id, name or quotation"]
    atom: Annotated[str, Fact, "what was used"]
    kept: Annotated[bool | None, Fact, "whether summary or kept items hold it; none where the log doesn't say"]


class CompactionKindRow(OfTranscript, frozen=True):
    """All different identifiers of one kind in the request before a recorded compaction, used later or not."""

    compaction: Annotated[int, Number, "the compaction's number"]
    kind: Annotated[str, Fact, "path, address, number, id or name"]
    before: Annotated[int, Identifiers, "in the request before it"]
    kept: Annotated[int | None, Identifiers, "of those, in summary or kept items"]


COMPACTION_TABLES: dict[str, type[msgspec.Struct]] = {
    "compactions": CompactionRow, "compactions-beside": BesideRow, "compactions-needs": CompactionNeedRow,
    "compactions-kinds": CompactionKindRow,
}  # fmt: skip
"""Each table of `ctxsim compactions`, written as CSV and as Parquet."""


def read_compactions(folder: Path) -> list[CompactionRow]:
    """Return the recorded compactions in a folder's table; [] if the folder has no such table.

    Raises InputError for a table that can't be read or has other columns, as one of another version.
    """
    import pyarrow
    import pyarrow.parquet

    path = folder / "compactions.parquet"
    if not path.is_file():
        return []
    try:
        return [CompactionRow(**row) for row in pyarrow.parquet.read_table(path).to_pylist()]
    except (OSError, TypeError, UnicodeDecodeError, pyarrow.ArrowException):
        raise InputError(path, "can't be read; run ctxsim compactions again, with --out for this folder") from None
