"""Every column of the summary, worked by hand on one conversation of four calls.

Its sizes, by o200k_base: a head of 2,007 (" a" 2,000 times, and 7 that no text shows), the task 3, and then

    ask 1: 2, FIRST: 317 | ask 2: 11, SECOND: 100 | ask 3: 2, THIRD: 50 | the answer: 23

so that keep-all sends 2,010, 2,329, 2,440 and 2,492: 9,271 in all. At four characters a token, rounded up item by item,
they are believed to be 1,009 (1,000 + 7 + 2), 1,176 (+ 2 + 165), 1,232 (+ 6 + 50) and 1,259 (+ 2 + 25).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from samples import basis_of, conversation, spec_of

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.policies import Policy, Spec, Stop, open_policy
from ctxsim.policies.policy import OWN_HEAD
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.results.columns import SummaryRow
from ctxsim.simulator.measure.measured import measure
from ctxsim.simulator.measure.summary import frontier_rows, summary_row
from ctxsim.simulator.provider import Provider, RateLimit
from ctxsim.simulator.provider.prices import Prices, expected_loss
from ctxsim.simulator.provider.summaries import PROMPT
from ctxsim.transcript import Transcript, Usage
from ctxsim.view import View

FIRST = "zebra_1000 req_0042 zebra_one quick brown foxes jumped high" + " a" * 300
SECOND = " b" * 100
THIRD = "zebra_7000" + " c" * 45
CUT = FIRST[:24] + "[truncated for context management]"
ANSWER = "zebra_1000 req_0042 zebra_one, quick brown foxes jumped high; zebra_7000"
"""Uses of FIRST a value (req_0042), a name (zebra_one) and four quotations of five words, two calls later; of THIRD one
at once. Call 2 had used zebra_1000 at once, so that here the agent repeats itself: carried."""

PRICES = Prices(input=1.0, output=5.0, cache_read=0.1, cache_write=1.25)
CACHED = Provider(cache="anthropic", breakpoints="automatic", prices=PRICES, pace_s=10, size="given")
PLAIN = Provider(prices=PRICES, pace_s=10)


def four_calls() -> Transcript:
    """Three calls have recorded usage, the first and the third a recorded cost."""
    assembly = Assembly("by hand")
    assembly.system.append(" a" * 2_000)
    assembly.user("Do it.")
    assembly.response([Part("tool_call", "{}", "read", "c1")], Usage(2_100, 2, cost_usd=0.003))
    assembly.result(FIRST, "c1")
    assembly.response([Part("tool_call", '{"q": "zebra_1000"}', "read", "c2")], Usage(2_400, 8))
    assembly.result(SECOND, "c2")
    assembly.response([Part("tool_call", "{}", "read", "c3")], Usage(2_500, 2, cost_usd=0.001))
    assembly.result(THIRD, "c3")
    assembly.response([Part("assistant", ANSWER)])
    made = assembly.transcript()
    return msgspec.structs.replace(made, head=msgspec.structs.replace(made.head, hidden=7))


@dataclass
class Clumsy(Policy):
    """Makes FIRST longer by one token at call 2, drops its call but not its result at call 3, gives up at call 4."""

    def start(self) -> None:
        self._call = 0

    def before_call(self, view: View) -> View | Stop:
        self._call += 1
        if self._call == 2:
            return view.rewrite({2: FIRST + " d"}, "longer")
        if self._call == 3:
            return view.drop([1], "torn")
        return Stop("enough") if self._call == 4 else view


LOSS = expected_loss("anthropic", 10)
assert LOSS is not None

ALL: dict[str, Any] = {
    # token-budget:budget=2420,retain=24 under a cache: after call 3 (2,440) FIRST is cut to 18 tokens, 299 fewer.
    "transcript": "by hand",
    "root": "by hand",
    "policy": "token-budget:budget=2420,retain=24",
    "calls": 4,
    # 2,010, 2,329, 2,440 and 2,492 - 299 = 2,193.
    "tokens_peak": 2_440,
    "tokens_sum": 8_972,
    "tokens_full_sum": 9_271,
    "tokens_output_sum": 2 + 8 + 2 + 23,
    "tokens_growth_per_call": (2_193 - 2_010) / 3,
    # Each call writes all that it doesn't read. Reads: 0, 2,010, 2,329, and of call 4 what stands before the cut and
    # ended a request: 2,010. In all 6,349 at 0.1; the other 8,972 - 6,349 = 2,623 at 1.25; 35 of output at 5.
    "cost_usd": 4_088.65e-6,
    "cost_read_usd": 634.9e-6,
    "cost_write_usd": 3_278.75e-6,
    "cost_uncached_usd": 0.0,
    "cost_output_usd": 175e-6,
    "cost_summary_usd": 0.0,
    # keep-all reads 2,010 + 2,329 + 2,440 = 6,779 (677.9) and writes 2,492 (3,115): with output 3,967.9.
    "cost_vs_keep_all": round(4_088.65 / 3_967.9, 6),
    "cache_hit_ratio": round(6_349 / 8_972, 6),
    # Of call 4's 2,193, 52 are new and 2,010 read: 131 are written again.
    "cache_breaks": 1,
    "tokens_rewritten": 131,
    # Once 131 at 1.25 - 0.1 = 150.65, against 299 reads at 0.1 = 29.9 for each later call.
    "payback_calls": 5.038,
    # A bucket of Q has given Q and Q / 60 for each second: call 4 asks at 30 s, so 8,972 <= 1.5 Q.
    "smallest_quota": 5_982,
    "calls_until_first_failure": None,
    "first_failure": None,
    "overflows": 0,
    "rate_limited": 0,
    "invalid_pairs": 0,
    "stopped": 0,
    "http_429": 0,
    "wait_s": 0.0,
    "compactions": 1,
    "no_progress_compactions": 0,
    "items_edited": 1,
    "items_dropped": 0,
    "tokens_removed": 299,
    "summary_calls": 0,
    "tokens_summary": 0,
    # At call 4: zebra_1000 and req_0042 stand in the 24 characters that are left, zebra_one and the quotations don't.
    "calls_with_aged_needs": 1,
    "survival": 1 / 2,
    "survival_values": 1 / 1,
    "survival_loose": 0 / 4,
    "survival_fresh": 1.0,
    "survival_carried": round(2 / 3, 6),
    "survival_low": None,
    "survival_high": None,
    "lost_truncated": 1 + 4,
    "lost_dropped": 0,
    "lost_summarised": 0,
    "results_edited": 1,
    "results_missed": 1,
    # zebra_one is FIRST's. Before call 4 ask 1 is made again: 2 of output at 5. Then call 4 has 2,193 + 2 + 317: what
    # the request before it wrote is read at 0.1, the 319 are written at 1.25.
    "refs_lost_for_good": 0,
    "calls_refetched": 1,
    "calls_refetched_changed": 0,
    "tokens_refetch": 2_512,
    "cost_refetch_usd": (10 + 219.3 + 398.75) * 1e-6,
    # Ask 3 is ask 1 again, but FIRST was whole then.
    "reissued_calls": 1,
    "reissued_after_edit": 0,
    # By any means: four heads of 2,007, and one token for one of the two references.
    "tokens_frontier": 4 * 2_007 + 1,
    # By removing results: both references are FIRST's, which three requests have. SECOND (2) and THIRD (1) may go.
    "tokens_frontier_results": 9_271 - 2 * 100 - 50,
    # What is new at 1, the cheapest way to send it first, and at 0.1 again; with 175 of output.
    # Any: 2,007 + 3 * 200.7 + 0.1. Results: 2,025 + 317 new; 2,010 + 2,012 + 2,023 and twice 317 again.
    "cost_frontier_usd": 2_784.2e-6,
    "cost_frontier_results_usd": 3_184.9e-6,
    "false_safe_calls": None,
    "false_alarm_calls": None,
    "trigger_displacement_calls": None,
    "trigger_displacement_tokens": None,
    # Call 4 is believed to be 1,259 - 165 + 15 = 1,109. The errors: -1001/2010, -1153/2329, -1208/2440, -1084/2193.
    "estimate_bias": -0.495614,
    "estimate_mape": 0.495614,
    "estimate_p95": round(1_001 / 2_010, 6),
    "size": "given",
    "tokens_hidden": 7,
    "tokens_factor": 1.0,
    # 2,100 + 2,400 + 2,500 recorded against 2,010 + 2,329 + 2,440.
    "calls_recorded": 3,
    "tokens_recorded_sum": 7_000,
    "tokens_full_recorded": 6_779,
    # keep-all's calls 1 and 3: 2,010 * 1.25 + 2 * 5 = 2,522.5; 2,329 * 0.1 + 111 * 1.25 + 10 = 381.65.
    "cost_recorded_usd": 0.004,
    "cost_full_recorded_usd": 2_904.15e-6,
    # What is missed of the 6,349 reads is written: 1.25 - 0.1 more.
    "cost_low_usd": 4_088.65e-6 + 6_349 * LOSS.low * 1.15e-6,
    "cost_high_usd": 4_088.65e-6 + 6_349 * LOSS.high * 1.15e-6,
}

SUMMARISED: dict[str, Any] = {
    # summary:at=0.3,keep_last=2,max_tokens=20, window 4,000: at call 3, believed over 1,200, task, ask 1 and FIRST
    # (322) become "Do it." (3). The request for it: a head of its own of 11, the 322, the prompt of 45.
    "summary_calls": 1,
    "tokens_summary": 11 + 322 + 45 + 3,
    "cost_summary_usd": (378 * 1 + 3 * 5) * 1e-6,
    # Without a cache all input is paid at 1. Requests: 2,010, 2,329, 2,440 - 319, 2,492 - 319.
    "cost_uncached_usd": 8_633e-6,
    "cache_hit_ratio": None,
    "cost_usd": (8_633 + 175 + 393) * 1e-6,
    "compactions": 1,
    "items_dropped": 3,
    "tokens_removed": 319,
    # The summary's 393 against 319 at 1 for each later call.
    "payback_calls": 1.232,
    "survival": 0.0,
    "survival_low": 0.0,
    # Both names fit into 20 tokens (4 and 3, and a line's end each).
    "survival_high": 1.0,
    "lost_summarised": 2 + 4,
    "lost_dropped": 0,
    # Over 1,200 by count from call 1 on (2,010), by estimate from call 3 on (2,440); after it 1,092 is believed again.
    "false_safe_calls": 3,
    "false_alarm_calls": 0,
    "trigger_displacement_calls": 2,
    "trigger_displacement_tokens": 430,
    # Requests and the summary's, at 0, 10, 20, 20 and 30 s: 9,011 <= 1.5 Q.
    "smallest_quota": 6_008,
}

DROPPED: dict[str, Any] = {
    # fifo:budget=2430 at 1.5 characters a token: believed 2,678 already at call 1. FIRST is gone with its call from
    # call 3 on (319), SECOND with its own (111) at call 4; the newest exchange is never dropped.
    "tokens_sum": 9_271 - 319 - 319 - 111,
    "items_dropped": 4,
    "compactions": 2,
    "tokens_removed": 430,
    "lost_dropped": 2 + 4,
    "results_edited": 2,
    "results_missed": 1,
    # Ask 3 repeats ask 1, whose result had gone for that request.
    "reissued_calls": 1,
    "reissued_after_edit": 1,
    # Due by count at call 3 (2,440), fired at call 1 (2,010). Call 4 has 2,173 before anything is dropped.
    "false_safe_calls": 0,
    "false_alarm_calls": 3,
    "trigger_displacement_calls": -2,
    "trigger_displacement_tokens": -430,
    # Before call 4 (2,062) FIRST is asked for again, 2 of output at 5. With it (319) the newest exchange is that one:
    # THIRD goes with its call (52).
    "calls_refetched": 1,
    "tokens_refetch": 2_062 + 319 - 52,
    "cost_refetch_usd": (2_329 + 10) * 1e-6,
}

OVERFLOWED: dict[str, Any] = {
    # A window of 2,400: calls 3 (2,440) and 4 are over it. Nothing is edited, so all that is used is there.
    "overflows": 2,
    "calls_until_first_failure": 2,
    "first_failure": "overflow",
    "survival_loose": 1.0,
}

LIMITED: dict[str, Any] = {
    # 2,400 a minute, 40 a second. Call 1 leaves 390, call 2 finds 790 at 10 s and waits for 1,539 more. Calls 3 and 4
    # are larger than the bucket. Each of these three was refused once.
    "rate_limited": 2,
    "http_429": 3,
    "wait_s": 1_539 / 40,
    "calls_until_first_failure": 2,
    "first_failure": "rate_limited",
}

CLUMSY: dict[str, Any] = {
    "no_progress_compactions": 1,
    "compactions": 2,
    "items_edited": 1,
    "items_dropped": 1,
    "tokens_removed": -1 + 2,
    "invalid_pairs": 1,
    "stopped": 1,
    "calls_until_first_failure": 2,
    "first_failure": "invalid_pairs",
}

CASES: list[tuple[str | type[Policy], Provider, dict[str, Any]]] = [
    ("token-budget:budget=2420,retain=24", CACHED, ALL),
    ("summary:at=0.3,keep_last=2,max_tokens=20", msgspec.structs.replace(PLAIN, window=4_000), SUMMARISED),
    ("fifo:budget=2430,estimator=chars:ratio=1.5", PLAIN, DROPPED),
    ("keep-all", msgspec.structs.replace(PLAIN, window=2_400), OVERFLOWED),
    ("keep-all", msgspec.structs.replace(PLAIN, rate_limit=RateLimit(2_400)), LIMITED),
    (Clumsy, PLAIN, CLUMSY),
]


def summary_of(policy: str | type[Policy], provider: Provider) -> dict[str, Any]:
    """The summary row by column."""
    basis = basis_of(four_calls(), provider)
    spec: Spec = open_policy(policy) if isinstance(policy, str) else spec_of(policy)
    return msgspec.structs.asdict(summary_row(basis, measure(basis, spec)))


def test_the_texts_are_as_large_as_they_are_said_to_be() -> None:
    texts = ["Do it.", "read", "{}", '{"q": "zebra_1000"}', FIRST, SECOND, THIRD, ANSWER, CUT, OWN_HEAD.system, PROMPT]
    assert open_tokenizer().count_many(texts) == [3, 1, 1, 10, 317, 100, 50, 23, 18, 11, 45]


@pytest.mark.parametrize(("policy", "provider", "expected"), CASES)
def test_by_hand(policy: str | type[Policy], provider: Provider, expected: dict[str, Any]) -> None:
    found = summary_of(policy, provider)
    for name, value in expected.items():
        assert found[name] == (pytest.approx(value, abs=2e-10) if isinstance(value, float) else value), name


def test_a_wait_is_told_to_the_microsecond() -> None:
    # 39 a second: call 1 leaves 330, call 2 finds 720 at 10 s and waits for 1,609 more, 41.25641025... s.
    limited = msgspec.structs.replace(PLAIN, rate_limit=RateLimit(2_340))
    assert measure(basis_of(four_calls(), limited), open_policy("keep-all")).rows[1].wait_s == 41.25641


def test_frontiers_by_hand() -> None:
    # As in ALL: without anything kept the heads, or the dialogue; with it one token each, or FIRST for three requests.
    rows = {(row.family, row.survival): row for row in frontier_rows(basis_of(four_calls(), CACHED))}
    assert rows["any", 0.0].tokens == 4 * 2_007 and rows["any", 1.0].tokens == 4 * 2_007 + 2
    assert rows["results", 0.0].tokens == 8_070 and rows["results", 1.0].tokens == 8_070 + 3 * 317
    # Of what is removed by any means nobody knows when: there is no schedule.
    assert {row.scheduled_usd is None for row in rows.values() if row.family == "any"} == {True}
    # A schedule of whole results has one, which pays for what it writes: no less than the bound.
    scheduled = rows["results", 1.0].scheduled_usd
    assert scheduled is not None and scheduled >= rows["results", 1.0].cost_usd


def test_what_the_cache_missed_is_added_up() -> None:
    # Call 3 should have read what calls 1 and 2 wrote: by keep-all's rows, so much; nothing was there.
    made = four_calls()
    read = measure(basis_of(made, CACHED), open_policy("keep-all")).rows[2].tokens_cache_read
    calls = tuple(msgspec.structs.replace(call, held=0 if n == 2 else None) for n, call in enumerate(made.calls))
    basis = basis_of(msgspec.structs.replace(made, calls=calls), CACHED)
    found = summary_row(basis, measure(basis, open_policy("keep-all")))
    assert found.tokens_missed == read > 0


def test_where_and_when_a_session_was_is_told() -> None:
    plain = conversation("one", "two")
    first, second, *rest = plain.calls
    # The first time and the first model that are known.
    calls = (first, msgspec.structs.replace(second, time_s=70.5, model="m"), *rest)
    told = ("started", "project", "model", "version", "compactions_recorded")

    def said(transcript: Transcript) -> list[object]:
        basis = basis_of(transcript)
        found = summary_row(basis, measure(basis, open_policy("keep-all")))
        return [getattr(found, name) for name in told]

    behind = msgspec.structs.replace(plain, calls=calls, project="/p", version="2.1", after_compaction=True)
    assert said(behind) == [70.5, "/p", "m", "2.1", 1]
    # A fork carries another session's history.
    assert said(msgspec.structs.replace(plain, carried=1))[-1] == 0
    assert said(plain) == [None, None, None, None, 0]


@dataclass
class Forgetful(Policy):
    """Keeps of the task its first name alone from call 2 on."""

    def before_call(self, view: View) -> View | Stop:
        return view.rewrite({0: "zebra_one"}, "cut") if len(view) > 1 else view


def test_what_the_user_said_by_hand() -> None:
    # Call 2 uses both names of the task, one call old, of which one is left: 1/2. Calls 3 and 4 use order_12, which was
    # said just before: fresh. Call 6 uses it once more; the newest answer with it was first sent with call 5: 1/1.
    assembly = Assembly("told")
    for text, answer in (
        ("zebra_one or zebra_two", "Which?"), ("both", "zebra_one zebra_two"), ("order_12", "order_12"),
        ("hm", "order_12"), ("so", "-"), ("again", "order_12"),
    ):  # fmt: skip
        assembly.user(text)
        assembly.response([Part("assistant", answer)])
    basis = basis_of(assembly.transcript(), PLAIN)
    measured = measure(basis, spec_of(Forgetful))
    counts = [(row.refs_needed_user, row.refs_kept_user) for row in measured.rows]
    assert counts == [(0, 0), (2, 1), (0, 0), (0, 0), (0, 0), (1, 1)]
    assert [row.refs_needed_strict for row in measured.rows] == [0] * 6
    assert summary_row(basis, measured).survival_user == (1 / 2 + 1 / 1) / 2


ELSEWHERE = {
    "provider", "chance_rate",  # of a run: tests/runs
    "tokens_missed", "survival_user",  # above
    "calls_unseen", "unseen_median", "unseen_p95",  # tests/simulator/measure/test_measured.py
    "started", "project", "model", "version", "compactions_recorded",  # above
    "refs_lost_for_good", "calls_refetched_changed",  # tests/simulator/measure/test_refetch.py
    "invalid_thinking", "tokens_thinking_dropped",  # tests/simulator/ledger/test_thinking.py
}  # fmt: skip


def test_every_column_is_worked_by_hand_and_isnt_zero_everywhere() -> None:
    assert set(ALL) | ELSEWHERE == set(SummaryRow.__struct_fields__)
    said = {name for _, _, expected in CASES for name, value in expected.items() if value not in (None, 0)}
    # A summary that keeps nothing keeps nothing: 0, where other policies have none.
    assert said | ELSEWHERE == set(SummaryRow.__struct_fields__) - {"survival_low"}
