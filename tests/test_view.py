"""The view is a value: edits give another view, totals follow, and nothing is edited without a record."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st
from samples import conversation, run_class
from strategies import transcripts

from ctxsim.policies import Policy
from ctxsim.simulator.ledger.request import place_in
from ctxsim.transcript import Item, Sizes, Transcript
from ctxsim.view import View


def grown(transcript: Transcript) -> View:
    view = View(Sizes(lambda item: len(item.text)))
    for item in transcript.items:
        view = view.grow([item])
    return view


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
