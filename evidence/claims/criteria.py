"""The nine success criteria of document 003, measured, and whether each is met."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ctxsim.cli.tracker import TokenTracker
from ctxsim.policies.head_tail import head_tail
from evidence.claims.evidence import Evidence
from evidence.claims.instructions import LIMIT_BYTES, load_instructions
from evidence.claims.three_layers import LONG, MANAGER


class Criterion(msgspec.Struct, frozen=True):
    """One row of the document's table: its name and metric, what was measured, and whether that meets it."""

    name: str
    metric: str
    got: str
    met: bool


def criteria(evidence: Evidence | None = None) -> Iterator[Criterion]:
    """Measure the criteria, in the document's order."""
    evidence = evidence or Evidence()
    rows = [f"line {n}" for n in range(1_000)]
    cut = head_tail("\n".join(rows), 128, 10_240).split("\n")
    yield Criterion(
        "Truncation accuracy",
        "first line, last line and marker there",
        f"{len(cut)} lines of 1,000; first {cut[0]!r}, last {cut[-1]!r}",
        cut[0] == rows[0] and cut[-1] == rows[-1] and any("omitted" in row for row in cut),
    )
    calls = evidence.calls(LONG, MANAGER)
    errors = [abs(row.tokens_estimated - row.tokens_sent) / row.tokens_sent for row in calls]
    yield Criterion(
        "Token accuracy",
        "estimate within ±10 % of the count",
        f"{sum(error <= 0.1 for error in errors) / len(errors):.0%} of requests, {max(errors):.0%} at worst (chars/4)",
        max(errors) <= 0.1,
    )
    yield _trigger(evidence)
    yield _effectiveness(evidence)
    yield _instructions()
    summary = evidence.summary(LONG, MANAGER)
    yield Criterion(
        "History validity",
        "no orphan after compaction",
        f"{summary.invalid_pairs} invalid requests",
        not summary.invalid_pairs,
    )
    yield _metrics()
    refused = summary.overflows + summary.stopped + summary.rate_limited + summary.invalid_pairs
    yield Criterion(
        "Long conversations",
        "50+ turns complete",
        f"{evidence.turn(LONG, summary.calls)} turns, {refused} refused",
        not refused,
    )
    yield _logged(evidence)


def _trigger(evidence: Evidence) -> Criterion:
    window = evidence.opened(LONG)[1].window
    exact = True
    fired = 0
    for one in evidence.sent(LONG, MANAGER):
        # The policy decided by the estimate before it acted; a row has the one after.
        before = sum(edit.before is not None for moment, edit in one.edits if moment == "before_call")
        fired += bool(before)
        if not before:
            exact = exact and one.tokens_estimated < 0.7 * window
    return Criterion(
        "Compaction triggers",
        "at 70 % of the window",
        f"{fired} compactions; no request at 70 % or more without one",
        exact and fired > 0,
    )


def _effectiveness(evidence: Evidence) -> Criterion:
    rows = evidence.calls(LONG, "summary:at=0.25,keep_last=10,max_tokens=120")
    row = next(one for one in rows if one.summary_calls)
    got = f"{row.tokens_sent + row.tokens_removed:,} to {row.tokens_sent:,}"
    return Criterion("Compaction effectiveness", "50K tokens to fewer than 5K", got, row.tokens_sent < 5_000)


def _instructions() -> Criterion:
    with tempfile.TemporaryDirectory() as folder:
        home, project = Path(folder) / "home", Path(folder) / "project"
        work = project / "deep" / "down"
        for place, text in ((home / ".adk-code", "global "), (project, "project "), (work, "here ")):
            place.mkdir(parents=True)
            (place / "AGENTS.md").write_text(text * 3_000)
        (project / ".git").mkdir()
        loaded = load_instructions(work, home)
    return Criterion(
        "Instruction loading",
        "all three levels, at most 32 KiB",
        f"{len(loaded.sources)} files, {loaded.bytes:,} bytes",
        len(loaded.sources) == 3 and loaded.bytes <= LIMIT_BYTES and loaded.truncated,
    )


def _metrics() -> Criterion:
    tracker = TokenTracker(1_000_000)
    for used in (5_000, 25_000, 45_000):
        tracker.record(used, 100)
    right = (tracker.used, tracker.available, tracker.percent_used) == (45_000, 955_000, 4.5)
    return Criterion("REPL metrics", "used, available, per cent", tracker.report().strip(), right)


def _logged(evidence: Evidence) -> Criterion:
    events = evidence.measured(LONG, MANAGER).events
    cut = sum(event.moment == "on_tool_result" for event in events)
    return Criterion(
        "No silent data loss",
        "every truncation logged",
        f"{cut} cuts and {len(events) - cut} compaction edits logged",
        cut > 0,
    )
