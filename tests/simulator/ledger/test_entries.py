"""What a cache remembers of requests, and for how long, by hand: marks and their entries, prefixes and branches."""

from __future__ import annotations

import pytest

from ctxsim.simulator.ledger.cache import (
    BreakpointCache,
    Cache,
    PrefixCache,
    marked_positions,
    open_cache,
    response_length,
    steps_between,
)
from ctxsim.simulator.ledger.frames import Frames
from ctxsim.simulator.ledger.request import Request
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import Split
from ctxsim.simulator.provider.vendor import Breakpoints, CacheRule
from ctxsim.transcript import Head, Item, Kind

FRAMES = Frames(Provider(), Provider().counter())
KINDS: dict[str, Kind] = {
    "u": "user", "a": "assistant", "c": "tool_call", "r": "tool_result", "s": "summary", "n": "note", "t": "reasoning",
}  # fmt: skip


def items(said: str) -> list[Item]:
    """Items of five tokens, a letter each: a capital one has another text, a full stop ends a message."""
    made: list[Item] = []
    for message, letters in enumerate(said.split(".")):
        for letter in letters:
            text = (" b" if letter.isupper() else " a") * 5
            made.append(Item(KINDS[letter.lower()], len(made), message, text, answers=0 if letter == "r" else None))
    return made


def request_of(said: str) -> Request:
    made = Request(FRAMES, Head())
    made.join(items(said))
    return made


# marks and entries


@pytest.mark.parametrize(("first", "last", "steps"), [
    (0, 6, 4), (0, 1, 1), (1, 2, 0), (2, 3, 1), (3, 4, 0), (1, 4, 1), (4, 6, 2), (5, 6, 1), (-2, 6, 6), (-1, 0, 1),
    (3, 3, 0),
])  # fmt: skip
def test_a_run_of_calls_or_of_results_is_one_step(first: int, last: int, steps: int) -> None:
    assert steps_between(items("uccrraa"), first, last) == steps


@pytest.mark.parametrize(("said", "strategy", "marked"), [
    # Two positions are the head's.
    ("u.a.u", "none", []), ("u.a.u", "automatic", [4]), ("u.a.u", "system-tools-last", [0, 1, 4]),
    ("", "system-tools-last", [0, 1]), ("u.a.u", "last-two-user", [1, 2, 4]), ("", "last-two-user", [1]),
    ("u.a", "last-two-user", [1, 2]), ("u.a.u.a.u", "last-two-user", [1, 4, 6]),
    # Results of one message are one mark; what an agent puts in is a client's too, thinking isn't.
    ("u.ccc.rrr.t", "last-two-user", [1, 2, 8]), ("s.n.a.t", "last-two-user", [1, 2, 3]),
])  # fmt: skip
def test_the_marks_of_each_strategy(said: str, strategy: Breakpoints, marked: list[int]) -> None:
    assert marked_positions(request_of(said), strategy) == marked


def marks(minimum: int = 10, strategy: Breakpoints = "automatic", **rule: object) -> BreakpointCache:
    """Entries live for 60 seconds."""
    made = BreakpointCache(CacheRule("breakpoints", **rule), minimum, strategy)  # type: ignore[arg-type, misc]
    made.lifetime_s = 60.0
    return made


def sent(cache: BreakpointCache | PrefixCache, request: Request, at_s: float, most: int | None = None) -> Split:
    """What of a request is read, written and neither, which is then remembered."""
    found = cache.split(request, at_s, most)
    cache.remember(request, at_s)
    request.remember()
    return found


def test_a_request_is_written_from_the_minimum_on() -> None:
    assert [marks().split(request_of(said), 0.0) for said in ("u", "u.a", "u.a.u")] == [
        Split(0, 0, 5), Split(0, 10, 0), Split(0, 15, 0)
    ]  # fmt: skip
    # Of four marks the last is beyond the minimum; what stands behind the last mark is never written.
    cache = marks(strategy="last-two-user")
    assert sent(cache, request_of("u.a.u.a"), 0.0) == Split(0, 15, 5)
    assert cache.split(request_of("u.a.u.a.a"), 0.0) == Split(15, 0, 10)


@pytest.mark.parametrize(("at_s", "split"), [(60.0, Split(20, 5, 0)), (60.1, Split(0, 25, 0))])
def test_an_entry_lives_as_long_as_the_vendor_says(at_s: float, split: Split) -> None:
    cache = marks()
    assert sent(cache, request_of("u.a.u.a"), 0.0) == Split(0, 20, 0)
    assert cache.split(request_of("u.a.u.a.u"), at_s) == split


def test_an_entry_is_renewed_by_reading_it_whole() -> None:
    for most, read in ((None, 20), (20, 20), (19, 19)):
        cache = marks()
        sent(cache, request_of("u.a.u.a"), 0.0)
        assert sent(cache, request_of("u.a.u.a.u"), 50.0, most) == Split(read, 25 - read, 0)
        # Only the first request's entry can be read here; it would have ended at 60.
        assert cache.split(request_of("u.a.u.a.U"), 110.0).read == (20 if read == 20 else 0)


def test_nothing_is_left_of_what_was_forgotten_and_all_is_alive_that_was_revived() -> None:
    cache = marks()
    sent(cache, request_of("u.a.u.a"), 0.0)
    sent(cache, request_of("U.a"), 90.0)
    cache.revive(100.0)
    assert [cache.split(request_of("u.a.u.a"), at_s).read for at_s in (100.0, 100.1)] == [20, 0]
    assert cache.split(request_of("U.a"), 150.0).read == 10, "it would live longer anyway"
    cache.forget()
    assert cache.split(request_of("U.a"), 100.0) == Split(0, 10, 0)
    assert cache.holds(Split(3, 4, 5), 12) == 7


@pytest.mark.parametrize(("more", "read"), [(".u.u", 20), (".u.u.u", 0), (".ccc.rrr", 20), (".cc.rr.u", 0)])
def test_it_looks_back_over_so_many_positions(more: str, read: int) -> None:
    cache = marks(lookback=3)
    sent(cache, request_of("u.a.u.a"), 0.0)
    assert cache.split(request_of("u.a.u.a" + more), 1.0).read == read


@pytest.mark.parametrize(("most", "read"), [(1, 0), (2, 10), (4, 10)])
def test_only_the_last_marks_are_sent(most: int, read: int) -> None:
    # The first two texts and the third are marked; the next request has only the first two of them.
    cache = marks(strategy="last-two-user", max_breakpoints=most)
    assert sent(cache, request_of("uu.a.u"), 0.0) == Split(0, 20, 0)
    assert cache.split(request_of("uu.a.U"), 0.0) == Split(read, 20 - read, 0)


def test_a_vendors_own_mark_is_the_end() -> None:
    assert marks(strategy="none").split(request_of("u.a.u"), 0.0) == Split(0, 0, 15)
    assert marks(strategy="none", implicit=True).split(request_of("u.a.u"), 0.0) == Split(0, 15, 0)


@pytest.mark.parametrize(("readable", "read"), [(1, 0), (2, 10)])
def test_of_entries_that_have_expired_only_so_many_are_passed(readable: int, read: int) -> None:
    cache = marks(readable=readable)
    sent(cache, request_of("u.a"), 0.0)
    sent(cache, request_of("u.a.u"), 0.0)
    assert sent(cache, request_of("u.a.U"), 50.0).read == 10
    # The entry of the second request has expired, that of the first was read since.
    assert cache.split(request_of("u.a.u.a"), 70.0).read == read


def with_tools(system: str) -> Request:
    """Tools of 12 tokens, a system prompt of 3, a user's 5."""
    made = Request(FRAMES, Head(system, (" a" * 12,)))
    made.join(items("u"))
    return made


def test_tools_may_be_all_that_is_read() -> None:
    cache = marks(strategy="system-tools-last")
    assert sent(cache, with_tools(" a a a"), 0.0) == Split(0, 20, 0)
    assert [cache.split(with_tools(" b b b"), at_s) for at_s in (60.0, 61.0)] == [Split(12, 8, 0), Split(0, 20, 0)]


# prefixes and branches


def prefixes(minimum: int = 10, **rule: object) -> PrefixCache:
    """Requests live for 60 seconds."""
    made = PrefixCache(CacheRule("prefix", minimum_tokens=minimum, **rule), "", FRAMES.shared)  # type: ignore[arg-type, misc]
    made.lifetime_s = 60.0
    return made


def follow(cache: PrefixCache, *said: str, at_s: float = 1.0, most: int | None = None) -> Split:
    """Requests one after the other; what is read of the last one, so long after the others."""
    request = request_of("")
    for one in said[:-1]:
        request.become(items(one))
        sent(cache, request, 0.0)
    request.become(items(said[-1]))
    return sent(cache, request, at_s, most)


@pytest.mark.parametrize(("rule", "split"), [
    ({}, Split(20, 0, 5)), ({"step": 8}, Split(16, 0, 9)), ({"step": 8, "minimum": 16}, Split(16, 0, 9)),
    ({"step": 8, "minimum": 17}, Split(0, 0, 25)), ({"paid_writes": True}, Split(20, 5, 0)),
    ({"paid_writes": True, "minimum": 25}, Split(0, 25, 0)), ({"paid_writes": True, "minimum": 26}, Split(0, 0, 25)),
])  # fmt: skip
def test_the_whole_of_the_request_before_is_read_in_steps_from_the_minimum_on(
    rule: dict[str, int], split: Split
) -> None:
    assert follow(prefixes(**rule), "u.a.u.a", "u.a.u.a.u") == split


@pytest.mark.parametrize(("at_s", "most", "read"), [(60.0, None, 20), (60.1, None, 0), (1.0, 19, 19), (1.0, 21, 20)])
def test_a_request_is_kept_alive_by_the_next_and_no_more_is_read_than_said(
    at_s: float, most: int | None, read: int
) -> None:
    assert follow(prefixes(), "u.a.u.a", "u.a.u.a.u", at_s=at_s, most=most) == Split(read, 0, 25 - read)


@pytest.mark.parametrize(("partial", "said", "read"), [
    # A text that begins with three words like the one that stood there; of another kind; of another beginning.
    (True, " a a a b", 18), (False, " a a a b", 15), (True, " b", 15),
])  # fmt: skip
def test_inside_the_first_item_that_differs(partial: bool, said: str, read: int) -> None:
    cache, request = prefixes(partial_items=partial), request_of("u.a.u.a.u")
    sent(cache, request, 0.0)
    request.become([*items("u.a.u"), items("u.a.u.a")[3].with_text(said)])
    assert cache.split(request, 1.0).read == read
    other = Item("user", 3, 3, said)
    request.become([*items("u.a.u"), other])
    assert cache.split(request, 1.0).read == 15
    # The very first item may be the one.
    first = items("u")[0]
    cache, request = prefixes(0, partial_items=partial), request_of("u")
    sent(cache, request, 0.0)
    request.become([first.with_text(said)])
    assert cache.split(request, 1.0).read == read - 15


@pytest.mark.parametrize(("answers", "read"), [((), 15), (("*",), 25)])
def test_an_answer_may_be_kept_like_the_request(answers: tuple[str, ...], read: int) -> None:
    assert follow(prefixes(responses=answers), "u.a.u", "u.a.u.ac.r") == Split(read, 0, 30 - read)
    # Only where all of the request is there.
    assert follow(prefixes(responses=answers), "u.a.u", "u.a.U.ac").read == 10


def test_nothing_is_read_of_a_first_request_nor_of_one_that_has_expired() -> None:
    assert follow(prefixes(0, responses=("*",)), "u.aa") == Split(0, 0, 15)
    begun = with_tools(" a a a")
    begun.join(items("u.aa")[1:])
    assert prefixes(0, responses=("*",)).split(begun, 0.0) == Split(0, 0, 30)
    cache, request = prefixes(), with_tools(" a a a")
    sent(cache, request, 0.0)
    assert [cache.split(request, at_s) for at_s in (60.0, 60.1)] == [Split(20, 0, 0), Split(0, 0, 20)]
    request.with_head(Head(" b b b", (" a" * 12,)))
    assert cache.split(request, 1.0) == Split(12, 0, 8)


@pytest.mark.parametrize(("said", "length"), [("acc.r", 3), ("tac.a", 3), ("u.a", 0), ("", 0), ("aa.a", 2)])
def test_a_response_is_all_that_the_model_made_in_one_message(said: str, length: int) -> None:
    assert response_length(items(said), 0) == length


def test_a_branch_that_was_left_is_read_while_it_is_alive() -> None:
    cache, request = prefixes(), request_of("u.a.u.a")
    sent(cache, request, 0.0)
    request.become(items("u.a.U"))
    assert sent(cache, request, 50.0).read == 10
    request.become(items("u.a.u.a.u"))
    # Left at 0 s: at 60 it is alive, and no longer behind that.
    assert [cache.split(request, at_s).read for at_s in (60.0, 60.1)] == [20, 10]
    cache.revive(70.0)
    assert [cache.split(request, at_s).read for at_s in (130.0, 130.1)] == [20, 0]
    cache.forget()
    assert cache.split(request, 70.0).read == 0


def test_along_a_branch_only_what_goes_another_way_is_left_of_it() -> None:
    cache, request = prefixes(), request_of("u.a.u.a")
    reads = []
    # Back on the first way, then off it at the last item, and back again: each time all that any of them had is read.
    for said in ("u.a.u.a", "u.A.U", "u.a.u.a", "u.a.u.A", "u.a.u.a", "u.A.U.a", "u.A.u"):
        request.become(items(said))
        reads.append(sent(cache, request, 1.0).read)
    assert reads == [0, 0, 20, 15, 20, 15, 10]


@pytest.mark.parametrize(("total", "held"), [(9, 0), (10, 10), (11, 11)])
def test_what_could_be_read_next_is_all_from_the_minimum_on(total: int, held: int) -> None:
    assert prefixes().holds(Split(0, 0, total), total) == held
    assert Cache().holds(Split(0, 0, total), total) == 0


def test_each_kind_of_cache_is_opened() -> None:
    def opened(kind: str, **rule: object) -> Split:
        made = CacheRule(kind, minimum_tokens=99, minimum_by_model={"small": 10}, **rule)  # type: ignore[arg-type, misc]
        return open_cache(made, "small", "automatic", FRAMES.shared).split(request_of("u.a"), 0.0)

    assert opened("none") == Split(0, 0, 10)
    assert opened("breakpoints") == opened("prefix", paid_writes=True) == Split(0, 10, 0)
