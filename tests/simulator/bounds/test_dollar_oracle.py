"""The dollar oracle: its walks against replay, and which plan it takes."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from samples import ASK, chat, conversation

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies import open_policy
from ctxsim.policies.oracle_lossless import OracleLossless
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.simulator.bounds.lossless import cache_prices, leaving, plan
from ctxsim.simulator.bounds.schedule import best_times
from ctxsim.simulator.ledger import Ledger
from ctxsim.simulator.provider import Provider, RateLimit
from ctxsim.simulator.provider.prices import Prices
from ctxsim.simulator.references.finding import prepare
from ctxsim.simulator.replay import replay
from ctxsim.transcript import Transcript

STUB = OracleLossless.stub
FLAT = Prices(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75)
STEPS = Prices(
    input=((0, 3.0), (1_500, 6.0)),
    output=((0, 15.0), (1_500, 22.5)),
    cache_read=((0, 0.3), (1_500, 0.6)),
    cache_write=((0, 3.75), (1_500, 7.5)),
)
CACHES = ("none", "anthropic", "openai", "openai-paid-writes", "deepseek", "google")


def billed(transcript: Transcript, label: str, provider: Provider, counter: Counter) -> float:
    """What a real replay costs."""
    return round(sum(sent.cost_usd or 0.0 for sent in replay(transcript, open_policy(label), provider, counter)), 10)


def replayed(transcript: Transcript, provider: Provider, counter: Counter, times: Mapping[int, int]) -> float:
    """What a schedule costs if the oracle is told to follow it."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("ctxsim.simulator.replay.foresight.plan", lambda *_: times)
        return billed(transcript, "oracle-lossless:aim=dollars", provider, counter)


@st.composite
def providers(draw: st.DrawFn) -> Provider:
    """Providers of every kind of cache, with and without pauses that outlast it."""
    cache = draw(st.sampled_from(CACHES))
    return Provider(
        cache=cache,
        framing=cache,
        model=draw(st.sampled_from(["", "claude-opus-5", "claude-opus-4-7"])),
        breakpoints=draw(st.sampled_from(["last-two-user", "system-tools-last", "automatic"])),
        reasoning=draw(st.sampled_from(["never", "current_turn", "all"])),
        rate_limit=draw(st.sampled_from([None, None, None, RateLimit(tokens_per_minute=4_000)])),
        prices=draw(st.sampled_from([FLAT, STEPS])),
        pace_s=draw(st.sampled_from([0, 10, 400])),
    )


@st.composite
def small_cases(draw: st.DrawFn) -> Transcript:
    """A few results of sizes around caches' minimums and steps, some of them read again, with thinking and pauses."""
    assembly = Assembly("small")
    assembly.system.append("be good " * draw(st.sampled_from([0, 10, 500])))
    assembly.user("Do the task.")
    count = draw(st.integers(1, 4))
    for number in range(count):
        thought = [Part("reasoning", "think " * draw(st.sampled_from([10, 300])))] if draw(st.booleans()) else []
        asked = f'{{"id": "zebra_{draw(st.integers(0, count))}"}}' if draw(st.booleans()) else "{}"
        assembly.response([*thought, Part("tool_call", asked, "read", f"c{number}")])
        words = f"w{number} " * draw(st.sampled_from([5, 60, 130, 400, 800]))
        assembly.result(f"zebra_{number} {words}", f"c{number}")
        if draw(st.integers(0, 3)) == 0:
            assembly.user("and more " * draw(st.sampled_from([2, 200])))
    assembly.response([Part("assistant", "Done.")])
    for _ in range(draw(st.integers(0, 2))):
        assembly.user("next")
        assembly.response([Part("assistant", "ok")])
    made = assembly.transcript()
    if draw(st.booleans()):
        return made
    now, calls = 1e9, []
    for call in made.calls:
        now += draw(st.sampled_from([5, 5, 400, 4_000]))
        calls.append(msgspec.structs.replace(call, time_s=now))
    return msgspec.structs.replace(made, calls=tuple(calls))


@settings(max_examples=25, deadline=None)
@given(small_cases(), providers())
def test_the_dollar_oracle_is_the_cheapest_of_three(transcript: Transcript, provider: Provider) -> None:
    counter, references = Counter(open_tokenizer()), prepare(transcript)
    ledger = Ledger(transcript, provider, counter)
    dead = leaving(transcript, counter, references.last_needed(), counter.text(STUB))
    assume(dead)
    plans = [{}, plan(ledger, references, "tokens", STUB)]
    if provider.cache != "none":
        plans.append(best_times(dead, cache_prices(ledger)).times)
    else:
        plans = plans[1:]
    least = min(replayed(transcript, provider, counter, times) for times in plans)
    assert billed(transcript, "oracle-lossless:aim=dollars", provider, counter) == pytest.approx(least, abs=1e-9)


def test_it_keeps_what_the_minimum_of_the_cache_needs() -> None:
    # 1,300 tokens are read at a tenth from 1,024 on. Without the first result's 400 they would be below it: all 900 at
    # the full price with every call, so it is worth keeping for good; where nothing has to reach a minimum it isn't.
    rest = [f"w{n} " for n in range(12)]
    transcript = conversation("a " * 400, *rest, system="s " * 900)
    counter, references = Counter(open_tokenizer()), prepare(transcript)
    provider = Provider(cache="anthropic", prices=FLAT)
    place = next(item.place for item in transcript.items if item.kind == "tool_result")
    assert plan(Ledger(transcript, provider, counter), references, "tokens", STUB)[place] == 3
    assert place not in plan(Ledger(transcript, provider, counter), references, "dollars", STUB)
    small = msgspec.structs.replace(provider, model="claude-opus-5")
    assert plan(Ledger(transcript, small, counter), references, "dollars", STUB)[place] == 3


def test_the_dollar_oracle_is_no_lower_bound() -> None:
    # Call 3 uses both results. Its schedule clears both for call 4, whose next requests are then below the cache's
    # minimum of 1,024 tokens: its model doesn't see that the first one, kept, is read.
    transcript = chat(
        ("user", "go " * 200), ASK, ("tool_result", "zebra_one" + " a" * 900), ASK,
        ("tool_result", "zebra_two" + " b" * 2_500), ("tool_call", '{"q": "zebra_one zebra_two"}'),
        ("tool_result", "c " * 70), ASK, ("tool_result", "d " * 70), ("assistant", "Done."),
    )  # fmt: skip
    ledger = Ledger(transcript, Provider(cache="anthropic", prices=FLAT), Counter(open_tokenizer()))
    chosen = plan(ledger, prepare(transcript), "dollars", STUB)
    assert chosen == {2: 4, 4: 4, 6: 5}
    assert sum(ledger.usd_if_cleared({4: 4}, STUB)) < 0.98 * sum(ledger.usd_if_cleared(chosen, STUB))
