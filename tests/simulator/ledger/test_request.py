"""A request that is edited is the one that is made anew, and it knows what the one billed last had."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import transcripts

from ctxsim.simulator.ledger.frames import Frames
from ctxsim.simulator.ledger.request import BLOCK, HEAD, Request, place_in
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.vendor import Vendor, load_vendor
from ctxsim.transcript import Head, Item, Sizes, Transcript
from ctxsim.view import Edit, View

PLAIN = Provider()


def request_of(items: list[Item], provider: Provider = PLAIN, head: Head = Head()) -> Request:  # noqa: B008 - frozen
    """A request of these items that knows nothing."""
    made = Request(Frames(provider, provider.counter()), head)
    made.join(items)
    return made


def everything(request: Request) -> tuple[object, ...]:
    """All that can be asked of a request alone, but for identities, which are hashes."""
    return request.items, request.total, list(request.upto()), request.own(0, request.length)


def common(left: list[int], right: list[int]) -> int:
    """How many leading positions two requests share, one by one."""
    pairs = zip(left, right, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(left), len(right)))


def test_parallel_calls_in_front_of_all_else_are_edited_like_others() -> None:
    # The second call of a response tells that they are parallel, whatever stands behind; a third one doesn't.
    provider = Provider(framing="anthropic", model="claude-sonnet-4-5")
    one, two, three = (Item("tool_call", place, 0, "{}", f"tool{place}") for place in range(3))
    longer = two.with_text('{"path": "a"}')
    request = request_of([one, two], provider)
    request.edit([Edit(two, longer, 1, "")])
    assert everything(request) == everything(request_of([one, longer], provider))
    # A neighbour that changes stays where one before it leaves.
    request = request_of([one, two, three], provider)
    request.edit([Edit(one, None, 0, ""), Edit(two, longer, 0, "")])
    assert everything(request) == everything(request_of([longer, three], provider))


FRAMINGS = [("none", ""), ("openai", "gpt-5.5"), ("anthropic", "claude-sonnet-4-5")]


@settings(max_examples=75)
@given(st.sampled_from(FRAMINGS), transcripts(), st.data())
def test_an_edited_request_is_the_one_made_anew(
    framed: tuple[str, str], transcript: Transcript, data: st.DataObject
) -> None:
    vendor, model = framed
    provider = Provider(framing=vendor, model=model)
    request = request_of([], provider, transcript.head)
    view, joining = View(Sizes(len_of)), list(transcript.items)
    billed: list[Item] = []
    own = request.own(0, HEAD)
    changed = 0
    request.remember()
    while joining:
        for _ in range(data.draw(st.integers(1, len(joining)))):
            view = view.grow([joining.pop(0)])
        request.join(view[len(request.items) :])
        edited = edit_of(view, data)
        changed = min([changed, *map(position_of, edited.edits)])
        request.edit(edited.edits)
        kind = data.draw(st.sampled_from(["bill", "back", "on"]))
        if kind == "back":
            request.become(view)
        else:
            view = edited.settled()
        if data.draw(st.booleans()):
            request.upto()[data.draw(st.integers(0, request.length - 1))]
        anew = request_of(list(view), provider, transcript.head)
        assert everything(request) == everything(anew)
        assert [request.identity(at) for at in range(request.length)] == [
            anew.identity(at) for at in range(anew.length)
        ]
        shared = request.shared()
        assert shared == common(request.own(0, request.length), own)
        assert (request.remembered, request.lost(shared)) == (len(own), own[shared:])
        if HEAD <= shared < len(own):
            assert request.left_at(shared) is billed[shared - HEAD]
        assert request.changed_from == min(changed, len(billed))
        if kind == "bill":
            request.remember()
            billed, own, changed = list(view), request.own(0, request.length), len(view)


def len_of(item: Item) -> int:
    return len(item.text)


def position_of(edit: Edit) -> int:
    return edit.position


def edit_of(view: View, data: st.DataObject) -> View:
    """A view with some items gone, rewritten or new, or two of these in a row."""
    for _ in range(data.draw(st.integers(1, 2))):
        if not view:
            return view
        chosen = data.draw(st.sets(st.sampled_from([item.place for item in view]), max_size=4))
        match data.draw(st.sampled_from(["drop", "rewrite", "insert"])):
            case "drop" if len(chosen) < len(view):
                view = view.drop(chosen, "r")
            case "insert":
                view = view.insert("note", data.draw(st.integers(0, len(view) + 3)), "r", sources=chosen)
            case _:
                view = view.rewrite(dict.fromkeys(chosen, data.draw(st.sampled_from(["new", "newer"]))), "r")
    return view


def test_what_stands_two_items_behind_another_one_is_rendered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three calls of one response only the second one brings what parallel calls have around them. With a note in
    the first one's stead the third is the second.
    """
    framing = msgspec.structs.replace(load_vendor("none").framing, parallel=7)
    monkeypatch.setattr("ctxsim.simulator.ledger.frames.load_vendor", lambda name: Vendor("own", framing=framing))
    calls = [Item("tool_call", place, 1, "{}", "look") for place in range(3)]
    assert request_of(calls).total - request_of(calls[:2]).total == request_of(calls[:1]).total - request_of([]).total
    alone, second = request_of(calls[:1]).total, request_of(calls[:2]).total
    assert second - alone == alone - request_of([]).total + 7
    edited = request_of(calls)
    view = View(Sizes(len_of)).grow(calls).drop([0], "r").insert("note", 0, "r")
    edited.edit(view.edits)
    assert everything(edited) == everything(request_of(list(view)))


def test_a_change_far_from_the_end_reaches_all_tokens_behind_it() -> None:
    items = [Item("user", place, place, "word " * (place % 5)) for place in range(512)]
    request, anew = request_of(items), request_of([items[0], items[1].with_text("other"), *items[2:]])
    request.upto()
    request.edit([Edit(items[1], anew.items[1], 1, "r")])
    last = request.length - 1
    assert [request.upto()[at] for at in (last, last - 1, HEAD, HEAD + 1)] == [
        anew.upto()[at] for at in (last, last - 1, HEAD, HEAD + 1)
    ]
    assert list(request.upto()) == anew.upto()
    # Two tokens and three.
    two = request_of([item.with_text("word " * n) for n, item in enumerate(items[1:3], 1)])
    assert [two.items_within(tokens) for tokens in range(7)] == [0, 0, 1, 1, 1, 2, 2]


@settings(max_examples=50)
@given(st.integers(0, 3 * BLOCK), st.integers(0, 3 * BLOCK))
def test_an_identity_is_that_of_all_positions_up_to_it(changed: int, asked: int) -> None:
    items = [Item("user", place, place, "a") for place in range(3 * BLOCK + 1)]
    request = request_of(items)
    before = request.identity(HEAD + asked)
    request.edit([Edit(items[changed], items[changed].with_text("b"), changed, "r")])
    assert (request.identity(HEAD + asked) == before) == (changed > asked)
    last = request.own(HEAD + asked, HEAD + asked + 1)[0]
    assert request.identity_with(HEAD + asked, last) == request.identity(HEAD + asked)
    assert request.identity_with(HEAD + asked, 5) != request.identity(HEAD + asked)


def test_the_reason_of_the_first_change_is_known() -> None:
    items = [Item("user", place, place, f"text {place}") for place in range(4)]
    request = request_of(items)
    request.remember()
    request.edit([Edit(items[2], items[2].with_text("x"), 2, "later"), Edit(items[3], None, 3, "last")])
    assert (request.changed_from, request.cause, request.reshaped_from) == (2, "later", 0)
    request.reshaped_from = 4
    request.edit([Edit(items[1], None, 1, "first")])
    assert (request.changed_from, request.cause, request.reshaped_from) == (1, "first", 1)
    request.remember()
    assert (request.changed_from, request.cause) == (2, "")


def test_the_last_item_may_leave_before_another_one_does() -> None:
    items = [Item("user", place, place, f"text {place}") for place in range(4)]
    request = request_of(items)
    request.edit(View(Sizes(len_of)).grow(items).drop([3], "r").drop([1], "r").edits)
    assert everything(request) == everything(request_of([items[0], items[2]]))


def test_another_head_is_another_beginning() -> None:
    items = [Item("user", 0, 0, "text")]
    request = request_of(items, head=Head("one", ("tool",)))
    request.remember()
    request.with_head(Head("two", ("tool",)))
    assert (request.shared(), request.remembered) == (1, 3)
    assert everything(request) == everything(request_of(items, head=Head("two", ("tool",))))


def test_a_request_becomes_any_other() -> None:
    items = [Item("user", place, place, f"text {place}") for place in range(5)]
    request = request_of(items)
    request.remember()
    assert request.become([*items[:2], items[4]]) == request_of([*items[:2], items[4]]).total
    assert (request.shared(), request.changed_from) == (HEAD + 2, 2)
    fork = request.forked()
    assert fork.become(items[:1]) == request_of(items[:1]).total and (fork.items, fork.shared()) == (
        items[:1],
        HEAD + 1,
    )
    assert len(request.items) == 3, "a copy goes its own way"


def test_tokens_before_a_place_are_the_heads_and_those_of_all_that_stands_before_it() -> None:
    # " a" is a token: a head of 10, items of 1, 2, 4 and 8, and a note of 16 that stands before place 2.
    items = [Item("user", place, place, " a" * 2**place) for place in range(4)]
    note = Item("note", -1, 9, " a" * 16, at=2)
    request = request_of([*items[:2], note, *items[2:]], head=Head(" a" * 10))
    assert [request.upto()[request.last_before(order)] for order in range(5)] == [10, 11, 13, 33, 41]
    alone = request_of([], head=Head(" a" * 10))
    assert alone.upto()[alone.last_before(0)] == 10


def test_what_a_policy_puts_before_the_first_item_stands_before_it_the_older_first() -> None:
    first, second = (Item("user", place, place, "x") for place in (0, 1))
    older, newer, later = (Item("note", place, -1, "x", at=at) for place, at in ((-1, 0), (-2, 0), (-3, 1)))
    assert sorted([second, later, newer, first, older], key=place_in) == [older, newer, first, later, second]
