"""Claims of document 004: the options to mend its tracking, and comparisons with other agents."""

from __future__ import annotations

from evidence.claims.claim import Finding, claim, depends, judged, unmeasurable
from evidence.claims.evidence import UNLIMITED, Evidence, first_failure
from evidence.claims.three_triggers import FOUR, TRACKED, outcome


@claim(
    "004",
    "Option A",
    "characters / 3.5 for tool results is accurate to ±20 %",
    "keep-all by tool-chars on the four scenarios: requests within 20 %",
)
def option_a(evidence: Evidence) -> Finding:
    shares = {}
    for name in ("text-only", "small-results", "large-results", "many-calls"):
        rows = evidence.calls(name, "keep-all:estimator=tool-chars", UNLIMITED)
        close = [abs(row.tokens_estimated - row.tokens_sent) <= 0.2 * row.tokens_sent for row in rows]
        shares[name] = sum(close) / len(close)
    got = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
    return depends(
        f"requests within 20 %: {got}", "how much of the request is tool results: user texts and the head still count 0"
    )


@claim(
    "004",
    "Option A",
    "fixes priorities 1 and 2",
    "large-results and many-calls, three-triggers:only=percentage by tool-chars",
)
def option_a_fixes(evidence: Evidence) -> Finding:
    label = "three-triggers:only=percentage,estimator=tool-chars"
    found = {name: first_failure(evidence.calls(name, label)) for name in ("large-results", "many-calls")}
    return judged(", ".join(f"{name}: {outcome(row)}" for name, row in found.items()), not any(found.values()))


@claim(
    "004",
    "Option A; Phase 1",
    "estimating results fixes 80 % of the problem",
    "the four scenarios: tokens of the last request that output-only misses, and what tool-chars misses of them",
)
def fixes_most(evidence: Evidence) -> Finding:
    left = {}
    for name in FOUR:
        missed = [
            abs(row.tokens_sent - row.tokens_estimated)
            for label in (TRACKED, "keep-all:estimator=tool-chars")
            for row in evidence.calls(name, label, UNLIMITED)[-1:]
        ]
        left[name] = 1 - missed[1] / missed[0]
    got = ", ".join(f"{name} {share:.0%}" for name, share in left.items())
    return depends(f"of what was missed is now counted: {got}", "the share of tool results in it")


@claim(
    "004",
    "Option A",
    "3.5 triggers earlier than 4",
    "many-calls, three-triggers:only=percentage: call of the first reduction by 3.5 and by 4",
)
def earlier(evidence: Evidence) -> Finding:
    fired = []
    for ratio in ("3.5", "4"):
        rows = evidence.calls(
            "many-calls", f"three-triggers:only=percentage,estimator=tool-chars:ratio={ratio}", UNLIMITED
        )
        fired.append(next((row.call for row in rows if row.compactions), 0))
    return judged(f"call {fired[0]} against call {fired[1]}", 0 < fired[0] < fired[1])


@claim(
    "004",
    "Option B; Codex",
    "trial and error makes more API calls",
    "large-results and many-calls, retry: requests per call",
)
def more_requests(evidence: Evidence) -> Finding:
    rows = [row for name in ("large-results", "many-calls") for row in evidence.calls(name, "retry")]
    extra = sum(row.attempts - 1 for row in rows)
    return judged(f"{extra} more requests in {len(rows)} calls", extra > 0)


@claim(
    "004",
    "Option B; Codex",
    "trial and error is always accurate",
    "large-results, retry: refused calls, how full the window then is; and with fewer repetitions than it took",
)
def always_accurate(evidence: Evidence) -> Finding:
    rows = evidence.calls("large-results", "retry")
    failed = [row for row in rows if row.status != "ok"]
    most = max(row.attempts for row in rows)
    first = next(row.call for row in rows if row.attempts > 1)
    full = [row.tokens_sent for row in rows if row.call >= first]
    filled = sum(full) / len(full) / 119_808
    few = first_failure(evidence.calls("large-results", f"retry:attempts={most - 2}"))
    got = (
        f"{len(failed)} refused in the end, by up to {most} requests a call, filling {filled:.0%} of what the window "
        f"takes; with {most - 2} repetitions {outcome(few)}"
    )
    return (
        depends(got, "how often it may ask again: one large result takes several removals")
        if few
        else judged(got, not failed)
    )


@claim(
    "004",
    "Option C",
    "actual usage may be 10 to 100 times what is tracked",
    "the four scenarios, keep-all by output-only: the last request against what is tracked",
)
def ten_to_hundred(evidence: Evidence) -> Finding:
    times = {}
    for name in FOUR:
        row = evidence.calls(name, TRACKED, UNLIMITED)[-1]
        times[name] = row.tokens_sent / row.tokens_estimated
    got = ", ".join(f"{name} {factor:.1f}" for name, factor in times.items())
    return depends(f"times: {got}", "the size of results: it holds for large ones")


@claim(
    "004",
    "Option C",
    "a conservative threshold (50 % instead of 70 %) helps while results aren't tracked",
    "the four scenarios, three-triggers:only=percentage at 0.7 and at 0.5: refused calls",
)
def lower_threshold(evidence: Evidence) -> Finding:
    found = {
        name: [
            outcome(first_failure(evidence.calls(name, f"three-triggers:only=percentage,at={at}"))) for at in (0.7, 0.5)
        ]
        for name in FOUR
    }
    got = "; ".join(f"{name}: {seven}, {five} at 50 %" for name, (seven, five) in found.items())
    mended = any(seven != "passes" and five == "passes" for seven, five in found.values())
    return judged(got, mended)


@claim(
    "004",
    "Option D",
    "message count first when tools are used: safe but not optimal",
    "the four scenarios, three-triggers:tools_by_messages=true",
)
def option_d(evidence: Evidence) -> Finding:
    label = "three-triggers:tools_by_messages=true"
    found = {}
    for name in ("text-only", "small-results", "large-results", "many-calls"):
        row = evidence.summary(name, label)
        failed = row.calls_until_first_failure
        kept = "-" if row.survival is None else f"{row.survival:.0%} kept"
        found[name] = f"{'passes' if failed is None else f'call {failed + 1} refused'}, {kept}"
    got = "; ".join(f"{name}: {text}" for name, text in found.items())
    return depends(got, "the size of results: not safe where 20 messages are over the window")


@claim(
    "004",
    "Comparison",
    "Gemini CLI's length / 4 is good enough to decide by",
    "large-results and many-calls, three-triggers:only=percentage by gemini",
)
def gemini(evidence: Evidence) -> Finding:
    found, latest = {}, 0
    for name in ("large-results", "many-calls"):
        row = evidence.summary(name, "three-triggers:only=percentage,estimator=gemini")
        late = row.trigger_displacement_calls or 0
        failed = row.calls_until_first_failure
        found[name] = f"{'passes' if failed is None else f'call {failed + 1} refused'}, {late:+d} calls"
        latest = max(latest, late)
    got = "; ".join(f"{name}: {text}" for name, text in found.items())
    return depends(got, f"the room above the threshold: it fires up to {latest} calls late")


@claim(
    "004",
    "Competition",
    "no other framework tracks tokens per iteration or has three triggers",
    "-",
)
def competition(evidence: Evidence) -> Finding:
    return unmeasurable("a claim about other programs' features, not about numbers")
