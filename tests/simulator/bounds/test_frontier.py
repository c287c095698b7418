"""The frontier against brute force and by hand, and no policy beyond it."""

from __future__ import annotations

import random
from itertools import cycle, product
from typing import Any

import corpus
import msgspec
import pytest
from corpus import recorded
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import basis_of, chat, conversation, run
from strategies import conversations, transcripts

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies import open_policy
from ctxsim.recorded.as_sent import as_sent
from ctxsim.results.columns import SummaryRow
from ctxsim.simulator.bounds.lossless import scheduled
from ctxsim.simulator.bounds.programme import Goal, Keeping, Programme
from ctxsim.simulator.measure.measured import measure
from ctxsim.simulator.measure.summary import summary_row
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider import prices as genai_list
from ctxsim.transcript import Transcript

PRICES = genai_list.Prices(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75)


@st.composite
def wanting(draw: st.DrawFn) -> tuple[list[Keeping], list[Goal]]:
    """Sources that can be kept step by step, and goals that each need one of some sources."""
    goals = []
    wanted: dict[int, set[int]] = {}
    for _ in range(draw(st.integers(1, 5))):
        call = draw(st.integers(1, 6))
        sources = draw(st.sets(st.integers(0, 2), min_size=1, max_size=2))
        goals.append(Goal(call, draw(st.sampled_from([0.1, 0.2, 0.5])), tuple(sorted(sources))))
        for source in sources:
            wanted.setdefault(source, set()).add(call)
    total = sum(goal.weight for goal in goals)
    goals = [msgspec.structs.replace(goal, weight=goal.weight / total) for goal in goals]
    keepings = [
        Keeping(source, tuple((call, float(draw(st.integers(1, 50)))) for call in sorted(calls)))
        for source, calls in wanted.items()
    ]
    return keepings, goals


@settings(max_examples=150)
@given(wanting(), st.sampled_from([0.0, 0.3, 0.5, 0.75, 1.0]))
def test_the_frontier_equals_brute_force(given: tuple[list[Keeping], list[Goal]], survival: float) -> None:
    keepings, goals = given
    best = float("inf")
    for depth in product(*(range(len(one.steps) + 1) for one in keepings)):
        kept = {one.source: one.steps[n - 1][0] if n else 0 for one, n in zip(keepings, depth, strict=True)}
        price = sum(step[1] for one, n in zip(keepings, depth, strict=True) for step in one.steps[:n])
        reached = sum(goal.weight for goal in goals if any(kept[source] >= goal.call for source in goal.sources))
        if reached >= survival - 1e-9:
            best = min(best, price)
    point = Programme(keepings, goals).least(survival)
    assert point.found == pytest.approx(best, abs=1e-6) and point.bound == point.found
    # The relaxation that large programmes get: below the truth, and its rounded choice above it, and enough.
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("ctxsim.simulator.bounds.programme.FEW", 0)
        relaxed = Programme(keepings, goals).least(survival)
    assert relaxed.bound <= best + 1e-6 <= relaxed.found + 2e-6
    reached = sum(
        goal.weight for goal in goals if any(relaxed.kept.get(source, 0) >= goal.call for source in goal.sources)
    )
    assert reached >= survival - 1e-5


# no policy beyond it

ANY = (
    "keep-all", "drop-all", "oracle-lossless", "oracle-lossless:aim=dollars", "token-budget:budget=200,retain=10",
    "truncate-after-use:retain=5", "max-result-chars:chars=20", "max-messages:n=3", "head-tail:lines=2,bytes=30",
    "fifo:budget=100", "summary:at=0.001,keep_last=2", "mask:keep=1", "clear-tool-uses:trigger=50,keep=1", "retry",
)  # fmt: skip


WHOLE_RESULTS = ("mask:keep=1", "mask:keep=3", "clear-tool-uses:trigger=50,keep=1", "oracle-lossless",
                 "oracle-lossless:aim=dollars")  # fmt: skip


def summaries(transcript: Transcript, labels: tuple[str, ...], provider: Provider) -> dict[str, SummaryRow]:
    basis = basis_of(transcript, provider)
    return {label: summary_row(basis, measure(basis, open_policy(label))) for label in labels}


def check_bounds(transcript: Transcript, provider: Provider, labels: tuple[str, ...]) -> None:
    for label, row in summaries(transcript, labels, provider).items():
        assert row.tokens_frontier <= row.tokens_sum, label
        assert row.cost_frontier_usd is None or row.cost_usd is None or row.cost_frontier_usd <= row.cost_usd + 1e-9
        if label in WHOLE_RESULTS:
            assert row.tokens_frontier_results <= row.tokens_sum, label
            if row.cost_frontier_results_usd is not None and row.cost_usd is not None:
                assert row.cost_frontier_results_usd <= row.cost_usd + 1e-9, label
        if label.startswith("oracle"):
            assert {row.survival, row.survival_loose, row.survival_fresh} <= {None, 1.0}, label


@settings(max_examples=15)
@given(
    st.one_of(transcripts(), conversations()), st.sampled_from(["none", "anthropic", "openai", "deepseek"]),
    st.lists(st.sampled_from([None, 0, 9, 5_000]), min_size=1, max_size=3), st.sampled_from(["all", "current_turn"]),
)  # fmt: skip
def test_no_policy_lies_beyond_the_frontier(
    transcript: Transcript, cache: str, held: list[int | None], reasoning: Any
) -> None:
    """Whatever recorded reads say that the cache held of each call."""
    calls = (msgspec.structs.replace(call, held=one) for call, one in zip(transcript.calls, cycle(held), strict=False))
    transcript = msgspec.structs.replace(transcript, calls=tuple(calls))
    check_bounds(transcript, Provider(100_000, cache=cache, prices=PRICES, pace_s=10, reasoning=reasoning), ANY)


@corpus.here
@pytest.mark.corpus
@pytest.mark.slow
def test_no_policy_lies_beyond_the_frontier_of_real_recordings() -> None:
    labels = ("oracle-lossless", "oracle-lossless:aim=dollars", "mask:keep=3", "fifo:budget=40000", "head-tail",
              "max-messages:n=41", "truncate-after-use", "drop-all")  # fmt: skip
    seen = 0
    for transcript in recorded(every=24):
        for sent in as_sent(transcript) if transcript.calls else ():
            check_bounds(sent.transcript, msgspec.structs.replace(sent.provider, window=1 << 40), labels)
            seen += 1
    assert seen > 6


def test_the_frontier_worked_by_hand() -> None:
    # Calls 1 to 4; result A (call 2 on) is needed by call 4, age 2, result B (call 3 on) by call 4, age 1.
    a, b = "zebra_one " * 30, "zebra_two " * 50
    transcript = chat(
        ("user", "go"), ("tool_call", "{}"), ("tool_result", a), ("tool_call", "{}"), ("tool_result", b),
        ("tool_call", "{}"), ("tool_result", "ok"), ("assistant", "zebra_one zebra_two"),
    )  # fmt: skip
    row = summaries(transcript, ("keep-all",), Provider())["keep-all"]
    count = Counter(open_tokenizer()).text
    tokens = [sent.tokens_sent for sent in run(transcript, "keep-all")]
    # The dialogue: what is left of each request without the results that it has.
    dialogue = sum(tokens) - 3 * count(a) - 2 * count(b) - count("ok")
    bounds = basis_of(transcript).frontiers
    assert bounds["results"].tokens(0.0) == dialogue
    # Half: the cheaper of A for 3 requests and B for 2; all: both. "ok" is never needed.
    assert bounds["results"].tokens(0.5) == dialogue + min(3 * count(a), 2 * count(b))
    assert bounds["results"].tokens(1.0) == dialogue + 3 * count(a) + 2 * count(b)
    # By any means: no head here, so one token for each of the two references.
    assert (bounds["any"].tokens(0.0), bounds["any"].tokens(1.0)) == (0, pytest.approx(2, abs=1e-5))
    assert row.tokens_frontier_results == dialogue + 3 * count(a) + 2 * count(b)


def test_without_a_cache_both_aims_are_one_plan() -> None:
    transcript = conversation("alpha beta " * 200, "gamma " * 200, "delta")
    tokens, dollars = (
        [one.tokens_sent for one in run(transcript, f"oracle-lossless:aim={aim}", prices=PRICES)]
        for aim in ("tokens", "dollars")
    )
    assert tokens == dollars


def test_the_frontier_does_not_depend_on_the_order_of_questions() -> None:
    for seed in range(8):
        chance = random.Random(seed)
        keepings = [
            Keeping(
                source, tuple((call, chance.randrange(1, 9_000)) for call in sorted(chance.sample(range(1, 30), 5)))
            )
            for source in range(9)
        ]
        calls = {one.source: [call for call, _ in one.steps] for one in keepings}
        goals = []
        for source, of_source in calls.items():
            for call in of_source:
                others = [other for other in calls if call in calls[other] and chance.random() < 0.7]
                goals.append(Goal(call, 1 / 45, tuple(sorted({source, *others}))))
        questions = [level / 17 for level in range(18)]
        in_order, shuffled = Programme(keepings, goals), Programme(keepings, goals)
        answers = {level: in_order.least(level) for level in questions}
        for level in chance.sample(questions, len(questions)):
            assert shuffled.least(level) == answers[level]


def test_a_schedule_sends_each_result_at_least_once() -> None:
    # At 1 a token without a cache. A is in requests 2 to 4 and needed by the last; B is in two, "ok" in one.
    a, b = "zebra_one" + " a" * 100, " b" * 50
    transcript = chat(
        ("user", "go"), ("tool_call", "{}"), ("tool_result", a), ("tool_call", "{}"), ("tool_result", b),
        ("tool_call", "{}"), ("tool_result", "ok"), ("assistant", "zebra_one"),
    )  # fmt: skip
    basis = basis_of(transcript, Provider(prices=genai_list.Prices(input=1e6, output=0.0)))
    count, results = basis.counter.text, basis.frontiers["results"]
    whole = sum(basis.keep_all.calls["tokens_sent"])
    dialogue = whole - 3 * count(a) - 2 * count(b) - count("ok")
    usd = scheduled(basis.ledger, results)
    assert usd(0.0) == pytest.approx(dialogue + count(a) + count(b) + count("ok"))
    assert usd(1.0) == pytest.approx(dialogue + 3 * count(a) + count(b) + count("ok"))
