"""Claims of document 004: broken token tracking, and three triggers."""

from __future__ import annotations

from ctxsim.results.columns import CallRow
from evidence.claims.claim import Finding, claim, depends, judged
from evidence.claims.evidence import UNLIMITED, Evidence, first_failure

TRACKED = "keep-all:estimator=output-only"

FOUR = ("text-only", "small-results", "large-results", "many-calls")
"""The document's four scenarios."""


def under(rows: list[CallRow]) -> float:
    """Return the share by which the largest request is under-estimated."""
    last = max(rows, key=lambda row: row.tokens_sent)
    return 1 - last.tokens_estimated / last.tokens_sent


def outcome(row: CallRow | None) -> str:
    """Return a run's outcome in words, by its first refused call."""
    return f"call {row.call} refused" if row else "passes"


@claim(
    "004",
    "Real-world example",
    "150 tokens tracked where about 25,200 are sent",
    "100 KB of each kind of invented file, read once",
)
def worked_example(evidence: Evidence) -> Finding:
    counts = [evidence.count(evidence.sample(kind, 100 * 1024)) for kind in ("prose", *evidence.tools)]
    return depends(
        f"100 KB are {min(counts):,} to {max(counts):,} tokens, tracked as 0", "the content: prose to digits"
    )


@claim(
    "004",
    "Real-world example",
    "tracked 600, in reality 100,000 and more",
    "large-results, keep-all: tracked and counted when 100,000 is passed",
)
def accumulated(evidence: Evidence) -> Finding:
    row = next(row for row in evidence.calls("large-results", TRACKED, UNLIMITED) if row.tokens_sent > 100_000)
    return judged(
        f"{row.tokens_estimated:,} tracked, {row.tokens_sent:,} sent", row.tokens_estimated < 0.1 * row.tokens_sent
    )


@claim(
    "004",
    "Priority 1 example",
    "three large files: 450 tokens tracked, 75,000 sent",
    "large-results, keep-all by output-only: after three results, and where 75,000 are passed",
)
def three_files(evidence: Evidence) -> Finding:
    # Each call reads one file, so the fourth request is the first with three.
    rows = evidence.calls("large-results", TRACKED, UNLIMITED)
    three, passed = rows[3], next(row for row in rows if row.tokens_sent >= 75_000)
    got = (
        f"{three.tokens_estimated:,} tracked, {three.tokens_sent:,} sent after three; 75,000 are passed after "
        f"{passed.call - 1} results with {passed.tokens_estimated:,} tracked"
    )
    return depends(got, "the size of the files, which isn't stated; that most is missed holds")


@claim(
    "004",
    "Scenario 1",
    "text only: tracking is accurate",
    "text-only, keep-all by output-only: largest request",
)
def text_only(evidence: Evidence) -> Finding:
    share = under(evidence.calls("text-only", TRACKED, UNLIMITED))
    return judged(f"under-counts {share:.0%}: user texts and the head count 0 too", abs(share) < 0.02)


@claim(
    "004",
    "Scenario 1",
    "text only: reduction triggers as expected",
    "text-only, three-triggers:only=percentage: where it fires against the tokenizer",
)
def text_only_triggers(evidence: Evidence) -> Finding:
    row = evidence.summary("text-only", "three-triggers:only=percentage")
    late = row.trigger_displacement_calls
    got = "never fires" if late is None else f"fires {late:+d} calls from where the tokenizer would, of {row.calls}"
    return judged(got, late is not None and abs(late) <= 2)


@claim(
    "004",
    "Scenario 2",
    "small results (under 1 KB): under-counts by 20 to 30 %",
    "small-results, keep-all by output-only: largest request",
)
def small_results(evidence: Evidence) -> Finding:
    share = under(evidence.calls("small-results", TRACKED, UNLIMITED))
    return judged(f"{share:.0%}", 0.2 <= share <= 0.3)


@claim(
    "004",
    "Scenario 2",
    "small results: the message count prevents overflow",
    "small-results, three-triggers and its token triggers alone",
)
def small_fallback(evidence: Evidence) -> Finding:
    whole = first_failure(evidence.calls("small-results", "three-triggers"))
    alone = first_failure(evidence.calls("small-results", "three-triggers:only=percentage", 112_000))
    got = f"all three: {outcome(whole)}; percentage alone (window 112,000): {outcome(alone)}"
    return judged(got, whole is None)


@claim(
    "004",
    "Scenario 3",
    "large results (10 KB and more): under-counts by 90 to 99 %",
    "large-results, keep-all by output-only: largest request",
)
def large_results(evidence: Evidence) -> Finding:
    share = under(evidence.calls("large-results", TRACKED, UNLIMITED))
    return judged(f"{share:.0%}", 0.9 <= share <= 0.99)


@claim(
    "004",
    "Scenario 3; Priority 1",
    "the percentage trigger doesn't fire before the overflow",
    "large-results, three-triggers:only=percentage",
)
def percentage_broken(evidence: Evidence) -> Finding:
    rows = evidence.calls("large-results", "three-triggers:only=percentage")
    failed, fired = first_failure(rows), sum(row.compactions for row in rows)
    return judged(f"{outcome(failed)}, fired {fired} times in {len(rows)} calls", failed is not None and not fired)


@claim(
    "004",
    "Priority 2",
    "the absolute budget (90,000 + 1,000) is broken the same way",
    "large-results, three-triggers:only=tokens",
)
def tokens_broken(evidence: Evidence) -> Finding:
    rows = evidence.calls("large-results", "three-triggers:only=tokens")
    failed, fired = first_failure(rows), sum(row.compactions for row in rows)
    return judged(f"{outcome(failed)}, fired {fired} times", failed is not None and not fired)


@claim(
    "004",
    "Priority 3; Scenario 3",
    "the message count works and eventually saves it",
    "three-triggers:only=messages on small, large and many results",
)
def message_count(evidence: Evidence) -> Finding:
    found = {
        n: first_failure(evidence.calls(n, "three-triggers:only=messages"))
        for n in ("small-results", "many-calls", "large-results")
    }
    got = ", ".join(f"{name}: {outcome(row)}" for name, row in found.items())
    if any(found.values()) and not all(found.values()):
        return depends(got, "the size of results: 20 messages with 10 large results are over a window of 128,000")
    return judged(got, not any(found.values()))


@claim(
    "004",
    "Scenario 4",
    "many calls: tracking becomes increasingly inaccurate",
    "many-calls, keep-all by output-only: tokens missed after 20 calls and after 150",
)
def many_calls(evidence: Evidence) -> Finding:
    rows = evidence.calls("many-calls", TRACKED, UNLIMITED)
    missed = [rows[n].tokens_sent - rows[n].tokens_estimated for n in (19, 149)]
    shares = [missed[n] / rows[at].tokens_sent for n, at in enumerate((19, 149))]
    return depends(
        f"{missed[0]:,} tokens ({shares[0]:.0%}) after 20 calls, {missed[1]:,} ({shares[1]:.0%}) after 150",
        "what is meant: the tokens missed grow without end, their share doesn't",
    )


@claim(
    "004",
    "Priority 1 example",
    "triggers at 89,600 of 128,000 and keeps 30 %",
    "many-calls, three-triggers:only=percentage by the tokenizer",
)
def seventy_percent(evidence: Evidence) -> Finding:
    label = "three-triggers:only=percentage,estimator=tokenizer"
    row = next(row for row in evidence.calls("many-calls", label) if row.compactions)
    before = row.tokens_sent + row.tokens_removed
    got = f"fires at {before:,}, leaves {row.tokens_sent:,} (30 % is 38,400; the head isn't counted)"
    return judged(got, 89_600 <= before < 100_000 and row.tokens_sent <= 0.3 * 128_000 + 3_000)


@claim(
    "004",
    "Priority 2 defaults",
    "90,000 + 1,000 reduces to 40,000",
    "many-calls, three-triggers:only=tokens by the tokenizer",
)
def absolute(evidence: Evidence) -> Finding:
    row = next(
        row for row in evidence.calls("many-calls", "three-triggers:only=tokens,estimator=tokenizer") if row.compactions
    )
    got = f"fires at {row.tokens_sent + row.tokens_removed:,}, leaves {row.tokens_sent:,}"
    return judged(got, row.tokens_sent <= 43_000 and row.tokens_sent + row.tokens_removed > 91_000)


@claim(
    "004",
    "Priority 3 defaults",
    "more than 20 + 5 messages reduce to 20",
    "many-calls, three-triggers:only=messages: messages before and after",
)
def message_defaults(evidence: Evidence) -> Finding:
    sent = evidence.sent("many-calls", "three-triggers:only=messages")
    sizes = [len(one.view.messages()) for one in sent]
    after = [len(one.view.messages()) for one in sent if one.compactions]
    return judged(
        f"at most {max(sizes)} messages, {min(after)} to {max(after)} after a reduction",
        max(sizes) <= 25 and min(after) >= 20,
    )


@claim(
    "004",
    "Cache-aware reduction",
    "what a summary replaced is never summarised again",
    "many-calls, three-triggers summarizing: recorded items in two summaries",
)
def never_again(evidence: Evidence) -> Finding:
    sent = evidence.sent("many-calls", "three-triggers:reducer=summarizing,estimator=tool-chars")
    made = [edit.after for one in sent for _, edit in one.edits if edit.before is None and edit.after]
    places = [place for item in made for place in item.sources]
    twice = len(places) - len(set(places))
    return judged(f"{twice} of {len(places)} items, in {len(made)} summaries", twice == 0 and len(made) > 1)
