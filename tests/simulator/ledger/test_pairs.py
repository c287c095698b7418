"""Calls and results stay together, or the provider refuses."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from samples import conversation
from strategies import transcripts

from ctxsim.simulator.ledger.refused import PairCheck
from ctxsim.transcript import Item, Sizes, Transcript
from ctxsim.view import View


def test_pairs() -> None:
    # items: 0 task | 1 call, 2 result | 3 call, 4 result | 5 answer
    items = conversation("one", "two").items
    view = View(Sizes(lambda item: 0))
    for item in items[:5]:
        view = view.grow([item])
    assert PairCheck().errors(view) == []
    assert "result 2 has no call" in PairCheck().errors(view.drop([1], "r"))[0]
    assert "call 3 (tool) is not answered" in PairCheck().errors(view.drop([4], "r"))[0]
    assert "call 1 (tool) is not answered" in PairCheck().errors(view.insert("note", 2, "between"))[0]
    assert PairCheck().errors(view.insert("note", 3, "after an exchange")) == []


@settings(max_examples=40)
@given(transcripts(), st.data())
def test_checking_what_changed_is_checking_it_whole(transcript: Transcript, data: st.DataObject) -> None:
    check = PairCheck()
    view, changed_from = View(Sizes(lambda item: 0)), 0
    for item in transcript.items:
        view = view.grow([item])
        if data.draw(st.booleans()):
            drop = data.draw(st.sets(st.sampled_from([item.place for item in view]), max_size=2)) if len(view) else ()
            view = view.drop(drop, "r")
            changed_from = min([changed_from, *(edit.position for edit in view.edits)])
            view = view.settled()
            assert check.errors(view, changed_from) == PairCheck().errors(view)
            changed_from = len(view)


def test_after_an_edit_items_are_checked_from_the_message_before_it_on() -> None:
    begun = []

    class Items(list[Item]):
        def __getitem__(self, at: Any) -> Any:
            if isinstance(at, slice):
                begun.append(at.start)
            return super().__getitem__(at)

    # Calls at 1, 3 and 5 with their results: what changed at 5 follows the result at 4, whose call is at 3.
    items, check = Items(conversation("a", "b", "c").items), PairCheck()
    assert check.errors(items) == check.errors(items, 5) == [] and begun == [0, 3]
