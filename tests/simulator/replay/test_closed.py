"""The closed loop: what is lost and can be fetched is fetched again, once, and costs what a call costs. By hand."""

from __future__ import annotations

import pytest
from closed_loop import ASK, LATER, MASK, NAMES, ONE, PRICES, TOKENS, closed, loop_of
from msgspec.structs import replace
from samples import TASK, basis_of, chat, spec_of

from ctxsim.policies import Policy, open_policy
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.simulator.ledger import SPREAD
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.references.needs import Need
from ctxsim.simulator.references.survival import Survival
from ctxsim.simulator.replay import replay
from ctxsim.simulator.replay.closed import ClosedLoop
from ctxsim.transcript import Transcript
from ctxsim.view import View

QUOTED = "never remove green curtains before sunset"


def test_one_source_is_fetched_once_and_carried() -> None:
    loop, sent = closed(ONE)
    # Calls 1, 2, 3, then the inserted one and call 4 behind it, then call 5.
    assert [call for call, _, _ in sent] == [1, 2, 3, 4, 4, 5]
    assert loop.inserted == 1
    lacking, having = sent[3], sent[4]
    assert NAMES not in lacking[1]
    # It asks as the recording did, for as many tokens of output, and is answered with what the recording brought.
    assert lacking[2] == sent[0][2] == TOKENS("read") + TOKENS(ASK[1])
    assert having[1][-2:] == [ASK[1], NAMES]
    # The request without it was the model's all the same: the next one begins with it, as mask leaves the newest.
    assert having[1][: len(lacking[1]) - 1] == lacking[1][:-1]
    # It stays the newest result, and is carried from then on.
    assert NAMES in sent[5][1]
    # Nobody has written to where it is from; where somebody has, that is counted.
    items = list(ONE.items)
    items[3] = replace(items[3], text='{"file_path": "a.py", "content": "x"}', tool="Write")
    written, _ = closed(replace(ONE, items=tuple(items)))
    assert (loop.inserted, loop.changed, written.inserted, written.changed) == (1, 0, 1, 1)


def test_a_source_that_is_needed_twice_and_was_cut_again_is_fetched_twice() -> None:
    transcript = chat(
        TASK, ASK, ("tool_result", NAMES), LATER, ("tool_result", "ok"), LATER, ("tool_result", "fine"),
        ("tool_call", '{"path": "zebra_one"}'), ("tool_result", "1"), LATER, ("tool_result", "2"),
        ("assistant", "zebra_two"),
    )  # fmt: skip
    loop, sent = closed(transcript)
    # Before call 4 and before call 6; between them mask has replaced it again.
    assert [call for call, _, _ in sent] == [1, 2, 3, 4, 4, 5, 6, 6]
    assert loop.inserted == 2
    assert NAMES not in sent[5][1]
    assert NAMES not in sent[6][1]


def test_a_result_cut_as_it_joins_is_asked_for_once() -> None:
    transcript = chat(
        TASK, ASK, ("tool_result", "filler " * 200 + NAMES), LATER, ("tool_result", "ok"), ("assistant", NAMES)
    )
    loop, sent = closed(transcript, "max-result-chars:chars=100")
    # Fetched, cut again, and still not there: the agent goes on without it.
    assert [call for call, _, _ in sent] == [1, 2, 3, 3]
    assert loop.inserted == 1


def test_two_results_of_one_response_come_with_one_call() -> None:
    transcript = chat(
        TASK, ("assistant", "Both."), ASK, LATER, ("tool_result", "zebra_one"), ("tool_result", "zebra_two"),
        ("tool_call", "{}"), ("tool_result", "ok"), ("tool_call", "{}"), ("tool_result", "fine"), ("assistant", NAMES),
    )  # fmt: skip
    loop, sent = closed(transcript)
    assert loop.inserted == 1
    # mask keeps the newest alone as they join again: for the other one is not asked a second time.
    assert sent[3][2] == sent[0][2]
    assert [call for call, _, _ in sent] == [1, 2, 3, 4, 4]


class Forgetful(Policy):
    """Keeps the newest three items, and what they belong to."""

    name = "forgetful"

    def before_call(self, view: View) -> View:
        kept = view.partners(item.place for item in view[-3:])
        gone = [item.place for item in view if item.place not in kept and item.kind != "user"]
        return view.drop(gone, "old")


def test_a_policy_sees_one_conversation_in_order() -> None:
    basis = basis_of(ONE, Provider(prices=PRICES))
    loop = ClosedLoop(basis.ledger, spec_of(Forgetful), basis.references, basis.kept, basis.fetching, lambda: True)
    for sent in loop:
        places = [item.place for item in sent.view]
        assert places == sorted(set(places))
        assert sent.status == "ok"
        calls = {item.place for item in sent.view if item.kind == "tool_call"}
        assert {item.answers for item in sent.view if item.kind == "tool_result"} == calls
    assert loop.inserted == 1


def test_what_was_fetched_and_is_still_there_is_not_fetched_again() -> None:
    transcript = chat(
        TASK, ASK, ("tool_result", NAMES), LATER, ("tool_result", "ok"), LATER, ("tool_result", "fine"),
        ("assistant", "zebra_one"), ("user", "And?"), ("assistant", "zebra_two"),
    )  # fmt: skip
    loop, sent = closed(transcript)
    assert [call for call, _, _ in sent] == [1, 2, 3, 4, 4, 5] and loop.inserted == 1


@pytest.mark.parametrize(
    ("cut", "said"),
    [
        # What the same call still had before its eyes when it was cut, and what is only quoted.
        ("max-result-chars:chars=3", [("assistant", NAMES)]),
        ("mask:keep=1", [LATER, ("tool_result", "ok"), LATER, ("tool_result", "fine"), ("assistant", QUOTED)]),
    ],
)
def test_only_identifiers_that_have_aged_are_fetched(cut: str, said: list[tuple[str, str]]) -> None:
    held = NAMES if cut.startswith("max") else QUOTED
    transcript = chat(TASK, ASK, ("tool_result", held), *said)
    assert closed(transcript, cut)[0].inserted == 0
    assert losses_of(transcript, cut), "something is lost all the same"


def losses_of(transcript: Transcript, label: str) -> list[Need]:
    basis = basis_of(transcript, Provider(prices=PRICES))
    survival = Survival(basis.references, basis.kept)
    sent = replay(transcript, open_policy(label), basis.provider, basis.counter)
    return [need for one in sent for need in survival.call(one.call, one.tally.edits).lost]


def test_a_refused_request_is_not_answered_by_fetching() -> None:
    basis = basis_of(ONE, Provider(prices=PRICES, window=2))
    loop = loop_of(basis, MASK)
    assert {sent.status for sent in loop} == {"overflow"} and loop.inserted == 0


def test_messages_stay_apart() -> None:
    basis = basis_of(ONE, Provider(prices=PRICES))
    for sent in loop_of(basis, MASK):
        # Items of one message stand together, and come from one side.
        sides = [(item.message, item.kind in ("assistant", "tool_call")) for item in sent.view]
        assert len(dict.fromkeys(sides)) == len({message for message, _ in sides})
        assert [message for message, _ in sides] == sorted(message for message, _ in sides)


def test_a_miss_is_of_the_first_request_after_the_pause() -> None:
    # Nothing can be read at call 4, says the recording: the inserted request writes, call 4 itself reads what it wrote.
    calls = tuple(replace(call, held=0) if number == 3 else call for number, call in enumerate(ONE.calls))
    long = tuple(replace(item, text=item.text + " a" * 2_000) if item.place == 0 else item for item in ONE.items)
    provider = Provider(prices=PRICES, cache="openai")
    basis = basis_of(replace(ONE, items=long, calls=calls), provider)
    reads = {
        (sent.call, NAMES in [item.text for item in sent.view]): sent.bill.split.read for sent in loop_of(basis, MASK)
    }
    assert reads[4, False] == 0 < reads[4, True]


def test_what_came_over_from_before_a_compaction_can_be_fetched_too() -> None:
    # The first call sends an exchange that no call of this segment is answered by.
    transcript = replace(ONE, calls=ONE.calls[1:], carried=3)
    loop, sent = closed(transcript)
    assert [call for call, _, _ in sent] == [1, 2, 3, 3, 4] and loop.inserted == 1
    assert sent[2][2] == TOKENS("read") + TOKENS(ASK[1])


def test_what_is_fetched_is_apart_from_what_is_recorded_however_long_the_recording() -> None:
    long = chat(*[("user", f"line {n}") for n in range(1_022)], *((item.kind, item.text) for item in ONE.items))
    loop, sent = closed(long)
    assert [call for call, _, _ in sent] == [1, 2, 3, 4, 4, 5] and loop.inserted == 1


def asked_for_three(*used: str) -> Transcript:
    """One response thinks, speaks and calls three tools; three calls later some of what they brought is used."""
    made = Assembly("three")
    made.user("Go.")
    calls = [Part("tool_call", "{}", "read", call_id) for call_id in ("a", "call-b", "")]
    made.response([Part("reasoning", "hm"), Part("assistant", "Both."), *calls])
    for text, call_id in (("zebra_one", "a"), ("zebra_two", "call-b"), ("zebra_three", "")):
        made.result(text, call_id)
    for number in range(2):
        made.response([Part("tool_call", '{"n": 1}', "read", f"x{number}")])
        made.result("ok", f"x{number}")
    made.response([Part("assistant", " ".join(used))])
    return made.transcript()


# Of the last recorded item, the result at 12 in message 7, the first free places are those right behind it.
BEHIND, MESSAGE = 12 * SPREAD, 7 * SPREAD


@pytest.mark.parametrize(("used", "brought", "output"), [
    # Without the thinking and the other call: 2 tokens of text and 2 of each call.
    (("zebra_one", "zebra_two"), [
        (BEHIND + 1, MESSAGE + 1, "assistant", "Both.", None, ""), (BEHIND + 2, MESSAGE + 1, "tool_call", "{}", None,
        "~"),
        (BEHIND + 3, MESSAGE + 1, "tool_call", "{}", None, "call~0"),
        (BEHIND + 4, MESSAGE + 2, "tool_result", None, BEHIND + 2, "~"),
        (BEHIND + 5, MESSAGE + 2, "tool_result", "zebra_two", BEHIND + 3, "call~0"),
    ], 6),
    (("zebra_three",), [
        (BEHIND + 1, MESSAGE + 1, "assistant", "Both.", None, ""), (BEHIND + 2, MESSAGE + 1, "tool_call", "{}", None,
        ""),
        (BEHIND + 3, MESSAGE + 2, "tool_result", "zebra_three", BEHIND + 2, ""),
    ], 4),
    # All that was called for, with as many tokens as it took the first time, thinking too.
    (("zebra_one", "zebra_two", "zebra_three"), [
        (BEHIND + 1, MESSAGE + 1, "assistant", "Both.", None, ""), (BEHIND + 2, MESSAGE + 1, "tool_call", "{}", None,
        "~"),
        (BEHIND + 3, MESSAGE + 1, "tool_call", "{}", None, "call~0"), (BEHIND + 4, MESSAGE + 1, "tool_call", "{}",
        None, ""),
        (BEHIND + 5, MESSAGE + 2, "tool_result", None, BEHIND + 2, "~"),
        (BEHIND + 6, MESSAGE + 2, "tool_result", None, BEHIND + 3, "call~0"),
        (BEHIND + 7, MESSAGE + 2, "tool_result", "zebra_three", BEHIND + 4, ""),
    ], 9),
])  # fmt: skip
def test_what_is_inserted_stands_behind_what_was_sent(
    used: tuple[str, ...], brought: list[tuple[object, ...]], output: int
) -> None:
    loop = loop_of(basis_of(asked_for_three(*used), Provider(prices=PRICES, reasoning="all")), MASK)
    *_, lacking, having = loop
    new = [item for item in having.view if item.place > BEHIND]
    assert [
        (item.place, item.message, item.kind, shown and item.text, item.answers, item.call_id)
        for item, (_, _, _, shown, _, _) in zip(new, brought, strict=True)
    ] == brought
    assert (lacking.tokens_output, loop.inserted, loop.changed) == (output, 1, 0)
