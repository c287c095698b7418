"""The values that a recorded conversation is made of, and every way in which one can break its own rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from ctxsim.transcript import Call, Compaction, Head, Item, Kind, Media, Sizes, Transcript, Usage, problems


def item(kind: Kind, place: int, **more: Any) -> Item:
    return Item(kind, place, place, f"text {place}", **more)


CALL, ANSWER = item("tool_call", 1, tool="read"), item("tool_result", 2, tool="read", answers=1)
GOOD = Transcript(
    "good", Head(),
    (item("user", 0), CALL, ANSWER, item("assistant", 3), item("user", 4), item("assistant", 5), item("user", 6)),
    (Call(1, 2), Call(3, 4), Call(5, 6)),
)  # fmt: skip
"""A task, a tool call with its result, an answer, and another turn. A last text has no answer."""


def with_item(place: int, /, **changed: Any) -> Transcript:
    items = list(GOOD.items)
    items[place] = msgspec.structs.replace(items[place], **changed)
    return msgspec.structs.replace(GOOD, items=tuple(items))


def also(**changed: Any) -> Transcript:
    return msgspec.structs.replace(GOOD, **changed)


@pytest.mark.parametrize(
    "made",
    [
        GOOD, Transcript("empty", Head(), (), ()), with_item(0, message=2**63 - 1), with_item(0, message=1 - 2**63),
        Transcript("said", Head(), (item("user", 0),), ()),
        # The first request has one item: all of it may be carried over, and a carried response is none of this one.
        also(carried=1),
        Transcript(
            "carried", Head(), (item("assistant", 0), item("user", 1), item("assistant", 2)), (Call(2, 3),), carried=1
        ),
        # A recording may begin with a response.
        Transcript("t", Head(), (item("tool_call", 0), item("tool_result", 1, answers=0)), (Call(0, 1),)),
        # A call may answer with nothing; two may be asked with the same.
        also(calls=(Call(1, 2), Call(3, 4), Call(4, 4), Call(5, 6))),
        # Before the second call, from the end of the first one to its own start; before one that doesn't follow.
        also(compactions=(Compaction(2, 2),)), also(compactions=(Compaction(2, 3, kept=(0, 2)),)),
        also(compactions=(Compaction(4, 6), Compaction(4, 7, kept=(6,)))),
        also(compactions=(Compaction(2, 3), Compaction(3, 4))),
        also(cleared=((1, 2), (4, 2))),
    ],
)  # fmt: skip
def test_what_can_be_replayed_has_no_problems(made: Transcript) -> None:
    assert problems(made) == []


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (with_item(0, place=1), ["item 0 says its place is 1"]),
        (with_item(6, message=2**63), [f"item 6 says its message is {2**63}"]),
        (with_item(6, message=-(2**63)), [f"item 6 says its message is {-(2**63)}"]),
        (with_item(0, kind="summary"), ["item 0 is a summary, which only policies make"]),
        (with_item(6, kind="note"), ["item 6 is a note, which only policies make"]),
        (with_item(2, answers=None), ["item 2 is a result that answers no earlier tool call"]),
        (with_item(2, answers=-1), ["item 2 is a result that answers no earlier tool call"]),
        (with_item(2, answers=0), ["item 2 is a result that answers no earlier tool call"]),
        (with_item(2, answers=2), ["item 2 is a result that answers no earlier tool call"]),
        (with_item(0, kind="tool_result", answers=1), ["item 0 is a result that answers no earlier tool call"]),
        # Calls that overlap, run backwards, or reach beyond the end.
        (also(calls=(Call(1, 2), Call(1, 4), Call(5, 6))),
         ["call 2 spans items 1..4, after 2", "call 2 has a tool_result in its response"]),
        (also(calls=(Call(1, 2), Call(3, 4), Call(5, 8))),
         ["call 3 spans items 5..8, after 4", "call 3 has a user in its response"]),
        (also(calls=(Call(1, 2), Call(4, 3), Call(5, 6))),
         ["call 2 spans items 4..3, after 2", "item 3 is a assistant outside any response",
          "item 3 is a assistant outside any response"]),
        (also(calls=(Call(1, 2), Call(4, 5), Call(5, 6))),
         ["call 2 has a user in its response", "item 3 is a assistant outside any response"]),
        # What is carried over may be a response; the first item is, this one isn't.
        (Transcript("t", Head(), tuple(item("assistant", n) for n in range(3)), (Call(2, 3),), carried=1),
         ["item 1 is a assistant outside any response"]),
        (also(carried=2), ["2 items are carried over, but the first request has 1"]),
        (also(carried=-1), ["-1 items are carried over, but the first request has 1"]),
        (Transcript("t", Head(), (item("user", 0),), (), carried=2),
         ["2 items are carried over, but the first request has 1"]),
    ],
)  # fmt: skip
def test_each_item_and_call_that_breaks_a_rule_is_told(made: Transcript, told: list[str]) -> None:
    assert problems(made) == told


ORDER = "is before call {}, which doesn't follow an earlier call"
KEEPS = "keeps places that are not earlier ones in order"


@pytest.mark.parametrize(
    ("compactions", "told"),
    [
        ([Compaction(1, 1)], [f"compaction 1 {ORDER.format(1)}"]),
        ([Compaction(5, 7)], [f"compaction 1 {ORDER.format(5)}"]),
        ([Compaction(3, 4), Compaction(2, 2)], [f"compaction 2 {ORDER.format(2)}"]),
        # What was wrong is left behind: the next one is measured by the last that was right.
        ([Compaction(1, 1), Compaction(2, 2)], [f"compaction 1 {ORDER.format(1)}"]),
        # The second call answers items 2 to 3: not at 1, which is before the first call's end, and not at 4.
        ([Compaction(2, 1)], ["compaction 1 before call 2 is at place 1, not between its neighbours"]),
        ([Compaction(2, 4)], ["compaction 1 before call 2 is at place 4, not between its neighbours"]),
        ([Compaction(3, 6)], ["compaction 1 before call 3 is at place 6, not between its neighbours"]),
        ([Compaction(4, 5)], ["compaction 1 before call 4 is at place 5, not between its neighbours"]),
        ([Compaction(4, 8)], ["compaction 1 before call 4 is at place 8, not between its neighbours"]),
        ([Compaction(2, 3, kept=(2, 0))], [f"compaction 1 {KEEPS}"]),
        ([Compaction(2, 3, kept=(0, 0))], [f"compaction 1 {KEEPS}"]),
        ([Compaction(2, 3, kept=(0, 3))], [f"compaction 1 {KEEPS}"]),
        ([Compaction(2, 3, kept=(-1, 0))], [f"compaction 1 {KEEPS}"]),
    ],
)  # fmt: skip
def test_each_compaction_that_breaks_a_rule_is_told(compactions: list[Compaction], told: list[str]) -> None:
    assert problems(also(compactions=tuple(compactions))) == told


@pytest.mark.parametrize("pair", [(0, 2), (5, 2), (2, -1), (2, 7), (2, 1)])
def test_only_a_result_of_a_request_can_be_cleared(pair: tuple[int, int]) -> None:
    told = f"place {pair[1]}, cleared from call {pair[0]} on, is no tool result of an earlier request"
    assert problems(also(cleared=((4, 2), pair))) == [told]


def test_what_a_tokenizer_counts_of_an_item_and_of_a_head() -> None:
    assert (CALL.texts, ANSWER.texts) == (("read", "text 1"), ("text 2",))
    assert Head("You help.", ("{}", "[]")).texts == ("You help.", "{}", "[]")
    head = Head()
    assert (head.texts, head.tools, head.recorded, head.hidden) == (("",), (), True, 0)


def test_an_item_of_a_policy_stands_where_it_says_and_a_recorded_one_at_its_place() -> None:
    made = Item("note", -1, -1, "made", at=7)
    assert [(one.synthetic, one.order) for one in (made, item("user", 0, at=9), item("user", 4, at=9))] == [
        (True, 7), (False, 0), (False, 4),
    ]  # fmt: skip
    assert Item("note", -1, -1).order == 0


def test_another_text_leaves_what_is_no_text() -> None:
    seen = Item("user", 0, 0, "look", media=(Media("image", 85),))
    assert seen.with_text("see") == Item("user", 0, 0, "see", media=(Media("image", 85),))


def test_tokens_as_an_endpoint_reports_them_that_is_off_by_a_factor() -> None:
    used = Usage(100, 7, 40, 30, None, 1.25, 20, 5)
    # Halves are cut off; what a call cost is no token count.
    assert used.reported(0.5) == Usage(50, 3, 20, 15, None, None, 10, 2)
    assert used.reported(2) == Usage(200, 14, 80, 60, None, None, 40, 10)
    assert used.reported(1) is used
    assert Usage(9).reported(0.5) == Usage(4)
    assert used.costing(0.5) == Usage(100, 7, 40, 30, None, 0.5, 20, 5) and used.costing(None).cost_usd is None


def test_the_tokens_of_a_prompt_and_its_response() -> None:
    assert (Usage(100, 7).total_tokens, Usage(100).total_tokens) == (107, 100)


def test_the_model_is_the_first_that_a_call_names() -> None:
    assert GOOD.model == ""
    assert also(calls=(Call(1, 2), Call(3, 4, model="b"), Call(5, 6, model="c"))).model == "b"


def test_what_is_not_said_of_a_call_or_a_conversation() -> None:
    call = Call(1, 2)
    assert (call.usage, call.time_s, call.model, call.comparable, call.head, call.window, call.held) == (
        None, None, "", True, None, None, None,
    )  # fmt: skip
    said = msgspec.structs.asdict(GOOD)
    assert {name: said[name] for name in said if name not in ("name", "head", "items", "calls")} == {
        "format": "", "parent": None, "notes": (), "needles": (), "compactions": (), "cleared": (), "carried": 0,
        "after_compaction": False, "compacted_at": None, "cost_usd": None, "project": "", "version": "", "beside": (),
    }  # fmt: skip


def test_each_form_of_an_item_is_measured_once() -> None:
    measured: list[str] = []

    def measure(one: Item) -> int:
        measured.append(one.text)
        return len(one.text)

    sizes = Sizes(measure)
    first, edited, again = item("user", 0), item("user", 0).with_text("short"), item("user", 0).with_text("other text")
    assert [sizes(first), sizes(first), sizes(edited), sizes(edited), sizes(first)] == [6, 6, 5, 5, 6]
    assert measured == ["text 0", "short"]
    # Of what policies made of it the last form is known, and the first is as recorded.
    assert [sizes(again), sizes(first), sizes(edited)] == [10, 6, 5]
    assert measured == ["text 0", "short", "other text", "short"]


class Counted(tuple[Item, ...]):
    """Items that know how often they were gone through."""

    times = 0

    def __iter__(self) -> Iterator[Item]:
        self.times += 1
        return super().__iter__()


def test_what_stands_in_one_tuple_is_added_up_once() -> None:
    sizes, three = Sizes(lambda one: len(one.text)), Counted((item("user", 0), item("user", 1), item("user", 10)))
    assert [sizes.of(three), sizes.of(three), sizes.of(()), three.times] == [19, 19, 0, 1]
    # A list may grow.
    growing = [*three[:2]]
    assert sizes.of(growing) == 12
    growing.append(three[2])
    assert sizes.of(growing) == 19
    # An edit of the same place is measured anew, wherever it stands.
    assert sizes.of((three[0].with_text("x"), three[1])) == 7
