"""A view by hand: what is read from it, what each edit leaves behind, and how it grows."""

from __future__ import annotations

from typing import Any

import pytest

from ctxsim.errors import ContractError
from ctxsim.transcript import Item, Kind, Sizes
from ctxsim.view import Edit, Made, View, each_exchange


def item(kind: Kind, place: int, message: int, text: str = "", **more: Any) -> Item:
    return Item(kind, place, message, text or f"text {place}", **more)


TASK, LOOK, ASK, OTHER = item("user", 0, 0), item("reasoning", 1, 1), item("tool_call", 2, 1), item("tool_call", 3, 1)
ONE, TWO = item("tool_result", 4, 2, answers=2), item("tool_result", 5, 3, answers=3)
SAID, MORE, AGAIN, LAST = (
    item("assistant", 6, 4),
    item("user", 7, 5),
    item("tool_call", 8, 6),
    item("tool_result", 9, 7),
)
ITEMS = [TASK, LOOK, ASK, OTHER, ONE, TWO, SAID, MORE, AGAIN, LAST]
"""A task; thoughts and two calls, with their results in two messages; an answer; a text; a call with its result."""


def view(*items: Item) -> View:
    """Each item measures as many characters as its text has."""
    return View(Sizes(lambda one: len(one.text))).grow(items or ITEMS)


def places(items: Any) -> list[int]:
    return [one.place for one in items]


# reading


def test_an_item_and_a_slice_of_a_view() -> None:
    # The list behind it is longer: another view grew from this one.
    short = view(*ITEMS[:4])
    short.grow(ITEMS[4:])
    assert (len(short), short[0], short[3], short[-1], short[-4]) == (4, TASK, OTHER, OTHER, TASK)
    for index in (4, -5):
        with pytest.raises(IndexError):
            short[index]
    assert (places(short), places(short[:]), places(short[1:9]), places(short[-2:])) == (
        [0, 1, 2, 3], [0, 1, 2, 3], [1, 2, 3], [2, 3],
    )  # fmt: skip
    assert (places(short[::2]), places(short[::-1]), places(short[2::-2])) == ([0, 2], [3, 2, 1, 0], [2, 0])
    assert places(short[3:1]) == [] == places(view(TASK)[1:])


def test_results_messages_and_exchanges() -> None:
    whole = view()
    assert places(whole.results) == [4, 5, 9] and whole.results is not whole.results
    assert [places(group) for group in whole.messages()] == [[0], [1, 2, 3], [4], [5], [6], [7], [8], [9]]
    exchanges = [[0], [1, 2, 3, 4, 5], [6], [7], [8, 9]]
    assert [places(group) for group in whole.exchanges()] == exchanges
    assert places(next(each_exchange(whole))) == [0]
    found = [places(whole.exchange(position)) for position in range(10)]
    assert found == [next(group for group in exchanges if place in group) for place in range(10)]
    assert (places(whole.exchange(-1)), places(whole.exchange(-10))) == ([8, 9], [0])
    assert view(*ITEMS[:1]).drop([0], "r").exchange(0) == []


@pytest.mark.parametrize(
    ("gone", "exchanges"),
    [
        # Results whose call has gone are messages of their own; behind an answer they don't join it.
        ((1, 2, 3), [[0], [4], [5], [6], [7], [8, 9]]), ((8,), [[0], [1, 2, 3, 4, 5], [6], [7], [9]]),
        ((2, 3), [[0], [1], [4], [5], [6], [7], [8, 9]]), ((4,), [[0], [1, 2, 3, 5], [6], [7], [8, 9]]),
        # Two responses behind one another, the first one's result has gone.
        ((0, 1, 2, 3), [[4], [5], [6], [7], [8, 9]]),
        ((4, 5, 6, 7), [[0], [1, 2, 3], [8, 9]]), ((0, 9), [[1, 2, 3, 4, 5], [6], [7], [8]]),
    ],
)  # fmt: skip
def test_the_exchanges_of_what_is_left(gone: tuple[int, ...], exchanges: list[list[int]]) -> None:
    left = view().drop(gone, "r")
    assert [places(group) for group in left.exchanges()] == exchanges
    for group in exchanges:
        for place in group:
            assert places(left.exchange(left.position(place))) == group


def test_the_first_exchange_and_results_of_one_message_as_some_logs_have_them() -> None:
    assert view(TASK).exchange(0) == [TASK]
    both = view(item("user", 0, 0), item("user", 1, 0))
    assert places(both.exchange(1)) == [0, 1] == places(both.exchange(0)) and both.partners([0]) == {0}
    # A result, an answer and a result: all of one message, behind a call of the same one.
    one = view(item("tool_call", 0, 0), item("tool_result", 1, 0), item("assistant", 2, 0), item("tool_result", 3, 1))
    assert [places(group) for group in one.exchanges()] == [[0, 1, 2, 3]]
    assert places(one.exchange(3)) == [0, 1, 2, 3] == places(one.exchange(0))


def test_where_an_item_is() -> None:
    made = view().drop([2], "r").insert("note", 4, "r").insert("later", 4, "r").insert("last", 9, "r")
    assert [one.place for one in made] == [0, 1, 3, -1, -2, 4, 5, 6, 7, 8, -3, 9]
    assert [made.position(place) for place in (0, 1, 3, 4, 9, -1, -2, -3)] == [0, 1, 2, 5, 11, 3, 4, 10]
    assert made.find(4) is ONE and made.find(-2) is made[4]
    assert made.find(2) is None is made.find(-4) and made.find(10) is None
    for place in (2, -4, 10):
        with pytest.raises(ContractError, match=f"item {place} is not in the view: it was dropped, or has not been"):
            made.position(place)


def test_what_must_stay_together() -> None:
    whole = view()
    assert whole.partners([]) == set()
    # A text and an answer have no partners; each member of an exchange has all of them; a stranger is itself.
    assert whole.partners([0]) == {0} and whole.partners([6, 7]) == {6, 7} and whole.partners([77]) == {77}
    for place in (1, 2, 3, 4, 5):
        assert whole.partners([place]) == {1, 2, 3, 4, 5}
    assert whole.partners([8]) == {8, 9} == whole.partners({9})
    # Of more than eight all exchanges are looked at: the same comes of it.
    assert whole.partners([0, 2, 6, 7, 8, 20, 21, 22]) == {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 20, 21, 22}
    assert whole.partners([0, 6, 7, 8, 20, 21, 22, 23, 24]) == {0, 6, 7, 8, 9, 20, 21, 22, 23, 24}


# editing


def test_many_items_are_edited_as_one_by_one() -> None:
    made = view().insert("note", 4, "r")
    many = [9, 8, -1, 5, 4, 3, 2, 1, 0]
    one = made
    for place in sorted(many, key=made.position, reverse=True):
        one = one.drop([place], "r")
    dropped = made.drop(many, "r")
    assert list(dropped) == list(one) and dropped.size == one.size and places(dropped) == [6, 7]
    assert [edit.position for edit in dropped.edits if edit.reason == "r" and edit.after is None] == [
        0, 1, 2, 3, 4, 5, 6, 9, 10
    ]  # fmt: skip
    rewritten = made.rewrite(dict.fromkeys(many, "new"), "r")
    assert [item.text == "new" for item in rewritten] == [place in many for place in places(made)]
    for edit in (made.drop, lambda of, why: made.rewrite(dict.fromkeys(of, "new"), why)):
        with pytest.raises(ContractError, match="item 77 is not in the view"):
            edit([*many, 77], "r")


def test_one_half_of_many_items_leaves_the_other() -> None:
    whole = View(Sizes(lambda item: 1)).grow([Item("user", place, place, "x") for place in range(18)])
    assert places(whole.drop(range(9), "r")) == [*range(9, 18)]


def test_a_rewrite_is_written_down_and_equal_texts_are_no_edit() -> None:
    whole = view()
    made = whole.rewrite({5: "b", 0: "text 0", 4: "a!"}, "shorter")
    assert made.edits == (
        Edit(ONE, ONE.with_text("a!"), 4, "shorter"), Edit(TWO, TWO.with_text("b"), 5, "shorter"),
    )  # fmt: skip
    # Ten texts of six characters; two of them have two and one instead.
    assert (whole.size, made.size, len(made), made.next_place) == (60, 51, 10, -1)
    assert [one.text for one in made.results] == ["a!", "b", "text 9"] and whole.edits == ()
    assert whole.rewrite({0: "text 0"}, "nothing") is whole is whole.rewrite({}, "nothing") is whole.drop([], "nothing")


def test_what_is_dropped_is_gone_from_all_but_the_view_before() -> None:
    whole = view()
    results = whole.results
    made = whole.drop({9, 5, 0}, "old")
    assert made.edits == (Edit(TASK, None, 0, "old"), Edit(TWO, None, 5, "old"), Edit(LAST, None, 9, "old"))
    assert (places(made), made.size, places(made.results)) == ([1, 2, 3, 4, 6, 7, 8], 42, [4])
    assert (places(whole), whole.size, whole.results) == (list(range(10)), 60, results)
    assert places(whole.drop([4], "r").results) == [5, 9]
    assert places(view().drop([4], "never asked for results before").results) == [5, 9]


def test_a_note_and_a_summary_are_inserted() -> None:
    whole = view()
    made = whole.insert("a note", 2, "told")
    note = Item("note", -1, -1, "a note", at=2)
    assert (made[2], places(made[:4]), made.size, made.next_place) == (note, [0, 1, -1, 2], 66, -2)
    assert made.edits == (Edit(None, note, 2, "told"),)
    more = made.insert("summed", 2, "again", "summary", {5, 4})
    assert more[3] == Item("summary", -2, -2, "summed", at=2, sources=(4, 5)) and more.next_place == -3
    assert more.edits == (*made.edits, Edit(None, more[3], 3, "again"))
    assert more.drop([-1], "r").next_place == -3, "no place is given twice"
    assert (places(more.results), places(made.insert("x", 3, "r")[:6])) == ([4, 5, 9], [0, 1, -1, 2, -2, 3])


@pytest.mark.parametrize(
    ("at", "order", "position"), [(-5, -5, 0), (0, 0, 0), (9, 9, 9), (10, 10, 10), (11, 10, 10), (999, 10, 10)]
)
def test_an_insert_stands_at_the_end_at_most(at: int, order: int, position: int) -> None:
    made = view().insert("x", at, "r")
    assert (made[position].place, made[position].at, len(made)) == (-1, order, 11)


def test_what_is_inserted_behind_an_insert_at_the_end_stands_with_it() -> None:
    made = view(TASK).insert("one", 5, "r").insert("two", 5, "r")
    assert [(one.text, one.order) for one in made] == [("text 0", 0), ("one", 1), ("two", 1)]
    empty = View(Sizes(lambda one: 1)).insert("first", 7, "r")
    assert [(one.text, one.order, one.place) for one in empty] == [("first", 0, -1)]
    assert (empty.size, empty.edits[0].position) == (1, 0)


def test_what_an_edit_is_called() -> None:
    edits = (Edit(None, TASK, 0, "r"), Edit(TASK, None, 0, "r"), Edit(TASK, TASK, 0, "r"))
    assert [edit.action for edit in edits] == ["inserted", "dropped", "edited"]
    assert Made("start", edits[0]).lasting


# growing


def test_a_view_that_grows_shares_its_items_until_another_has_grown() -> None:
    first = view(*ITEMS[:5])
    assert places(first.results) == [4]
    grown = first.grow((TWO, SAID))
    assert (len(grown), grown.size, places(grown.results), grown.edits) == (7, 42, [4, 5], ())
    other = first.grow([LAST])
    assert (places(other), places(other.results), places(grown.results)) == ([0, 1, 2, 3, 4, 9], [4, 9], [4, 5])
    assert places(first.results) == [4] and places(first) == [0, 1, 2, 3, 4]
    assert first.grow([]) is first is first.grow(())
    # Nothing but a text came: the results are as many.
    assert places(grown.grow([MORE]).results) == [4, 5] and places(view(TASK).grow([ONE]).results) == [4]
    assert grown.grew_from(first) and first.grew_from(first) and not first.grew_from(grown)
    assert not other.grew_from(first) and not grown.rewrite({0: "x"}, "r").grew_from(first)


def test_all_that_comes_of_a_view_is_of_its_line() -> None:
    whole = view()
    made = [whole.grow([item("user", 10, 9)]), whole.drop([0], "r"), whole.insert("x", 3, "r"), whole.settled()]
    assert all(one.lineage is whole.lineage for one in made) and view().lineage is not whole.lineage


def test_a_settled_view_begins_a_new_record() -> None:
    whole = view()
    assert whole.settled() is whole
    short = whole.drop([9], "r").insert("x", 3, "r")
    results = short.results
    grown = short.grow([LAST])
    settled = short.settled()
    assert (settled.edits, list(settled), settled.size, settled.next_place) == ((), list(short), short.size, -2)
    assert settled.results == results and places(settled.rewrite({0: "y"}, "r").results) == [4, 5]
    assert len(settled) == len(grown) - 1 and [one.reason for one in settled.drop([0], "next").edits] == ["next"]


def test_an_empty_view() -> None:
    empty = View(Sizes(lambda one: 1))
    assert (len(empty), empty.size, empty.edits, empty.next_place, list(empty)) == (0, 0, (), -1, [])
    assert empty.results == empty.messages() == empty[:] == empty.exchange(-1) == empty.exchanges() == []
