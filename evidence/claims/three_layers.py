"""Claims of document 003: the problem, and its layers of truncation and tracking."""

from __future__ import annotations

from ctxsim.cli.tracker import TokenTracker
from ctxsim.policies.head_tail import head_tail
from ctxsim.simulator.measure.columns import edits_of, event_rows
from evidence.claims.claim import Finding, claim, depends, judged
from evidence.claims.evidence import Evidence, first_failure

LONG = "fifty-turns"
MANAGER = "three-layer"
MILLION = 1_000_000


@claim(
    "003",
    "The problem",
    "fails after about 20 turns",
    "fifty-turns (window 200,000) and a window of 1,000,000, keep-all",
)
def fails_after_twenty(evidence: Evidence) -> Finding:
    small = first_failure(evidence.calls(LONG, "keep-all"))
    large = first_failure(evidence.calls(LONG, "keep-all", MILLION))
    small_turn = evidence.turn(LONG, small.call) if small else 0
    got = f"200,000: turn {small_turn}; 1,000,000: {f'turn {evidence.turn(LONG, large.call)}' if large else 'never'}"
    return depends(got, "the window and the size of results: with its own 1M and these sizes not in 50 turns")


@claim(
    "003",
    "The problem",
    "a 10 KiB shell output is about 2.5 % of the model's context",
    "10,240 bytes of an invented log",
)
def ten_kib(evidence: Evidence) -> Finding:
    tokens = evidence.count(evidence.sample("read_log", 10_240))
    shares = ", ".join(f"{tokens / window:.2%} of {window:,}" for window in (100_000, 200_000, MILLION))
    return depends(f"{tokens:,} tokens: {shares}", "the window: far less of the 1M that the same table names")


@claim(
    "003",
    "The problem",
    "45K of 1M used leaves about 450 turns",
    "fifty-turns, keep-all, window 1,000,000, when 45K is reached",
)
def calls_left(evidence: Evidence) -> Finding:
    tracker = TokenTracker(MILLION)
    rows = evidence.calls(LONG, "keep-all", MILLION)
    for row in rows:
        tracker.record(row.tokens_sent, row.tokens_output)
        if row.tokens_sent >= 45_000:
            break
    said = tracker.calls_left or 0
    later = (rows[-1].tokens_sent - tracker.used) / (len(rows) - len(tracker.calls))
    real = tracker.available / later
    got = f"at {tracker.used:,}: ~{said} calls said; by the growth that followed, {real:.0f}"
    return depends(got, "growth: 450 needs 2.1K a turn, and an average of few calls is off")


@claim(
    "003",
    "Layer 1",
    "10,000 lines or 500 KiB become about 1 KiB",
    "500 KiB in 10,000 lines through head-tail",
)
def about_one_kib(evidence: Evidence) -> Finding:
    text = "\n".join(f"{n:06} {'x' * 43}" for n in range(10_000))
    cut = head_tail(text, 128, 10_240)
    return judged(f"{len(text) / 1024:.0f} KiB become {len(cut.encode()):,} bytes", len(cut.encode()) < 2_048)


@claim(
    "003",
    "Layer 1",
    "the marker of that says 9,744 of 10,000 lines",
    "the same; and with shorter lines",
)
def marker_lines(evidence: Evidence) -> Finding:
    def omitted(width: int) -> str:
        cut = head_tail("\n".join(f"{n:06} {'x' * width}" for n in range(10_000)), 128, 10_240)
        return next(line for line in cut.split("\n") if line.startswith("[...")).split(" ")[2]

    long, short = omitted(43), omitted(20)
    return depends(
        f"{long} with lines of 50 bytes, {short} with 27", "the length of lines: 256 of 40 bytes fill 10 KiB"
    )


@claim(
    "003",
    "Layer 1",
    "1,000 lines become fewer than 260, with first line, last line and marker",
    "1,000 lines of 10 bytes",
)
def fewer_than_260(evidence: Evidence) -> Finding:
    rows = [f"line {n:05}" for n in range(1_000)]
    cut = head_tail("\n".join(rows), 128, 10_240).split("\n")
    fine = len(cut) < 260 and cut[0] == rows[0] and cut[-1] == rows[-1] and any("omitted" in row for row in cut)
    return judged(f"{len(cut)} lines", fine)


@claim(
    "003",
    "Layer 1",
    "head and tail preserve the critical start and end",
    "needles: planted facts kept, by place in the result",
)
def start_and_end(evidence: Evidence) -> Finding:
    rows = evidence.measured("needles", "head-tail:lines=20,bytes=1500").losses.needles
    kept = {
        depth: sum(row.kept for row in rows if row.depth == depth and row.kind != "rule")
        / sum(row.depth == depth and row.kind != "rule" for row in rows)
        for depth in ("head", "middle", "tail")
    }
    got = ", ".join(f"{depth} {share:.0%}" for depth, share in kept.items())
    return judged(f"{got} (1,500 bytes of 3,000)", kept["head"] == kept["tail"] == 1)


@claim(
    "003",
    "Layer 1",
    "no silent data loss: every truncation is logged",
    "fifty-turns, three-layer: cut results against log lines",
)
def nothing_silent(evidence: Evidence) -> Finding:
    events = evidence.measured(LONG, MANAGER).events
    cut = {event.item for event in events if event.moment == "on_tool_result"}
    dropped = [event for event in events if event.moment == "before_call"]
    return judged(f"{len(cut)} results cut, {len(dropped)} compaction edits, all in the audit trail", bool(cut))


@claim(
    "003",
    "Layer 2",
    "estimated tokens are within ±10 % of the real ones",
    "keep-all by chars/4 on five scenarios: requests within 10 %",
)
def within_ten(evidence: Evidence) -> Finding:
    shares = {}
    for name in ("documented-53k", LONG, "text-only", "small-results", "many-calls"):
        rows = evidence.calls(name, "keep-all")
        close = [abs(row.tokens_estimated - row.tokens_sent) <= 0.1 * row.tokens_sent for row in rows]
        shares[name] = sum(close) / len(close)
    got = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
    return judged(f"requests within 10 %: {got}", min(shares.values()) > 0.9)


@claim(
    "003",
    "Layer 2",
    "token accuracy ±10 % on recorded transcripts",
    "recorded transcripts: requests that chars/4 has within 10 %",
    recorded=True,
)
def within_ten_recorded(evidence: Evidence) -> Finding:
    from ctxsim.counting.estimators import open_estimator
    from ctxsim.counting.tokenizers import open_tokenizer
    from ctxsim.counting.tokenizers.counter import Counter

    estimator = open_estimator("chars")
    close = total = 0
    for transcript in evidence.recorded:
        counter = Counter(open_tokenizer())
        counter.learn_transcript(transcript)
        guess, real, at = estimator.head(transcript.head), counter.head(transcript.head), 0
        for call in transcript.calls:
            guess += sum(map(estimator.item, transcript.items[at : call.start]))
            real += sum(map(counter.item, transcript.items[at : call.start]))
            at = call.start
            total += 1
            close += abs(guess - real) <= 0.1 * real
    return judged(f"{close / total:.0%} of {total:,} requests", close / total > 0.9)


@claim(
    "003",
    "Layer 2",
    "compaction is asked for at exactly 70 %",
    "fifty-turns, three-layer: estimate and count of the request that triggers",
)
def at_seventy(evidence: Evidence) -> Finding:
    sent = evidence.sent(LONG, MANAGER)
    said = next(one for one in sent if one.summary_calls)
    window = evidence.opened(LONG)[1].window
    events = list(event_rows(said, "", "", evidence.opened(LONG)[2]))
    before = said.tokens_sent + edits_of(events)[2]
    return depends(
        f"call {said.call}: {before / window:.1%} of the window by the tokenizer when its estimate said 70 %",
        "the estimator: the trigger is exact in estimated tokens only",
    )


@claim(
    "003",
    "Layer 2",
    "a hard stop at 95 % of the window",
    "fifty-turns: three-layer, and with compaction out of the way (at=1)",
)
def hard_stop(evidence: Evidence) -> Finding:
    with_it = first_failure(evidence.calls(LONG, MANAGER))
    without = {
        name: first_failure(evidence.calls(LONG, f"{MANAGER}:at=1{estimator}"))
        for name, estimator in (("chars/4", ""), ("the tokenizer", ",estimator=tokenizer"))
    }
    got = f"with compaction {with_it.status if with_it else 'never reached'}; without, "
    got += ", ".join(f"by {name}: {row.status if row else 'ok'}" for name, row in without.items())
    return depends(got, "the estimator: what under-estimates by more than 5 % overflows before it stops")


@claim(
    "003",
    "Configuration",
    "10 % of the window reserved for output",
    "fifty-turns, keep-all and three-layer, 20,000 of 200,000 reserved: refused calls, largest response",
)
def reserved(evidence: Evidence) -> Finding:
    whole, kept = evidence.calls(LONG, "keep-all"), evidence.calls(LONG, MANAGER)
    longest = max(row.tokens_output for row in whole)
    room = 200_000 - max(row.tokens_sent for row in kept)
    # The scenario's own reserve is added to the window.
    own = evidence.opened(LONG)[1].reserved_output
    first, early = (first_failure(evidence.calls(LONG, "keep-all", size + own)) for size in (200_000, 180_000))
    told = " and ".join(f"call {row.call}" if row else "never" for row in (first, early))
    got = (
        f"the longest response is {longest:,} tokens; keep-all is refused at {told} without and with the reserve; "
        f"under three-layer {room:,} are free at worst"
    )
    return depends(
        got, "whether anything compacts earlier: at 70 % the reserve is never used; and how long answers are"
    )
