"""What an agent lived, as a recording with its compactions, and the policy beside it."""

from __future__ import annotations

from ctxsim.live.observed import Observation, Shown
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.transcript import Usage
from evidence.driven import compared, lived


def observed(kept: tuple[int, ...]) -> Observation:
    """Four calls with a result each; the third request holds, of what came before it, only the places `kept`."""
    made = Assembly("talk", "", None)
    made.user("Do the task.")
    for number in range(4):
        made.response([Part("tool_call", "{}", "bash", str(number))], Usage(700 if number == 1 else 100, 0), None, "")
        made.result("x" * 40, str(number))
    transcript = made.transcript()
    requests = []
    for number, call in enumerate(transcript.calls, 1):
        shown = [Shown(item.place, item.text) for item in transcript.items[: call.start]]
        if number >= 3:
            shown = [one for one in shown if one.place in kept or one.place >= transcript.calls[1].start]
            shown.insert(0, Shown(None, "What was done."))
        requests.append((tuple(shown),))
    return Observation("observed:mine", transcript, tuple(requests), {}, {}, ())


def test_a_compaction_is_a_call_before_which_earlier_items_left() -> None:
    recorded = lived(observed(kept=(0,))).compactions
    assert [(one.call, one.started_by, one.summary) for one in recorded] == [(3, "auto", ("What was done.",))]
    assert {0, 3, 4} <= set(recorded[0].kept) and not {1, 2} & set(recorded[0].kept)
    assert lived(observed(kept=(0, 1, 2))).compactions == ()


def test_a_policy_is_told_what_the_agent_was_told() -> None:
    # 1,000 less 330 leaves 670: the usage of the second response is over it.
    label = "claude-code:reserve=200,buffer=130"
    found = compared(observed(kept=(0,)), label, 1_000, at_end=False)
    assert [(one.call, one.recorded, one.made) for one in found if one.recorded or one.made] == [(3, True, True)]
    both = next(one for one in found if one.made)
    assert both.held == both.would_hold == frozenset({4})
    found = compared(observed(kept=(0, 1, 2)), label, 1_000, at_end=False)
    assert [one.equal for one in found] == [True, True, False, True]
