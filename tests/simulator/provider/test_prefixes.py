"""Prefixes know the request billed last alone, and the cache only branches: nothing is missed by that."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.simulator.provider.cache import PrefixCache, response_length
from ctxsim.simulator.provider.prefixes import BLOCK, Prefixes
from ctxsim.simulator.provider.rendering import HEAD_POSITIONS, Rendering
from ctxsim.simulator.provider.vendor import CacheRule, load_vendor
from ctxsim.transcript import Head, Item

SHORT = st.lists(st.integers(0, 2), max_size=5)


def common(left: list[int], right: list[int]) -> int:
    """How many leading positions two requests share, one by one."""
    shared = 0
    while shared < min(len(left), len(right)) and left[shared] == right[shared]:
        shared += 1
    return shared


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 8), SHORT, st.integers(0, 2), st.booleans()), max_size=12))
def test_what_is_shared_and_lost_is_told_of_the_remembered_request(
    steps: list[tuple[int, list[int], int, bool]],
) -> None:
    prefixes, remembered = Prefixes([7, 8]), list[int]()
    for start, tail, own, billed in steps:
        if start < len(prefixes.own) and len(tail) < 3:
            prefixes.replace(start, own)
        else:
            start = min(start, len(prefixes.own))
            prefixes.change_from(start)
            prefixes.own[start:] = tail
        shared = common(prefixes.own, remembered)
        assert (prefixes.shared, prefixes.remembered, prefixes.lost(shared)) == (
            shared,
            len(remembered),
            remembered[shared:],
        )
        if billed:
            prefixes.remember()
            remembered = prefixes.own[:]


@settings(max_examples=50)
@given(st.integers(0, 3 * BLOCK), st.integers(0, 3 * BLOCK), st.integers(0, 3 * BLOCK), st.booleans())
def test_an_identity_is_that_of_all_positions_up_to_it(length: int, changed: int, asked: int, alone: bool) -> None:
    asked = min(asked, length)
    edited = Prefixes(range(length + 1))
    before = edited.identity(asked)
    changed = min(changed, length)
    if alone:
        edited.replace(changed, -1)
    else:
        edited.change_from(changed)
        edited.own[changed] = -1
    anew = Prefixes(edited.own)
    assert edited.identity(asked) == anew.identity(asked)
    assert (edited.identity(asked) == before) == (changed > asked)
    assert edited.identity_with(asked, 5) == Prefixes([*edited.own[:asked], 5]).identity(asked)


class Plain:
    """Every earlier request with its time; what they share with this one is counted one by one."""

    def __init__(self, rule: CacheRule) -> None:
        self.rule = rule
        self.requests: list[tuple[list[int], float]] = []

    def read(self, rendering: Rendering, now_s: float) -> int:
        own = rendering.prefixes.own
        reached = 0
        if self.requests and now_s - self.requests[-1][1] <= self.rule.lifetime_s:
            last = self.requests[-1][0]
            reached = common(own, last)
            if self.rule.keeps_responses(""):
                answered = 0 < reached == len(last)
                reached += response_length(rendering.items, reached - HEAD_POSITIONS) if answered else 0
        alive = [request for request, at_s in self.requests if now_s - at_s <= self.rule.lifetime_s]
        # Behind an answer that the cache keeps, it goes on with whoever had that too.
        reached = max([reached, *(common(own, request) for request in alive)])
        self.requests.append((own[:], now_s))
        return rendering.tokens[reached - 1] if reached else 0


USER = st.tuples(st.just("user"), st.integers(0, 2))
ANSWER = st.tuples(st.just("assistant"), st.integers(0, 2))


@pytest.mark.parametrize("answers", [False, True])
@settings(max_examples=400)
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
    counter = Counter(open_tokenizer("o200k_base"))
    rule = msgspec.structs.replace(
        load_vendor("none").cache, kind="prefix", lifetime_s=60.0, responses=("*",) if answers else ()
    )
    cache, plain = PrefixCache(rule, "", counter.shared, rule.lifetime_s), Plain(rule)
    rendering = Rendering(Head("a"), "", load_vendor("none").framing, counter.item, counter.text)
    now_s = 0.0
    for texts, system, pause_s in requests:
        now_s += pause_s
        rendering.with_head(Head(system))
        items = [Item(kind, place, place, "word " * number) for place, (kind, number) in enumerate(texts)]  # type: ignore[arg-type]
        rendering.follow(items, 0)
        expected = plain.read(rendering, now_s)
        assert cache.split(rendering, now_s, commit=False).read == expected
        assert cache.split(rendering, now_s).read == expected
        rendering.remember()
