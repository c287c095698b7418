"""Claims of documents 000 and 001: the token budget and the approaches it was chosen over."""

from __future__ import annotations

from ctxsim.policies.token_budget import MARKER
from evidence.claims.claim import Finding, claim, depends, judged, unmeasurable
from evidence.claims.evidence import Evidence, first_failure

CASE = "documented-53k"
LONG = "fifty-turns"
DOCUMENTED = 50_000
"""The limit, in tokens a minute, under which the document's 53,000 are refused."""

CUT_ON_ARRIVAL = "max-result-chars:chars=4000"


@claim(
    "000",
    "Context",
    "input tokens reach 53K+ and trigger rate limits",
    "documented-53k, keep-all, limit of 50,000 tokens a minute",
)
def reaches_53k(evidence: Evidence) -> Finding:
    rows = evidence.calls(CASE, "keep-all")
    failed = first_failure(rows)
    where = f"call {failed.call}: {failed.status} at {failed.tokens_sent:,}" if failed else "no call refused"
    cached = first_failure(evidence.calls("documented-53k-cached", "keep-all"))
    return depends(
        f"{where}; with a prompt cache whose reads don't count: {'refused' if cached else 'no call refused'}",
        "the provider's tier, pace and cache, none of which is documented; the sizes are the scenario's",
    )


@claim(
    "000",
    "Context",
    "MaxToolResultChars can't tell what is still needed from what is stale",
    f"fifty-turns: fresh references that {CUT_ON_ARRIVAL} and token-budget keep",
)
def cannot_tell_stale(evidence: Evidence) -> Finding:
    cut, budget = (evidence.summary(LONG, label).survival_fresh or 0 for label in (CUT_ON_ARRIVAL, "token-budget"))
    return judged(f"cut on arrival keeps {cut:.0%} of what the next call uses, token-budget {budget:.0%}", cut < budget)


@claim(
    "000",
    "Context",
    "MaxConversationMessages loses tool results and user context indiscriminately",
    "documented-53k, max-messages:n=9; needles, max-messages:n=41: rules of the user still in view",
)
def drops_indiscriminately(evidence: Evidence) -> Finding:
    failed = first_failure(evidence.calls(CASE, "max-messages:n=9"))
    rules = [row.kept for row in evidence.measured("needles", "max-messages:n=41").losses.needles if row.kind == "rule"]
    task = all(any(item.kind == "user" for item in one.view) for one in evidence.sent(CASE, "max-messages:n=9"))
    got = f"{sum(rules)} of {len(rules)} uses of a rule still see it; the task is {'kept' if task else 'lost'}"
    return judged(f"{got}; call {failed.call}: {failed.status}" if failed else got, not all(rules) or not task)


@claim(
    "000",
    "Context, 1",
    "truncating after use degrades all conversations, short ones too",
    "documented-53k: edits while the request is under 40,000 tokens; small-results: aged references kept",
)
def truncation_degrades(evidence: Evidence) -> Finding:
    small = [row for row in evidence.calls(CASE, "truncate-after-use") if row.tokens_full < 40_000]
    edits = sum(row.items_edited for row in small)
    kept = evidence.summary("small-results", "truncate-after-use").survival
    got = f"{edits} results cut in the {len(small)} calls under 40,000; {kept:.0%} kept where no result exceeds 1 KB"
    return judged(got, edits > 0 and (kept or 0) < 1)


@claim(
    "000",
    "Context, 2",
    "LLM summaries add API calls",
    "documented-53k and fifty-turns, summary: billed summary calls",
)
def summaries_add_calls(evidence: Evidence) -> Finding:
    short, long = evidence.summary(CASE, "summary:at=0.2,keep_last=4"), evidence.summary(LONG, "summary")
    got = f"{short.summary_calls} more in {short.calls} calls, {long.summary_calls} in {long.calls}"
    return judged(got, short.summary_calls > 0 and long.summary_calls > 0)


@claim(
    "000",
    "Context, 3; Consequences",
    "simple conversations are completely unaffected by a budget of 40,000",
    "documented-53k up to call 5, and every scenario's calls before 40,000 tokens: edits by token-budget",
)
def simple_unaffected(evidence: Evidence) -> Finding:
    edits = calls = 0
    for name in (CASE, "small-results", "text-only", LONG):
        # The compaction shows in the row of the call that exceeded the budget.
        for row in evidence.calls(name, "token-budget"):
            if row.tokens_full > 40_000:
                break
            calls += 1
            edits += row.items_edited
    return judged(f"{edits} edits in {calls} calls", edits == 0 and calls > 0)


@claim(
    "000",
    "Decision; 001 Idempotency",
    "idempotent: cut results are skipped, markers don't accumulate",
    "fifty-turns, token-budget: results cut twice, most markers in one result",
)
def idempotent(evidence: Evidence) -> Finding:
    sent = evidence.sent(LONG, "token-budget")
    places = [edit.before.place for one in sent for _, edit in one.edits if edit.before]
    most = max(item.text.count(MARKER) for one in sent for item in one.view)
    twice = len(places) - len(set(places))
    return judged(
        f"{len(places)} results cut, {twice} of them twice; at most {most} marker in one", not twice and most == 1
    )


@claim(
    "000",
    "Decision",
    "budget 40,000 and 500 characters keep long, tool-heavy workflows within limits",
    "documented-53k and fifty-turns (window 200,000), token-budget: refused calls, requests over 50,000 tokens",
)
def stays_within_limits(evidence: Evidence) -> Finding:
    peaks = ", ".join(
        f"{name} peaks at {evidence.summary(name, 'token-budget').tokens_peak:,}" for name in (CASE, LONG)
    )
    refused = [row for name in (CASE, LONG) for row in evidence.calls(name, "token-budget") if row.status != "ok"]
    long = evidence.calls(LONG, "token-budget")
    over = sum(row.tokens_sent > DOCUMENTED for row in long)
    got = f"{len(refused)} refused, {peaks}; {over} of {len(long)} requests of {LONG} are over the documented 50,000"
    on = "which limit: the window, not 50,000 tokens a minute; only old results are cut, and one call late"
    return depends(got, on) if over and not refused else judged(got, not refused)


@claim(
    "000",
    "Decision",
    "a budget of 0 disables compaction",
    "documented-53k, token-budget:budget=0: edits",
)
def zero_disables(evidence: Evidence) -> Finding:
    edits = evidence.summary(CASE, "token-budget:budget=0").items_edited
    return judged(f"{edits} edits", edits == 0)


@claim(
    "000",
    "Consequences",
    "no extra API calls",
    "documented-53k and fifty-turns, token-budget: summary calls and repeated requests",
)
def no_extra_calls(evidence: Evidence) -> Finding:
    rows = [row for name in (CASE, LONG) for row in evidence.calls(name, "token-budget")]
    extra = sum(row.summary_calls + row.attempts - 1 for row in rows)
    return judged(f"{extra} in {len(rows)} calls", extra == 0)


@claim(
    "000",
    "Consequences",
    "the most recent tool result stays in full",
    "fifty-turns, token-budget: references to the newest results that are kept",
)
def newest_in_full(evidence: Evidence) -> Finding:
    kept = evidence.summary(LONG, "token-budget").survival_fresh
    return judged(f"{kept:.1%}", kept == 1.0)


@claim(
    "000",
    "Consequences",
    "the first 500 characters preserve some context",
    "documented-53k and needles: references kept with 500 characters, and with none",
)
def first_500_preserve(evidence: Evidence) -> Finding:
    kept = [evidence.summary(CASE, f"token-budget:retain={n}").survival or 0 for n in (500, 0)]
    facts = [
        sum(row.kept for row in rows if row.kind != "rule") / sum(row.kind != "rule" for row in rows)
        for n in (500, 0)
        for rows in [evidence.measured("needles", f"token-budget:budget=30000,retain={n}").losses.needles]
    ]
    got = f"documented-53k {kept[0]:.0%} against {kept[1]:.0%}; planted facts {facts[0]:.0%} against {facts[1]:.0%}"
    return judged(got, kept[0] > kept[1] and facts[0] > facts[1])


@claim(
    "000",
    "Consequences",
    "character-based truncation approximates tokens well enough",
    "what 500 characters of each kind of invented tool output count",
)
def characters_approximate(evidence: Evidence) -> Finding:
    counts = {kind: evidence.count(evidence.sample(kind, 500)) for kind in ("prose", *evidence.tools)}
    low, high = min(counts, key=counts.__getitem__), max(counts, key=counts.__getitem__)
    got = f"{counts[low]} tokens ({low}) to {counts[high]} ({high})"
    return depends(got, "the kind of content: the same 500 characters differ by more than a factor of two")


@claim(
    "001",
    "Problem",
    "input tokens 2K, 12K, 28K, 53K at turns 1, 3, 5, 7",
    "documented-53k, keep-all: counted tokens",
)
def growth(evidence: Evidence) -> Finding:
    sent = [row.tokens_sent for row in evidence.calls(CASE, "keep-all")]
    return unmeasurable(
        f"its log isn't published; the scenario is made to have {', '.join(f'{sent[n]:,}' for n in (0, 2, 4, 6))}"
    )


@claim(
    "001",
    "Problem",
    "the model rarely needs old tool results verbatim",
    "recorded transcripts: calls that use an identifier at least one call old, found nowhere else",
    recorded=True,
)
def rarely_needed(evidence: Evidence) -> Finding:
    from ctxsim.simulator.references.finding import prepare

    needed = [
        any(need.detector == "strict" and need.age >= 1 for need in needs)
        for transcript in evidence.recorded
        for needs in prepare(transcript).needs_by_call
    ]
    share = sum(needed) / len(needed)
    return judged(f"{share:.0%} of {len(needed):,} calls (three quarters of all uses are seen)", share < 0.25)


@claim(
    "001",
    "Approaches, 2",
    "the cost of summary calls could offset the savings",
    "documented-53k and fifty-turns: dollars of summary against keep-all",
)
def summaries_offset(evidence: Evidence) -> Finding:
    short = evidence.summary(CASE, "summary:at=0.2,keep_last=4").cost_vs_keep_all or 0
    long = evidence.summary(LONG, "summary").cost_vs_keep_all or 0
    return depends(
        f"{short:.0%} of keep-all in 7 calls, {long:.0%} in 300", "how long the conversation goes on after it"
    )


@claim(
    "001",
    "Approaches, 3",
    "long conversations see a gradual, targeted reduction",
    "documented-53k and fifty-turns, token-budget: share of the request that a compaction removes",
)
def gradual(evidence: Evidence) -> Finding:
    shares = [
        [row.tokens_removed / row.tokens_sent for row in evidence.calls(name, "token-budget") if row.compactions]
        for name in (CASE, LONG)
    ]
    long = sorted(shares[1])
    got = (
        f"the first compaction removes {shares[0][0]:.0%} and {shares[1][0]:.0%} of the request at once; of "
        f"{len(long)} in {LONG} the median removes {long[len(long) // 2]:.1%}"
    )
    return depends(got, "which compaction: the first cuts all old results at once, those after it one or two")


@claim(
    "001",
    "Diagnostics",
    "“Compacted 3 old tool result(s) — input tokens (45,231) exceeded budget (40,000)”",
    "documented-53k, token-budget: what it says, and after which call",
)
def diagnostics(evidence: Evidence) -> Finding:
    said = [(one.call, text) for one in evidence.sent(CASE, "token-budget") for text in one.said]
    call, text = said[0]
    return depends(
        f"after call {call}: {text}", "the scenario, whose sizes are chosen so; 3 old results follow from them"
    )


@claim(
    "001",
    "Trigger condition",
    "the check after each call keeps the next request under the budget",
    "fifty-turns, token-budget: calls over 40,000",
)
def acts_late(evidence: Evidence) -> Finding:
    rows = evidence.calls(LONG, "token-budget")
    over = [row.tokens_sent for row in rows if row.tokens_sent > 40_000]
    got = f"{len(over)} of {len(rows)} requests are over it, the largest {max(over):,}" if over else "none is over it"
    return judged(got, not over)
