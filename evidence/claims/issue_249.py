"""Claims of document 002 (issue 249): characters against tokens, naive cuts, round summaries."""

from __future__ import annotations

import json

from ctxsim.policies.char_budget import cut
from ctxsim.policies.json_aware import truncate
from evidence.claims.claim import Finding, claim, depends, judged
from evidence.claims.evidence import Evidence, first_failure

TWENTY = "twenty-iterations"
TOGETHER = "json-aware+round-summary+token-approx-budget"


def _valid(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _documents(evidence: Evidence) -> list[str]:
    """Return invented JSON results: lists of records, from 5,000 to 100,000 characters."""
    found = []
    for chars in range(5_000, 105_000, 5_000):
        records = evidence.sample("http_get", chars).rsplit("},", 1)[0] + "}"
        found.append(f"[{records}]")
    return found


@claim(
    "002",
    "Problems, 1",
    "180K characters are 45K or 90K tokens, depending on content",
    "tokens of 180,000 characters of prose and of each kind of invented tool output",
)
def characters_are_not_tokens(evidence: Evidence) -> Finding:
    counts = {kind: evidence.count(evidence.sample(kind, 180_000)) for kind in ("prose", *evidence.tools)}
    low, high = min(counts, key=counts.__getitem__), max(counts, key=counts.__getitem__)
    got = f"{counts[low]:,} ({low}) to {counts[high]:,} ({high})"
    return judged(got, counts[high] >= 1.8 * counts[low])


@claim(
    "002",
    "Problems, 2",
    "slice(0, 4000) can cut JSON mid-object",
    "invented JSON results over 4,000 characters: how many are valid after the cut, and by json-aware",
)
def naive_cut(evidence: Evidence) -> Finding:
    texts = _documents(evidence)
    naive = sum(_valid(cut(text, 4_000)) for text in texts)
    aware = sum(_valid(truncate(text, 4_000)) for text in texts)
    return judged(
        f"{naive} of {len(texts)} are valid after the cut, {aware} by json-aware", naive < len(texts) == aware
    )


@claim(
    "002",
    "Problems, 4",
    "a fixed budget doesn't adapt to the model's window",
    "twenty-iterations (window 32,768) and many-calls (128,000), char-budget: refused calls, largest request",
)
def fixed_budget(evidence: Evidence) -> Finding:
    small, large = (evidence.summary(name, "char-budget") for name in (TWENTY, "many-calls"))
    failed = small.calls_until_first_failure
    got = (
        f"32,768: {'passes' if failed is None else f'call {failed + 1} refused'}; 128,000: uses at most "
        f"{large.tokens_peak / 128_000:.0%} of it"
    )
    return judged(got, failed is not None)


@claim(
    "002",
    "Phase 1",
    "about 4 characters per token for English, about 3 for code and JSON",
    "characters per token of 50,000 characters of prose, code and JSON, invented",
)
def characters_per_token(evidence: Evidence) -> Finding:
    ratios = {
        name: 50_000 / evidence.count(evidence.sample(kind, 50_000))
        for name, kind in (("prose", "prose"), ("code", "read_file"), ("JSON", "http_get"))
    }
    got = ", ".join(f"{name} {ratio:.1f}" for name, ratio in ratios.items())
    return depends(got, "the kind of content and the tokenizer: docs/estimates.md has both on recordings")


@claim(
    "002",
    "Phase 1",
    "ceil(length / 3) is intentionally conservative (overestimates)",
    "keep-all by chars:ratio=3 on five scenarios, and each kind of output: what is under-estimated",
)
def conservative(evidence: Evidence) -> Finding:
    shares = {}
    for name in ("documented-53k", "fifty-turns", "text-only", "small-results", "many-calls"):
        rows = evidence.calls(name, "keep-all:estimator=chars:ratio=3,unit=utf16")
        shares[name] = sum(row.tokens_estimated < row.tokens_sent for row in rows) / len(rows)
    worst = max(shares, key=shares.__getitem__)
    dense = [kind for kind in evidence.tools if evidence.count(evidence.sample(kind, 3_000)) > 1_000]
    got = f"{shares[worst]:.0%} of requests in {worst}, the worst; of texts alone: {', '.join(dense) or 'no kind'}"
    return depends(got, "content: identifiers, digits and base64 have fewer than 3 characters per token")


@claim(
    "002",
    "Phase 1",
    "a token budget of 32,000 keeps the conversation under 32,000",
    f"{TWENTY}, token-approx-budget: largest request",
)
def budget_holds(evidence: Evidence) -> Finding:
    row = evidence.summary(TWENTY, "token-approx-budget")
    got = f"{row.tokens_peak:,} tokens at most"
    if row.tokens_peak <= 32_000:
        return judged(got, True)
    return depends(got, "the last 10 tool results, which it never drops, and one turn, whose start it never passes")


@claim(
    "002",
    "Acceptance",
    "long sessions (20+ iterations) don't overflow the window",
    f"{TWENTY}: 30 iterations against 32,768 tokens, each phase alone and all together",
)
def twenty_iterations(evidence: Evidence) -> Finding:
    labels = ("char-budget", "token-approx-budget", "json-aware", "round-summary", TOGETHER)
    failed = {label: first_failure(evidence.calls(TWENTY, label)) for label in labels}
    got = ", ".join(f"{label}: {f'call {row.call} refused' if row else 'passes'}" for label, row in failed.items())
    if failed[TOGETHER]:
        return judged(got, False)
    return depends(got, "having all three phases: a budget alone doesn't bound the last results")


@claim(
    "002",
    "Acceptance",
    "arrays show first and last element with the number omitted; JSON stays whole",
    "invented JSON results cut to 4,000 characters by json-aware: ends kept, count right",
)
def arrays_keep_ends(evidence: Evidence) -> Finding:
    right = 0
    texts = _documents(evidence)
    for text in texts:
        before, after = json.loads(text), json.loads(truncate(text, 4_000))
        note = f"({len(before) - 2} items omitted)"
        right += after[0] == before[0] and after[-1] == before[-1] and note in after[1]
    return judged(f"{right} of {len(texts)}", right == len(texts))


@claim(
    "002",
    "Phase 3",
    "summarising every 5 tool iterations keeps the context lean",
    f"{TWENTY} and many-calls, round-summary: mean request against keep-all",
)
def rounds_stay_lean(evidence: Evidence) -> Finding:
    shares = [
        row.tokens_sum / row.tokens_full_sum
        for row in (evidence.summary(n, "round-summary") for n in (TWENTY, "many-calls"))
    ]
    return judged(" and ".join(f"{share:.0%}" for share in shares) + " of keep-all's tokens", max(shares) < 0.5)


@claim(
    "002",
    "Phase 3",
    "the summary can stand for the individual results",
    f"{TWENTY}, round-summary: references kept if summaries keep nothing, and if they keep what is needed",
)
def summary_stands(evidence: Evidence) -> Finding:
    row = evidence.summary(TWENTY, "round-summary")
    got = f"{row.survival_low or 0:.0%} to {row.survival_high or 0:.0%} of old references"
    return depends(got, "what the model writes: 500 tokens have room for all of them")


@claim(
    "002",
    "Acceptance",
    "no regression for short conversations that fit",
    "documented-53k's first two calls and small-results' first 20 under all phases together: edits",
)
def short_unaffected(evidence: Evidence) -> Finding:
    label = "json-aware+token-approx-budget"
    edits = sum(row.items_edited + row.items_dropped for row in evidence.calls("small-results", label)[:20])
    rounds = sum(row.items_dropped for row in evidence.calls("small-results", "round-summary")[:20])
    if edits == 0 and rounds:
        return depends(
            f"{edits} edits by budget and cuts in 20 calls; {rounds} items replaced by round summaries",
            "the phase: round summaries come by count, whatever the size",
        )
    return judged(f"{edits} edits in 20 calls", edits == 0)
