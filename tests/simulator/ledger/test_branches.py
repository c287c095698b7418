"""A prefix cache remembers the request billed last and branches: nothing that earlier ones had is missed by that."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ctxsim.simulator.ledger.cache import PrefixCache, response_length
from ctxsim.simulator.ledger.frames import Frames
from ctxsim.simulator.ledger.request import HEAD, Request
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.vendor import CacheRule, load_vendor
from ctxsim.transcript import Head, Item


def common(left: list[int], right: list[int]) -> int:
    """How many leading positions two requests share, one by one."""
    pairs = zip(left, right, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(left), len(right)))


class Plain:
    """Every earlier request with its time; what they share with this one is counted one by one."""

    def __init__(self, rule: CacheRule) -> None:
        self.rule = rule
        self.requests: list[tuple[list[int], float]] = []

    def read(self, request: Request, now_s: float) -> int:
        """What is read of a request, which is then an earlier one."""
        own = request.own(0, request.length)
        reached = 0
        if self.requests and now_s - self.requests[-1][1] <= self.rule.lifetime_s:
            last = self.requests[-1][0]
            reached = common(own, last)
            if self.rule.keeps_responses(""):
                answered = 0 < reached == len(last)
                reached += response_length(request.items, reached - HEAD) if answered else 0
        alive = [one for one, at_s in self.requests if now_s - at_s <= self.rule.lifetime_s]
        # Behind an answer that the cache keeps, it goes on with whoever had that too.
        reached = max([reached, *(common(own, one) for one in alive)])
        self.requests.append((own, now_s))
        return request.upto()[reached - 1] if reached else 0


USER = st.tuples(st.just("user"), st.integers(0, 2))
ANSWER = st.tuples(st.just("assistant"), st.integers(0, 2))


@pytest.mark.parametrize("answers", [False, True])
@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.lists(USER | ANSWER, max_size=6), st.sampled_from(["a", "b"]), st.sampled_from([1, 1, 1, 40])),
        max_size=8,
    )
)
@example([([("user", 0), ("user", n)], "a", 1) for n in (1, 2, 1)])
def test_branches_are_all_that_a_cache_must_remember(
    answers: bool, requests: list[tuple[list[tuple[str, int]], str, int]]
) -> None:
    rule = msgspec.structs.replace(
        load_vendor("none").cache, kind="prefix", lifetime_s=60.0, responses=("*",) if answers else ()
    )
    frames = Frames(Provider(), Provider().counter())
    cache, plain = PrefixCache(rule, "", frames.shared), Plain(rule)
    cache.lifetime_s = rule.lifetime_s
    request, now_s = Request(frames, Head("a")), 0.0
    for texts, system, pause_s in requests:
        now_s += pause_s
        request.with_head(Head(system))
        request.become([Item(kind, place, place, "word " * many) for place, (kind, many) in enumerate(texts)])  # type: ignore[arg-type]
        expected = plain.read(request, now_s)
        assert cache.split(request, now_s).read == expected
        cache.remember(request, now_s)
        request.remember()
