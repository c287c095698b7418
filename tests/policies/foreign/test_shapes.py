"""Messages as frameworks hold them: results of one response together, the system message apart."""

from __future__ import annotations

from ctxsim.policies.foreign.conversation import packed, without_head

SYSTEM = {"role": "system", "content": "Be brief."}
USER = {"role": "user", "content": "Go."}
ASKS = {"role": "assistant", "content": None}
RESULTS = [{"role": "tool", "content": text} for text in ("one", "two")]


def test_a_system_message_stands_apart_only_at_the_beginning() -> None:
    assert without_head([SYSTEM, USER, ASKS]) == ([SYSTEM], [USER, ASKS])
    assert without_head([USER, SYSTEM]) == ([], [USER, SYSTEM])
    assert without_head([]) == ([], [])


def test_results_of_one_response_are_packed_together() -> None:
    messages = [USER, ASKS, *RESULTS, ASKS, RESULTS[0]]
    assert list(packed(messages)) == [[USER], [ASKS], RESULTS, [ASKS], [RESULTS[0]]]
    assert list(packed([*RESULTS, USER])) == [RESULTS, [USER]]
    assert list(packed([])) == []
