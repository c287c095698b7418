"""Messages of a view that grows and is edited, and how a counter counts them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import pytest

from ctxsim.counting.estimators import Estimator
from ctxsim.policies.frameworks.chat import Message, counted, each_counted, messages, packed
from ctxsim.policies.policy import Surroundings
from ctxsim.transcript import Item, Sizes
from ctxsim.view import View

Grouped = Callable[[Sequence[Item]], list[Message]]

ITEMS = (
    Item("user", 0, 0, "task"),
    Item("assistant", 1, 1, "I look"),
    Item("tool_call", 2, 1, "{}", tool="ls"), Item("tool_call", 3, 1, "{}", tool="cat"),
    Item("tool_result", 4, 2, "a", tool="ls", answers=2), Item("tool_result", 5, 2, "b", tool="cat", answers=3),
    Item("assistant", 6, 3, "done"),
)  # fmt: skip


def places(found: Sequence[Message]) -> list[list[int]]:
    return [message.places for message in found]


@pytest.mark.parametrize("grouped", [messages, packed])
@pytest.mark.parametrize("end", range(len(ITEMS)))
def test_a_grown_view_has_the_messages_of_the_whole(grouped: Grouped, end: int) -> None:
    view = View(Sizes(lambda item: 1)).grow(ITEMS[:end])
    grouped(view).clear()
    assert places(grouped(view.grow(ITEMS[end:]))) == places(grouped(ITEMS))


def test_only_an_edited_message_is_another() -> None:
    view = View(Sizes(lambda item: 1)).grow(ITEMS)
    before, after = messages(view), messages(view.rewrite({4: "cleared"}, "test"))
    assert [a is b for a, b in zip(before, after, strict=True)] == [True, True, False, True, True]
    assert after[2].text == "cleared"


def test_another_transcript_ends_the_memory_of_the_last() -> None:
    view, other = (View(Sizes(lambda item: 1)).grow(items) for items in (ITEMS, [Item("user", 0, 0, "another")]))
    before = messages(view)
    messages(other)
    assert not any(a is b for a, b in zip(before, messages(view), strict=True))


@dataclass(frozen=True)
class Whole(Estimator):
    """Rounds the characters of all messages at once, as a user's own estimator may."""

    def text(self, text: str) -> int:
        return len(text)

    def messages(self, messages: Iterable[Sequence[Item]], system: str = "") -> int:
        return -(-sum(len(item.text) for message in messages for item in message) // 10)


def test_an_estimator_of_whole_messages_is_asked_for_them_together() -> None:
    sees = Surroundings(1_000, estimator=Whole())
    # 4, 10, 1, 1 and 4 characters.
    assert each_counted(sees, messages(ITEMS)) == [1, 1, 1, 1, 1]
    assert counted(sees, messages(ITEMS)) == 2
