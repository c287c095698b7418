"""Messages as frameworks hold them: results of one response together, the system message apart."""

from __future__ import annotations

from ctxsim.policies.foreign.shapes import Arguments, packed, without_head

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


def test_arguments_are_a_dict_for_a_framework_and_their_own_text_where_it_left_them_alone() -> None:
    held, spaced = Arguments(), '{"path":  "a.py"}'
    given = held.parsed("c1", spaced)
    assert given == {"path": "a.py"} and held.text("c1", given) == spaced
    given["path"] = "b.py"
    assert held.text("c1", given) == '{"path": "b.py"}'
    assert held.parsed("c2", "a.py") == {"input": "a.py"}
    assert held.text("c2", {"input": "a.py"}) == "a.py"
    assert held.parsed("c3", "") == {}
