"""Claims of document 003, from the third layer on: compaction, its outcome, rejected alternatives, risks."""

from __future__ import annotations

from statistics import median

from ctxsim.cli.tracker import TokenTracker
from evidence.claims.claim import Finding, claim, depends, judged, unmeasurable
from evidence.claims.evidence import UNLIMITED, Evidence, first_failure
from evidence.claims.three_layers import LONG, MANAGER, MILLION


@claim(
    "003",
    "Layer 3",
    "50,000 tokens become fewer than 5,000 (10x)",
    "fifty-turns: a compaction at 50,000 tokens, keep_last 10 and 2",
)
def ten_times(evidence: Evidence) -> Finding:
    found = []
    for keep in (10, 2):
        rows = evidence.calls(LONG, f"summary:at=0.25,keep_last={keep},max_tokens=120")
        row = next(one for one in rows if one.summary_calls)
        found.append((keep, row.tokens_sent + row.tokens_removed, row.tokens_sent))
    got = "; ".join(f"last {keep}: {before:,} to {after:,} ({before / after:.1f}x)" for keep, before, after in found)
    return judged(got, found[0][2] < 5_000)


@claim(
    "003",
    "Layer 3",
    "the last 10 messages are kept in full",
    "fifty-turns, three-layer: references to the newest results that are kept",
)
def last_ten(evidence: Evidence) -> Finding:
    sent = [one for one in evidence.sent(LONG, MANAGER) if one.summary_calls]
    sizes = [len([group for group in one.view.messages() if group[0].kind != "summary"]) for one in sent]
    return judged(f"{min(sizes)} or more messages stay in {len(sizes)} compactions", min(sizes) >= 10)


@claim(
    "003",
    "Layer 3",
    "the summary keeps the user's intent and what matters",
    "fifty-turns, three-layer: references kept, summaries at worst and at best",
)
def summary_keeps(evidence: Evidence) -> Finding:
    row = evidence.summary(LONG, MANAGER)
    kept = f"{row.survival_low or 0:.0%} to {row.survival_high or 0:.0%}"
    got = f"{kept} of old references in {row.summary_calls} compactions"
    return depends(got, "what the model writes; no summary of 2 or 3 sentences keeps all")


@claim(
    "003", "Success criteria", "no orphaned tool outputs after compaction", "fifty-turns, three-layer: invalid pairs"
)
def no_orphans(evidence: Evidence) -> Finding:
    row = evidence.summary(LONG, MANAGER)
    return judged(f"{row.invalid_pairs} of {row.calls} calls", row.invalid_pairs == 0)


@claim(
    "003",
    "Success criteria",
    "50+ turns complete",
    "fifty-turns, three-layer: refused calls",
)
def fifty_turns(evidence: Evidence) -> Finding:
    row = evidence.summary(LONG, MANAGER)
    failed = row.overflows + row.rate_limited + row.stopped + row.invalid_pairs
    return judged(f"{failed} of {row.calls} calls refused, largest request {row.tokens_peak:,}", failed == 0)


@claim(
    "003",
    "Alternatives, 2",
    "truncation alone is limited to 10 to 20 turns",
    "fifty-turns, head-tail alone: first refused call",
)
def truncation_alone(evidence: Evidence) -> Finding:
    failed = first_failure(evidence.calls(LONG, "head-tail"))
    turn = evidence.turn(LONG, failed.call) if failed else None
    got = f"refused in turn {turn}" if turn else "50 turns pass"
    return depends(f"{got} (window 200,000)", "the window and what remains after truncation: growth only gets slower")


@claim(
    "003",
    "Alternatives, 1",
    "FIFO removal loses context irreversibly",
    "fifty-turns: references kept by fifo:budget=120000 and by three-layer",
)
def fifo_loses(evidence: Evidence) -> Finding:
    fifo, layers = evidence.summary(LONG, "fifo:budget=120000"), evidence.summary(LONG, MANAGER)
    got = (
        f"fifo {fifo.survival or 0:.0%}; three-layer {layers.survival_low or 0:.0%} to {layers.survival_high or 0:.0%}"
    )
    return judged(got, (fifo.survival or 0) < 1)


@claim(
    "003",
    "Risks",
    "tokens off by more than 10 % make compaction come too early or late",
    "fifty-turns: trigger displacement of summary by chars/4, /3 and /5",
)
def displaced(evidence: Evidence) -> Finding:
    moved = {}
    for label in ("chars", "chars:ratio=3", "chars:ratio=5"):
        row = evidence.summary(LONG, f"summary:estimator={label}")
        moved[label] = row.trigger_displacement_calls
    got = ", ".join(
        f"{label} {calls:+d} calls" if calls is not None else f"{label} never" for label, calls in moved.items()
    )
    return judged(got, any(calls for calls in moved.values()))


@claim(
    "003",
    "Risks",
    "compaction takes 2 to 5 s",
    "-",
)
def latency(evidence: Evidence) -> Finding:
    return unmeasurable("needs a live model")


@claim(
    "003",
    "Model registry",
    "gemini-2.5-flash: 1,000,000 window, USD 0.075 in, 0.30 out",
    "the dated price list that ctxsim uses",
)
def registry(evidence: Evidence) -> Finding:
    from ctxsim.simulator.provider.models import find_model

    entry = find_model("gemini-2.5-flash")
    if entry is None:
        return unmeasurable("the price list doesn't know it")
    prices = entry.prices
    got = f"window {entry.window or 0:,}"
    if prices is None:
        return judged(got, False)
    got += f", USD {prices.input} in, {prices.output} out ({prices.effective or 'undated'})"
    return judged(got, (entry.window, prices.input, prices.output) == (MILLION, 0.075, 0.3))


@claim(
    "003", "Instructions", "three levels merged within 32 KiB", "what 32 KiB of instructions cost with every request"
)
def instructions_cost(evidence: Evidence) -> Finding:
    tokens = evidence.count(evidence.sample("prose", 32 * 1024))
    window = evidence.opened(LONG)[1].window
    return depends(
        f"{tokens:,} tokens in every request, {tokens / window:.1%} of 200,000",
        "how much is written; the merge is tested",
    )


@claim(
    "003",
    "REPL metrics",
    "an average turn size predicts the turns remaining",
    "fifty-turns, window 200,000: said at each call against what followed",
)
def prediction(evidence: Evidence) -> Finding:
    rows = evidence.calls(LONG, "keep-all", UNLIMITED)
    window = evidence.opened(LONG)[1].window
    last = next(row.call for row in rows if row.tokens_sent > window)
    tracker = TokenTracker(window)
    errors = []
    for row in rows[: last - 1]:
        tracker.record(row.tokens_sent, row.tokens_output)
        if row.call >= 10 and tracker.calls_left is not None:
            errors.append(abs(tracker.calls_left - (last - row.call)) / (last - row.call))
    return depends(f"off by {median(errors):.0%} in the median, {max(errors):.0%} at worst", "how even growth is")
