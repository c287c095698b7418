"""The bucket, and the smallest quota that never waits."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import basis_of, conversation, summarized

from ctxsim.policies import open_policy
from ctxsim.simulator.measure.measured import measure
from ctxsim.simulator.provider import Provider, RateLimit
from ctxsim.simulator.provider.prices import Split
from ctxsim.simulator.provider.rules import Bucket, smallest_quota


@pytest.mark.parametrize(("field", "allowed", "refused"), [
    ("tokens_per_minute", 1, 0), ("requests_per_minute", 1, 0), ("reserves_max_tokens", 0, -1),
])  # fmt: skip
def test_the_bounds_of_a_limit(field: str, allowed: int, refused: int) -> None:
    fields = {"tokens_per_minute": 30_000}
    assert getattr(RateLimit(**{**fields, field: allowed}), field) == allowed
    with pytest.raises(ValueError, match="must be positive"):
        RateLimit(**{**fields, field: refused})


def test_a_limit_in_words() -> None:
    assert RateLimit(30_000).describe() == "30,000 input tokens per minute"
    assert RateLimit(30_000, counts_cache_reads=False).describe().endswith("per minute, cache reads free")


def test_bucket_by_hand() -> None:
    # 120 tokens per minute: 2 a second. Full at 120; 100 taken at 0 s leaves 20. At 20 s it holds 60: 80 in 10 s.
    bucket = Bucket(120)
    assert bucket.wait_s(100, 0) == 0
    bucket.take(100, 0)
    assert bucket.wait_s(80, 20) == 10
    bucket.take(80, 30)
    # At 30 s it is empty; at 90 s full again, not fuller.
    assert bucket.wait_s(120, 200) == 0
    bucket.take(120, 200)
    assert bucket.wait_s(1, 200) == 0.5
    assert bucket.wait_s(121, 10_000) is None


@given(st.lists(st.tuples(st.integers(0, 100), st.floats(0, 50)), max_size=30))
def test_bucket_never_gives_more_than_flowed_in(requests: list[tuple[int, float]]) -> None:
    bucket = Bucket(60)
    now = taken = 0.0
    for demand, pause in requests:
        now += pause
        waited = bucket.wait_s(demand, now)
        if waited is not None:
            now += waited
            bucket.take(demand, now)
            taken += demand
            assert taken <= 60 + now + 1e-6


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 5_000)), min_size=1, max_size=12))
def test_smallest_quota_is_the_smallest(requests: list[tuple[int, int]]) -> None:
    now, timed = 0.0, []
    for pause, demand in requests:
        now += pause
        timed.append((now, demand))

    def waits(quota: int) -> bool:
        bucket = Bucket(quota)
        for at_s, demand in timed:
            if (bucket.wait_s(demand, at_s) or 0.0) > 1e-9 or bucket.wait_s(demand, at_s) is None:
                return True
            bucket.take(demand, at_s)
        return False

    quota = smallest_quota(timed)
    assert not waits(quota)
    assert quota == 1 or waits(quota - 1)


def test_documented_waits() -> None:
    # Bucket of 50,000 a minute, 40 s apart: 45,231 at call 6 leaves 4,769; 33,333 flow in; 53,000 never fit.
    bucket = Bucket(50_000)
    for number, tokens in enumerate([2_000, 4_900, 12_000, 12_105, 28_000, 45_231]):
        assert bucket.wait_s(tokens, 40 * number) == 0
        bucket.take(tokens, 40 * number)
    assert bucket.wait_s(53_000, 240) is None


WORDY = "word " * 400


def test_smallest_quota_counts_summaries_and_is_enough() -> None:
    assert smallest_quota([]) == 1
    transcript = conversation(*[WORDY] * 10)
    label = "summary:at=0.1,keep_last=2"
    provider = Provider(window=20_000, pace_s=10)
    quota = summarized(transcript, label, provider).smallest_quota
    for tokens, waits in ((quota, False), (quota - 1, True)):
        limited = Provider(window=20_000, pace_s=10, rate_limit=RateLimit(tokens_per_minute=tokens))
        rows = measure(basis_of(transcript, limited), open_policy(label)).rows
        assert (sum(row.http_429 for row in rows) > 0) == waits, tokens


def test_the_smallest_quota_of_a_session_with_pauses_of_weeks() -> None:
    for seed in range(60):
        chance = random.Random(seed)
        at_s, requests = 0.0, []
        for _ in range(60):
            at_s += chance.expovariate(1 / (14 * 86_400)) if chance.random() < 0.05 else chance.uniform(5, 25)
            requests.append((at_s, chance.randrange(20_000, 150_000)))

        def waits(quota: int, requests: list[tuple[float, int]] = requests) -> bool:
            bucket = Bucket(quota)
            for second, demand in requests:
                wait_s = bucket.wait_s(demand, second)
                # Of weeks in seconds a double holds a ten-thousandth of a microsecond.
                if wait_s is None or wait_s > 1e-6:
                    return True
                bucket.take(demand, second)
            return False

        quota = smallest_quota(requests)
        assert not waits(quota + 1) and waits(quota - 1)


def test_what_a_request_takes_from_the_bucket() -> None:
    split = Split(read=1_000, write=200, uncached=30)
    assert RateLimit(1).demand(split) == 1_230
    assert RateLimit(1, counts_cache_reads=False).demand(split) == 230
    # OpenAI documentation, Rate limits: the larger of max_tokens and the estimate of the request's own tokens.
    reserved = (229, 230, 231, 5_000)
    assert [RateLimit(1, counts_cache_reads=False, reserves_max_tokens=one).demand(split) for one in reserved] == [
        230, 230, 231, 5_000,
    ]  # fmt: skip
