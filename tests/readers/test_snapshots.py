"""From whole requests to conversations: going on, rewinding, shortening, other agents."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ctxsim.readers.snapshots import Snapshot, Step, threads


def snap(keys: str, reply: str, context: str = "", after_compaction: bool = False) -> Snapshot:
    return Snapshot(list(keys), reply, context, after_compaction)


def numbers(snapshots: list[Snapshot]) -> tuple[list[list[int]], list[int]]:
    chains, abandoned = threads(snapshots)
    return [[step.number for step in chain] for chain in chains], abandoned


def test_a_request_that_starts_with_another_and_its_reply_continues_it() -> None:
    chains, abandoned = threads([snap("su", "A"), snap("suAr", "B"), snap("suArBr", "C")])
    # s u | A r | B r: two, then three, then five messages are not new
    assert chains == [[Step(0, 0, True), Step(1, 3, True), Step(2, 5, True)]]
    assert abandoned == []


def test_a_request_made_again_abandons_the_first_reply() -> None:
    assert numbers([snap("su", "A"), snap("su", "B"), snap("suBr", "C")]) == ([[1, 2]], [0])
    # Back to the reply that a later request holds, though another came after it.
    assert numbers([snap("su", "A"), snap("su", "B"), snap("suAr", "C")]) == ([[0, 2]], [1])
    # In the middle: B is made again as X.
    assert numbers([snap("su", "A"), snap("suAr", "B"), snap("suAr", "X")]) == ([[0, 2]], [1])


def test_two_agents_are_two_threads_even_with_the_same_first_request() -> None:
    both = [snap("su", "A", "one"), snap("su", "B", "two"), snap("suAr", "C", "one"), snap("suBr", "D", "two")]
    assert numbers(both) == ([[0, 2], [1, 3]], [])


def test_a_sub_agent_that_takes_over_the_history_and_gives_it_back() -> None:
    handed = [snap("su", "A", "main"), snap("suAt", "B", "helper"), snap("suAtBr", "C", "main")]
    assert numbers(handed) == ([[0, 1, 2]], [])


def test_a_fork_into_another_context_is_a_thread_of_its_own() -> None:
    forked = [snap("su", "A", "main"), snap("suAx", "B", "fork"), snap("suAr", "C", "main")]
    chains, abandoned = threads(forked)
    assert chains == [[Step(0, 0, True), Step(2, 3, True)], [Step(1, 0, True)]]
    assert abandoned == []


def test_a_history_changed_in_its_middle_is_not_whole() -> None:
    # r becomes c (cleared): the newest reply that is still there is B at position 4, so what is new is r.
    chains, _ = threads([snap("su", "A"), snap("suAr", "B"), snap("suAcBr", "C")])
    assert chains == [[Step(0, 0, True), Step(1, 3, True), Step(2, 5, False)]]


def test_a_summary_needs_a_recorded_compaction_to_be_linked() -> None:
    before = [snap("su", "A"), snap("suAr", "B")]
    assert numbers([*before, snap("sux", "C")]) == ([[0, 1], [2]], [])
    chains, _ = threads([*before, snap("sux", "C", after_compaction=True)])
    assert chains == [[Step(0, 0, True), Step(1, 3, True), Step(2, 2, False)]]


@given(st.lists(st.tuples(st.text("abc", min_size=1, max_size=5), st.sampled_from("ABC"), st.sampled_from("12"))))
def test_every_request_is_in_one_place(made: list[tuple[str, str, str]]) -> None:
    snapshots = [snap(keys, reply, context) for keys, reply, context in made]
    chains, abandoned = threads(snapshots)
    placed = [step.number for chain in chains for step in chain] + abandoned
    assert sorted(placed) == list(range(len(snapshots)))
    for chain in chains:
        assert [step.number for step in chain] == sorted(step.number for step in chain)
        assert all(0 <= step.known <= len(snapshots[step.number].keys) for step in chain)
