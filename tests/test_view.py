"""The view is a value: edits give another view, totals follow, and nothing is edited without a record."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import conversation, run_class
from strategies import transcripts

from ctxsim.errors import ContractError
from ctxsim.policies import Policy
from ctxsim.simulator.ledger.request import place_in
from ctxsim.transcript import Item, Sizes, Transcript
from ctxsim.view import View


def grown(transcript: Transcript) -> View:
    view = View(Sizes(lambda item: len(item.text)))
    for item in transcript.items:
        view = view.grow([item])
    return view


@settings(max_examples=60)
@given(transcripts(), st.data())
def test_any_edits_keep_size_order_and_the_old_view(transcript: Transcript, data: st.DataObject) -> None:
    view = grown(transcript)
    for _ in range(4):
        before, results = list(view), view.results
        places = [item.place for item in view]
        chosen = data.draw(st.sets(st.sampled_from(places), max_size=3) if places else st.just(set()))
        action = data.draw(st.sampled_from(["drop", "rewrite", "insert"]))
        if action == "drop":
            edited = view.drop(chosen, "r")
            assert [item.place for item in edited] == [place for place in places if place not in chosen]
        elif action == "rewrite":
            edited = view.rewrite(dict.fromkeys(chosen, "new"), "r")
            assert [item.text for item in edited if item.place in chosen] == ["new"] * len(chosen)
        else:
            at = data.draw(st.integers(0, len(transcript.items)))
            edited = view.insert("note", at, "r", sources=chosen)
            assert len(edited) == len(view) + 1
        assert list(view) == before, "an edit changed the view that it was made from"
        assert view.results == results, "an edit changed the results of the view that it was made from"
        assert edited.results == [item for item in edited if item.kind == "tool_result"]
        assert edited.size == sum(len(item.text) for item in edited)
        assert list(edited) == sorted(edited, key=place_in), "older ones first where several stand at one place"
        assert len(edited) == len(view) + sum(
            (e.after is not None) - (e.before is not None)
            for e in edited.settled().edits or edited.edits[len(view.edits) :]
        )
        view = edited


def test_two_views_grow_apart_from_one() -> None:
    from samples import conversation

    items = conversation("one", "two").items
    view = View(Sizes(lambda item: 1)).grow([items[0]])
    left, right = view.grow([items[1]]), view.grow([items[2]])
    assert [list(v) for v in (view, left, right)] == [[items[0]], [items[0], items[1]], [items[0], items[2]]]


def test_a_dropped_item_cannot_be_dropped_again() -> None:
    from samples import conversation

    view = grown(conversation("one")).drop([0], "r")
    with pytest.raises(ContractError, match="item 0 is not in the view"):
        view.drop([0], "again")


def test_exchanges_and_partners() -> None:
    from samples import conversation

    # items: 0 task | 1 call, 2 result | 3 call, 4 result | 5 answer
    view = grown(conversation("one", "two"))
    assert [[item.place for item in group] for group in view.exchanges()] == [[0], [1, 2], [3, 4], [5]]
    assert view.partners([2]) == {1, 2}
    assert view.partners([0, 3]) == {0, 3, 4}


@settings(max_examples=100)
@given(transcripts(), st.data())
def test_the_exchange_at_a_position_is_one_of_the_exchanges(transcript: Transcript, data: st.DataObject) -> None:
    view = grown(transcript)
    # Orphans, and results behind results whose call has gone.
    view = view.drop(data.draw(st.sets(st.sampled_from([item.place for item in view]), max_size=4)), "r")
    groups: list[list[Item]] = []
    for message in view.messages():
        if groups and message[0].kind == "tool_result" and any(item.kind == "tool_call" for item in groups[-1]):
            groups[-1].extend(message)
        else:
            groups.append(message)
    assert view.exchanges() == groups
    for group in groups:
        for item in group:
            assert view.exchange(view.position(item.place)) == group
            asks = any(other.kind == "tool_call" for other in group)
            assert view.partners([item.place]) == ({one.place for one in group} if asks else {item.place})
    wanted = data.draw(st.sets(st.integers(0, len(transcript.items))))
    assert view.partners(wanted) == set().union(wanted, *(view.partners([place]) for place in wanted))


def test_inserts_at_the_end_leave_room_for_what_comes() -> None:
    from samples import conversation

    items = conversation("one").items
    view = View(Sizes(lambda item: 1)).grow([items[0]]).insert("a", 1, "r").insert("b", 9, "r").grow([items[1]])
    assert [item.text for item in view] == ["Do the task.", "a", "b", "{}"]
    assert [item.text for item in view.drop([1], "r")] == ["Do the task.", "a", "b"]


def test_an_insert_beyond_the_end_stands_at_the_end() -> None:
    @dataclass
    class Far(Policy):
        def before_call(self, view: View) -> View:
            texts = {item.place: item.text + "!" for item in view.results[-1:]}
            return view.insert("note", 10_000, "far").rewrite(texts, "and a rewrite")

    assert len(run_class(Far, conversation("a", "b", "c"))) == 4


def test_an_empty_view_has_no_exchange() -> None:
    # A log that begins with a response: its first request holds nothing that anybody knows of.
    empty = View(Sizes(lambda item: 1))
    assert empty.exchange(-1) == empty.exchanges() == []
