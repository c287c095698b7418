"""What a transcript asks of a provider where nobody edits anything, by hand."""

from __future__ import annotations

import msgspec
import pytest
from samples import ASK, basis_of, chat, conversation

from ctxsim.counting.estimators import open_estimator
from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.policies import open_policy
from ctxsim.simulator.ledger import Ledger
from ctxsim.simulator.provider import Provider, RateLimit
from ctxsim.simulator.provider.prices import Prices
from ctxsim.simulator.provider.summaries import PROMPT
from ctxsim.simulator.replay import replay


@pytest.mark.parametrize(
    ("provider", "demands"),
    [
        # A head of 2,000, a task of 4; then a call of 2 and a result of 100; then one of 50. Every 10 seconds.
        (Provider(pace_s=10), [2_004, 2_106, 2_158]),
        # What is read and written of a cache is asked for all the same,
        (Provider(pace_s=10, cache="anthropic", breakpoints="automatic"), [2_004, 2_106, 2_158]),
        # unless the limit leaves out what is read: 2,004 of the second request, 2,106 of the third.
        (
            Provider(
                pace_s=10, cache="anthropic", breakpoints="automatic",
                rate_limit=RateLimit(1_000_000, counts_cache_reads=False),
            ),
            [2_004, 102, 52],
        ),
        # Output that is reserved is asked for instead where it is more.
        (Provider(pace_s=10, rate_limit=RateLimit(1_000_000, reserves_max_tokens=2_110)), [2_110, 2_110, 2_158]),
    ],
)  # fmt: skip
def test_what_a_rate_limit_is_asked_for(provider: Provider, demands: list[int]) -> None:
    transcript = conversation(" a" * 100, " a" * 50, system=" a" * 2_000)
    found = replay(transcript, open_policy("keep-all"), provider, Counter(open_tokenizer()))
    assert len(list(found)) == 3 and found.kernel.demands == [
        (10.0 * number, tokens) for number, tokens in enumerate(demands)
    ]


def test_a_users_text_begins_a_turn() -> None:
    # First alone, then not at all, then behind a result: what was thought before it goes.
    made = chat(
        ("user", "a"), ("reasoning", "hm"), ASK, ("tool_result", "b"), ("reasoning", "so"), ASK, ("tool_result", "c"),
        ("user", "and?"), ("assistant", "d"),
    )  # fmt: skip
    legs = Ledger(made, Provider(reasoning="current_turn"), Counter(open_tokenizer())).legs
    assert [leg.begins_turn for leg in legs] == [True, False, True]


def test_the_prompt_of_a_summary_is_read_from_no_cache() -> None:
    """A first call that was read whole: other sessions had sent what is in it, but nobody the summary's own prompt."""
    made = conversation()
    made = msgspec.structs.replace(made, calls=(msgspec.structs.replace(made.calls[0], held=10_000),))
    # A dollar a token, ten cents a token read.
    provider = Provider(cache="deepseek", prices=Prices(input=1e6, output=0.0, cache_read=1e5))
    counter = provider.counter()
    ledger = Ledger(made, provider, counter)
    kernel, leg = ledger.kernel(), ledger.legs[0]
    kernel.begin(leg)
    ledger.enter(kernel.request, leg)
    asked = kernel.summarize(kernel.request.items, 50, (), "empty")
    assert asked.cost is not None and asked.cost.uncached == counter.text(PROMPT)
    assert asked.cost.read == pytest.approx((asked.tokens_in - counter.text(PROMPT)) / 10)


def test_sizes_are_shared_by_estimator() -> None:
    ledger, estimator = Ledger(conversation("a"), Provider(), Counter(open_tokenizer())), open_estimator()
    assert ledger.sizes(estimator) is ledger.sizes(estimator) is not ledger.sizes(open_estimator("usage-tail"))


@pytest.mark.parametrize(("prices", "usd"), [(None, 0.0), (Prices(input=0.123456789, output=0.0), 0.0000011111)])
def test_dollars_are_rounded_as_in_rows(prices: Prices | None, usd: float) -> None:
    # Nine tokens at 0.123456789 USD in a million: 0.000001111111101.
    ledger = basis_of(chat(("user", " a" * 9), ("assistant", "a")), Provider(prices=prices)).ledger
    assert list(ledger.usd_if_cleared({}, "")) == [usd]
