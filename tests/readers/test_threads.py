"""From whole requests to conversations: going on, rewinding, shortening, other agents."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from ctxsim.readers.assembly.requests.threads import Request, Step, Thread, threads


def snap(
    keys: Sequence[Hashable], reply: Hashable, context: str = "", after_compaction: bool = False, head: str = ""
) -> Request:
    places = {key: place for place, key in enumerate(keys)}
    return Request(list(keys), reply, places, [reply], context, head, after_compaction)


def numbers(found: list[Thread]) -> list[tuple[list[int], list[int]]]:
    return [([step.number for step in thread.steps], list(thread.abandoned)) for thread in found]


def test_a_request_that_starts_with_another_and_its_reply_continues_it() -> None:
    found = threads([snap("su", "A"), snap("suAr", "B"), snap("suArBr", "C")])
    # s u | A r | B r: two, then three, then five messages are not new
    assert found == [Thread([Step(0, 0, True), Step(1, 3, True), Step(2, 5, True)], [])]


def test_a_request_made_again_abandons_the_first_reply() -> None:
    assert numbers(threads([snap("su", "A"), snap("su", "B"), snap("suBr", "C")])) == [([1, 2], [0])]
    # Back to the reply that a later request holds, though another came after it.
    assert numbers(threads([snap("su", "A"), snap("su", "B"), snap("suAr", "C")])) == [([0, 2], [1])]
    # In the middle: B is made again as X.
    assert numbers(threads([snap("su", "A"), snap("suAr", "B"), snap("suAr", "X")])) == [([0, 2], [1])]
    # The same reply twice: the later one is what counted.
    assert numbers(threads([snap("su", "A"), snap("su", "A"), snap("suAr", "B")])) == [([1, 2], [0])]
    # The reply is not repeated, a message that says why stands in its place.
    assert numbers(threads([snap("su", "A"), snap("suh", "B"), snap("suhBr", "C")])) == [([1, 2], [0])]


def test_what_is_made_again_has_the_same_head_and_comes_at_once() -> None:
    assert numbers(threads([snap("su", "A", head="tools"), snap("su", "B")])) == [([0], []), ([1], [])]
    # Started anew when the conversation had gone on: nothing of it is shared but the prompt.
    again = [snap("su", "A"), snap("suAr", "B"), snap("su", "C"), snap("suCr", "D")]
    assert numbers(threads(again)) == [([0, 1], []), ([2, 3], [])]


def test_a_shortened_request_made_again_keeps_its_place() -> None:
    chain = [snap("su", "A"), snap("suAr", "B"), snap("suArBr", "C"), snap("cBrCr", "D"), snap("cBrCr", "E")]
    (thread,) = threads(chain)
    assert (list(thread.steps[-1:]), thread.abandoned) == ([Step(4, 4, False)], [3])


def test_a_thread_is_named_by_its_first_request_even_if_that_was_made_again() -> None:
    assert numbers(threads([snap("su", "A"), snap("xy", "B"), snap("su", "C")])) == [([2], [0]), ([1], [])]


def test_a_rewound_branch_is_abandoned_and_one_that_goes_on_beside_is_a_thread() -> None:
    rewound = [snap("su", "A"), snap("suAr", "B"), snap("suArBr", "C"), snap("suAx", "D"), snap("suAxDr", "E")]
    assert numbers(threads(rewound)) == [([0, 3, 4], [1, 2])]
    beside = [snap("su", "A"), snap("suAr", "B"), snap("suAx", "C"), snap("suArBr", "D"), snap("suAxCr", "E")]
    first, second = threads(beside)
    assert numbers([first, second]) == [([0, 2, 4], []), ([1, 3], [])]
    # What both have in common is the first one's; the other one begins with all that it was sent.
    assert list(second.steps) == [Step(1, 0, True), Step(3, 5, True)]


def test_a_reply_in_another_form_is_known_unless_it_is_a_later_one_to_the_letter() -> None:
    def alike(earlier: int, number: int, place: int) -> bool:
        return requests[number].keys[place] in ("a", "B") and earlier == 0

    requests = [snap("su", "A"), snap("suar", "B")]
    # Without knowing the form, A seems not to have been used.
    assert numbers(threads(requests)) == [([1], [0])]
    assert numbers(threads(requests, alike)) == [([0, 1], [])]
    # After A came a hint and B; the hint is gone from the third, and B could be A in another form.
    requests = [snap("su", "A"), snap("suAh", "B"), snap("suBr", "C")]
    assert list(threads(requests, alike)[0].steps) == [Step(0, 0, True), Step(1, 3, True), Step(2, 3, False)]


def test_two_agents_are_two_threads_even_with_the_same_first_request() -> None:
    both = [snap("su", "A", "one"), snap("su", "B", "two"), snap("suAr", "C", "one"), snap("suBr", "D", "two")]
    assert numbers(threads(both)) == [([0, 2], []), ([1, 3], [])]


def test_two_contexts_that_begin_to_the_letter_alike_go_on_in_themselves() -> None:
    # As two traces do whose first request and reply are the same: each second request goes on from its own first one.
    requests = [snap("a", "b", "t1"), snap("a", "b", "t2"), snap("abc", "d", "t1"), snap("abe", "f", "t2")]
    assert [[step.number for step in thread.steps] for thread in threads(requests)] == [[0, 2], [1, 3]]


def test_thousands_of_contexts_that_begin_alike_take_no_time() -> None:
    begun = [snap("a", f"{number}", f"{number}") for number in range(4_000)]
    began = time.process_time()
    found = threads([*begun, *(snap(["a", one.reply, "b"], "c", one.context) for one in begun)])
    assert len(found) == 4_000 and time.process_time() - began < 2


def test_a_sub_agent_that_takes_over_the_history_and_gives_it_back() -> None:
    handed = [snap("su", "A", "main"), snap("suAt", "B", "helper"), snap("suAtBr", "C", "main")]
    assert numbers(threads(handed)) == [([0, 1, 2], [])]


def test_a_fork_into_another_context_is_a_thread_of_its_own() -> None:
    forked = [snap("su", "A", "main"), snap("suAx", "B", "fork"), snap("suAr", "C", "main")]
    assert threads(forked) == [Thread([Step(0, 0, True), Step(2, 3, True)], []), Thread([Step(1, 0, True)], [])]


def test_a_history_changed_in_its_middle_is_not_whole() -> None:
    # r becomes c (cleared): the newest reply that is still there is B at position 4, so what is new is r.
    (thread,) = threads([snap("su", "A"), snap("suAr", "B"), snap("suAcBr", "C")])
    assert thread.steps == [Step(0, 0, True), Step(1, 3, True), Step(2, 5, False)]


def test_a_history_that_holds_an_old_reply_twice_was_not_changed() -> None:
    (thread,) = threads([snap("su", "A"), snap("suAr", "B"), snap("suArBAr", "C")])
    assert thread.steps == [Step(0, 0, True), Step(1, 3, True), Step(2, 5, True)]


def test_a_compaction_down_to_the_first_request_is_no_retry() -> None:
    (thread,) = threads([snap("su", "A"), snap("su", "B", after_compaction=True)])
    assert (thread.steps, thread.abandoned) == ([Step(0, 0, True), Step(1, 2, False)], [])


def test_a_summary_needs_a_recorded_compaction_to_be_linked() -> None:
    before = [snap("su", "A"), snap("suAr", "B")]
    assert numbers(threads([*before, snap("sux", "C")])) == [([0, 1], []), ([2], [])]
    (thread,) = threads([*before, snap("sux", "C", after_compaction=True)])
    assert thread.steps == [Step(0, 0, True), Step(1, 3, True), Step(2, 2, False)]


@given(st.lists(st.tuples(st.text("abc", min_size=1, max_size=5), st.sampled_from("ABC"), st.sampled_from("12"))))
def test_every_request_is_in_one_place(made: list[tuple[str, str, str]]) -> None:
    requests = [snap(keys, reply, context) for keys, reply, context in made]
    found = threads(requests)
    placed = [step.number for thread in found for step in thread.steps] + [n for t in found for n in t.abandoned]
    assert sorted(placed) == list(range(len(requests)))
    for thread in found:
        assert [step.number for step in thread.steps] == sorted(step.number for step in thread.steps)
        assert all(0 <= step.known <= len(requests[step.number].keys) for step in thread.steps)
