"""What a view still holds of planted needles and of needs, by hand."""

from __future__ import annotations

import msgspec
from samples import ASK, chat, conversation

from ctxsim.simulator.references.finding import prepare
from ctxsim.simulator.references.survival import Counts, Needles, Survival, all_kept
from ctxsim.transcript import Item, Needle
from ctxsim.view import Edit, Made

PLANTED = (
    Needle("fact", "The Key is 4711", 2, "deep", (2, 3)),
    Needle("rule", "Answer in Latin", 0, "deep", (3, 3), "Answer in Greek"),
)
MADE = msgspec.structs.replace(conversation("The key is 4711.", "ok"), needles=PLANTED)
"""Calls 1 to 3 answer what stands at 0, at 2 and at 4."""


def held(view: list[Item], number: int, needles: Needles | None = None) -> list[tuple[int, bool, bool]]:
    asked = (needles or Needles(MADE)).call(number, view)
    assert all(needle == PLANTED[index] for index, needle, _, _ in asked)
    return [(index, kept, old) for index, _, kept, old in (needles or Needles(MADE)).call(number, view)]


def test_needles_are_looked_up_whole_at_the_calls_that_use_them() -> None:
    items = list(MADE.items)
    assert Needles(MADE).first_sent == [2, 1]
    assert held(items[:1], 1) == [] and held(items[:3], 2) == [(0, True, False)]
    # A rule that is used twice is asked for twice; what it replaced isn't it.
    assert held(items, 3) == [(0, True, False), (1, False, False), (1, False, False)]
    for text, kept, old in (
        ("Answer in latin!", True, False), ("answer in greek", False, True), ("Answer in Latin, not answer in Greek",
        True, False),
        ("Answer in", False, False),
    ):  # fmt: skip
        assert held([items[0].with_text(text)], 3)[1:] == [(1, kept, old)] * 2
    # Thinking keeps nothing; a call keeps its values.
    assert held([Item("reasoning", 0, 0, "The key is 4711")], 2) == [(0, False, False)]
    assert held([Item("tool_call", 0, 0, '{"the key is 4711": 1}')], 2) == [(0, False, False)]
    assert held([Item("tool_call", 0, 0, '{"x": "the key is 4711"}')], 2) == [(0, True, False)]


def test_a_text_is_looked_into_once_for_each_place() -> None:
    needles = Needles(MADE)
    for text, kept in (("The key is 4711", True), ("cut", False), ("The key is 4711", True)):
        assert held([MADE.items[2].with_text(text)], 2, needles) == [(0, kept, False)]


USED = ("assistant", "zebra_one 4711 zebra_two")
NEEDED = chat(
    ("user", "See zebra_two."), ASK, ("tool_result", "zebra_one 4711"), ASK, ("tool_result", "ok"), USED, ("user",
    "And?"),
    USED,
)  # fmt: skip
"""Call 3 uses what stands in the result at 2 and the user's text at 0; call 4 uses all again."""


def edit(before: Item | None, after: Item | None, moment: str = "before_call", lasting: bool = True) -> Made:
    return Made(moment, Edit(before, after, 0, "r"), lasting)


def test_counts_of_a_view_that_nobody_edited() -> None:
    third = Counts(
        refs_needed_strict=2, refs_kept_strict=2, refs_needed_carried=2, refs_kept_carried=2, refs_needed_values=1,
        refs_kept_values=1, refs_needed_user=1, refs_kept_user=1,
    )  # fmt: skip
    # What call 3 had just written call 4 needs of nobody.
    assert all_kept(prepare(NEEDED)) == [Counts(), Counts(), third, Counts()]


def test_what_edits_take_from_a_call_and_give_back() -> None:
    references = prepare(NEEDED)
    result, task = NEEDED.items[2], NEEDED.items[0]
    lost = references.needs(3)

    def after(*edits: Made) -> Counts:
        return Survival(references).call(3, edits)

    gone = after(edit(result, None))
    assert (gone.refs_kept_strict, gone.refs_kept_values, gone.refs_kept_carried, gone.refs_kept_user) == (0, 0, 0, 1)
    assert gone.lost == lost and [need.atom for need in lost] == ["4711", "zebra_one"]
    # Cut, but for one of them; in a summary; back as it was; not for this call any more.
    assert after(edit(result, result.with_text("4711, cut"))).lost == lost[1:]
    summary = Item("summary", -1, 9, "zebra_one", at=2)
    assert after(edit(result, None), edit(None, summary)).lost == lost[:1]
    assert after(edit(result, result.with_text("cut")), edit(result.with_text("cut"), result)).lost == ()
    assert after(edit(result, None, "after_call")).lost == ()
    assert after(edit(result, result.with_text("cut")), edit(result.with_text("cut"), None)).lost == lost
    assert (
        after(edit(task, None)).refs_kept_user == 0
        and after(edit(task, task.with_text("Zebra_Two"))).refs_kept_user == 1
    )
    # Thinking that is put in holds nothing.
    assert after(edit(result, None), edit(None, Item("reasoning", -2, 9, "zebra_one 4711", at=2))).lost == lost


def test_edits_of_one_request_are_unmade_behind_it_and_later_ones_made() -> None:
    survival = Survival(prepare(NEEDED))
    result = NEEDED.items[2]
    cut, summary = result.with_text("cut"), Item("summary", -1, 9, "x", at=2)
    survival.begin([edit(result, cut, lasting=False), edit(None, summary), edit(NEEDED.items[4], None, "after_call")])
    assert (survival.gone, survival.changed, survival.synthetic) == ({2}, {2: cut, -1: summary}, {-1})
    survival.end([edit(result, cut, lasting=False), edit(None, summary), edit(NEEDED.items[4], None, "after_call")])
    assert (survival.gone, survival.changed, survival.synthetic) == ({4}, {-1: summary}, {-1})
    survival.begin([edit(summary, None)])
    assert (survival.gone, survival.changed, survival.synthetic) == ({4, -1}, {}, set())


def test_what_was_found_in_a_changed_item_goes_with_it() -> None:
    survival = Survival(prepare(NEEDED))
    result = NEEDED.items[2]
    one, both = result.with_text("zebra_one"), result.with_text("zebra_one 4711.")
    kept = []
    for before, after in ((result, one), (one, both), (both, one), (one, None)):
        survival.begin([edit(before, after)])
        kept.append(survival.counts(3).refs_kept_strict)
    assert kept == [1, 2, 1, 0]


def test_nothing_is_counted_where_nothing_is_needed() -> None:
    assert msgspec.structs.astuple(Counts()) == ((), *[0] * 12)
