"""The calls of a recording one by one: what joins each request, whose reasoning goes, and when it is sent."""

from __future__ import annotations

import msgspec
import pytest
from samples import ASK, TASK, chat

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.simulator.ledger import Ledger
from ctxsim.simulator.ledger.frames import Frames
from ctxsim.simulator.ledger.legs import INSERTED, SPREAD, Leg, legs_of, recorded
from ctxsim.simulator.provider import Provider
from ctxsim.transcript import Head, Item, Transcript, Usage

COUNTER = Counter(open_tokenizer())
MADE = chat(TASK, ("reasoning", "hm"), ASK, ("tool_result", "r"), ("reasoning", "so"), ("assistant", "done"),
            ("user", "more"), ("assistant", "no"))  # fmt: skip
"""Three calls: at places 1 and 2, 4 and 5, and 7; users speak at 0 and 6, and 3 is the result."""


def places(items: tuple[Item, ...]) -> list[int]:
    return [item.place for item in items]


def legs(transcript: Transcript = MADE, apart: int = 1, **rules: object) -> list[Leg]:
    provider = Provider(**rules)  # type: ignore[arg-type]
    return legs_of(transcript, provider, Frames(provider, COUNTER), apart)


@pytest.mark.parametrize(("reasoning", "answered", "turns"), [
    ("all", [[1, 2], [4, 5], [7]], [False] * 3), ("never", [[2], [5], [7]], [False] * 3),
    ("current_turn", [[1, 2], [4, 5], [7]], [True, False, True]),
])  # fmt: skip
def test_a_response_joins_with_the_reasoning_that_is_sent_again(
    reasoning: str, answered: list[list[int]], turns: list[bool]
) -> None:
    found = legs(reasoning=reasoning)
    assert [one.number for one in found] == [1, 2, 3] and [one.new_from for one in found] == [0, 1, 4]
    assert [places(one.joining) for one in found] == [[0], [3], [6]]
    assert [places(one.response) for one in found] == [[1, 2], [4, 5], [7]]
    assert [places(one.answered) for one in found] == answered and [one.begins_turn for one in found] == turns


def test_what_joined_before_a_turn_joins_without_its_reasoning() -> None:
    # The first call sends what others began: of reasoning before the last user's text none, of that behind it all.
    begun = msgspec.structs.replace(MADE, calls=(msgspec.structs.replace(MADE.calls[1], start=5), MADE.calls[2]))
    assert places(legs(begun, reasoning="current_turn")[0].joining) == [0, 1, 2, 3, 4]
    late = msgspec.structs.replace(MADE, calls=MADE.calls[2:])
    assert places(legs(late, reasoning="current_turn")[0].joining) == [0, 2, 3, 5, 6]
    assert places(legs(late, reasoning="never")[0].joining) == [0, 2, 3, 5, 6]
    assert places(legs(late, reasoning="all")[0].joining) == [0, 1, 2, 3, 4, 5, 6]


def test_places_and_messages_can_lie_apart() -> None:
    found = legs(apart=3)
    assert [places(one.joining) for one in found] == [[0], [9], [18]] and [one.new_from for one in found] == [0, 3, 12]
    assert found[1].joining[0].answers == 6 and found[0].joining[0].answers is None
    assert found[2].joining[0].message == 3 * MADE.items[6].message
    spread = Ledger(MADE, Provider(), COUNTER).spread.legs
    assert [places(tuple(map(recorded, one.joining))) for one in spread] == [[0], [3], [6]]
    # What a replay inserted has a place before all, and what a policy made stays what it is.
    inserted = msgspec.structs.replace(spread[1].joining[0], place=3 * SPREAD + 5)
    made = Item("summary", -1, 0, "So far.")
    assert recorded(inserted).place == INSERTED - 3 * SPREAD - 5 and recorded(made) is made


def test_a_call_comes_when_it_was_recorded_else_at_the_pace() -> None:
    def seconds(*times: float | None) -> list[float]:
        calls = [msgspec.structs.replace(call, time_s=at) for call, at in zip(MADE.calls, times, strict=True)]
        found = legs(msgspec.structs.replace(MADE, calls=tuple(calls)), pace_s=7.0)
        return [one.scheduled_s for one in found]

    assert seconds(100.0, 130.0, 131.5) == [0.0, 30.0, 31.5] and seconds(100.0, None, 90.0) == [0.0, 7.0, 0.0]
    assert seconds(None, 130.0, 140.0) == [0.0, 7.0, 14.0]


def test_output_is_as_recorded_else_counted_and_a_calls_own_head_goes_with_it() -> None:
    first, second, third = MADE.calls
    own = Head("other")
    calls = (
        msgspec.structs.replace(first, usage=Usage(9, 0)),
        msgspec.structs.replace(second, usage=Usage(9), head=own),
        third,
    )
    found = legs(msgspec.structs.replace(MADE, calls=calls))
    counted = [sum(COUNTER.item(MADE.items[place]) for place in one) for one in ([4, 5], [7])]
    assert [one.tokens_output for one in found] == [0, *counted]
    assert [one.head for one in found] == [MADE.head, own, MADE.head]
