"""Small policies, driven by hand: each bound from both sides. By the character; a call of bash and {} is 6."""

from __future__ import annotations

import pytest
from by_hand import SUMMARY, Driven

from ctxsim.policies import Stop
from ctxsim.policies.clear_tool_uses import PLACEHOLDER
from ctxsim.policies.head_tail import head_tail
from ctxsim.policies.oracle_lossless import OracleLossless
from ctxsim.policies.recorded import Recorded
from ctxsim.transcript import CLEARED, Compaction, Item, Media

BY = "estimator=chars:ratio=1"


def shown(driven: Driven) -> str:
    """What is sent, without calls: the first character of each text, a star for a summary."""
    return "".join("*" if text == SUMMARY else text[0] for text in driven.sent() if text != "{}")


@pytest.mark.parametrize(("chars", "sent"), [(30, "t12"), (29, "t2"), (20, "t2"), (19, "t2")])
def test_char_budget_counts_no_calls(chars: int, sent: str) -> None:
    driven = Driven(f"char-budget:chars={chars},keep_tools=1", 1_000)
    driven.user("t" * 10)
    driven.calls("1" * 10)
    driven.calls("2" * 10)
    assert shown(driven) == sent


@pytest.mark.parametrize(("turns", "sent"), [(1, "2"), (2, "a12"), (3, "a12")])
def test_char_budget_keeps_all_where_there_are_no_more_turns_than_stay(turns: int, sent: str) -> None:
    driven = Driven(f"char-budget:chars=5,keep_turns={turns}", 1_000)
    driven.says("a" * 10)
    driven.user("1")
    driven.user("2")
    assert shown(driven) == sent


@pytest.mark.parametrize(
    ("options", "size", "cleared"),
    [
        # 10 and twice 50 are 110. A placeholder has 25 characters: clearing one of 44 frees 19.
        ("trigger=110,keep=1", 44, 0), ("trigger=109,keep=1", 44, 1), ("trigger=109,keep=0", 44, 2),
        ("trigger=109,keep=2", 44, 0), ("trigger=109,keep=3", 44, 0), ("trigger=109,keep=1,clear_at_least=19", 44, 1),
        ("trigger=109,keep=1,clear_at_least=20", 44, 0),
        # What frees nothing isn't cleared.
        ("trigger=1,keep=1", 25, 0), ("trigger=1,keep=1", 26, 1),
    ],
)  # fmt: skip
def test_clear_tool_uses(options: str, size: int, cleared: int) -> None:
    driven = Driven(f"clear-tool-uses:{options},{BY}", 1_000)
    driven.user("t" * 10)
    driven.calls("r" * size)
    driven.calls("r" * size)
    assert driven.sent().count(PLACEHOLDER) == cleared
    assert driven.threshold == int(options.partition(",")[0].removeprefix("trigger="))


def test_the_newest_exchange_may_be_a_text_of_the_user() -> None:
    for label in ("drop-all", f"fifo:budget=1,{BY}"):
        driven = Driven(label, 1_000)
        driven.user("task")
        driven.calls("a")
        driven.user("new")
        assert driven.sent() == ["task", "new"]
    assert driven.threshold == 1
    retry = Driven("retry", 1_000)
    retry.calls("a")
    retry.user("new")
    answer = retry.refused()
    assert answer is not None and [item.text for item in answer] == ["new"]
    assert retry.refused() is None


def marked(first: str, omitted: int, last: str, total: int = 6) -> str:
    return f"{first}\n[... omitted {omitted} of {total} lines ...]\n{last}"


A, B, E, F = "0123456789", "b" * 20, "e" * 20, "ABCDEFGHIJ"
ROWS = "\n".join([A, B, "c" * 30, "d" * 40, E, F])


@pytest.mark.parametrize(
    ("room", "kept"),
    # Two lines of each end are 10 + 1 + 20 bytes. The mark is 32; of what is left each end has half, or one more.
    [(200, marked(f"{A}\n{B}", 2, f"{E}\n{F}")), (62, marked(f"{A}\n{B}", 2, f"{E}\n{F}")),
     (61, marked(f"{A}\n{B}", 3, F)), (60, marked(A, 4, F)), (20, marked(A, 4, F)), (19, marked(A, 5, F[1:])),
     (18, marked(A[:9], 6, F[1:])), (3, marked("01", 6, "J")), (0, marked("", 6, ""))],
)  # fmt: skip
def test_ends_of_a_long_output(room: int, kept: str) -> None:
    assert head_tail(ROWS, 2, 32 + room) == kept


@pytest.mark.parametrize(
    ("text", "lines", "size", "kept"),
    [
        ("a\nb\nc\nd", 2, 7, "a\nb\nc\nd"), ("a\nb\nc\nd\ne", 2, 99, marked("a\nb", 1, "d\ne", 5)),
        ("a\nb\nc\nd\ne\nf", 2, 99, marked("a\nb", 2, "e\nf")),
        # Few lines, but too many bytes: the first half of the lines and the others, one of three being in the first.
        ("a\nb\n" + "c" * 60, 2, 32 + 10, marked("a\nb", 1, "ccccc", 3)),
        ("a" * 60 + "\nb\nc\nd", 9, 32 + 10, marked("aaaaa", 2, "c\nd", 4)),
        # Letters of two bytes aren't halved.
        ("\u00e9\u00e9abc" + "x" * 60 + "ab\u00e9c\u00e9", 9, 32 + 8, marked("\u00e9\u00e9", 1, "c\u00e9", 1)),
        ("\u00e9" * 40, 9, 32 + 9, marked("\u00e9\u00e9", 1, "\u00e9\u00e9", 1)),
    ],
)  # fmt: skip
def test_ends_by_lines_and_by_bytes(text: str, lines: int, size: int, kept: str) -> None:
    assert head_tail(text, lines, size) == kept


def test_what_no_later_call_needs_leaves_when_that_is_known() -> None:
    driven = Driven("oracle-lossless", 1_000)
    (oracle,) = driven.moments.links
    assert isinstance(oracle, OracleLossless)
    oracle.foresee({2: 2, 4: 2, 6: 3})
    driven.user("task")
    driven.calls("one")
    assert driven.sent() == ["task", "{}", "one"]
    driven.calls("two")
    stub = "[no longer needed]"
    assert driven.sent() == ["task", "{}", stub, "{}", stub]
    driven.calls(stub)
    assert driven.sent()[2::2] == [stub] * 3 and not driven.moments.view.edits
    pictured = Driven("oracle-lossless", 1_000)
    (oracle,) = pictured.moments.links
    assert isinstance(oracle, OracleLossless)
    oracle.foresee({1: 1, 9: 1})
    call, result = (
        Item("tool_call", 0, 0, "{}", "t"),
        Item("tool_result", 1, 1, "seen", "t", 0, "", (Media("image", 9),)),
    )
    pictured.moments.join([call, result])
    assert pictured.sent() == ["{}", "seen"], "a picture isn't cleared"


def test_what_the_recorded_agent_did_happens_at_its_calls() -> None:
    driven = Driven("recorded", 1_000)
    (recorded,) = driven.moments.links
    assert isinstance(recorded, Recorded) and recorded.bound
    recorded.follow([Compaction(3, 5, "auto", ("First.", "Second."), (3,))], [(2, 2), (2, 99)])
    driven.user("task")
    driven.calls("one")
    assert driven.sent() == ["task", "{}", "one"]
    driven.calls("two")
    assert driven.sent() == ["task", "{}", CLEARED, "{}", "two"]
    driven.says("so far")
    # A call that was kept goes with its result, which is before the fifth place as well.
    before, _ = driven.moments.before_call()
    assert [item.text for item in before] == ["First.", "Second.", "so far"]
    assert before[0].sources == (0, 1, 2, 4), "the first item too, and not the call that stayed"
    reasons = {made.edit.reason for made in driven.moments.tally.edits}
    assert reasons == {"cleared by the recorded agent", "compacted by the recorded agent (auto)"}
    nameless = Driven("recorded", 1_000)
    (recorded,) = nameless.moments.links
    assert isinstance(recorded, Recorded)
    recorded.follow([Compaction(1, 2, "", ("All.",), (1,))], [])
    for text in ("task", "kept", "next"):
        nameless.user(text)
    assert nameless.sent() == ["All.", "kept", "next"]
    assert {made.edit.reason for made in nameless.moments.tally.edits} == {"compacted by the recorded agent"}


@pytest.mark.parametrize(
    ("at", "keep", "sent"),
    # Texts of 10: 40 of 100. What is exactly the share is not over it. Fewer messages than stay aren't summarised.
    [(0.4, 2, "abcd"), (0.39, 2, "*cd"), (0.39, 1, "*d"), (0.39, 4, "abcd"), (0.39, 9, "abcd"), (0.39, 3, "*bcd")],
)
def test_summary_of_what_is_old(at: float, keep: int, sent: str) -> None:
    driven = Driven(f"summary:at={at},keep_last={keep},max_tokens=7,{BY}", 100)
    for letter in "abcd":
        driven.user(letter * 10)
    assert shown(driven) == sent
    assert driven.most == [7] * sent.count("*")
    old = 5 - len(sent)
    said = f"Compacted {old} items into a summary: estimate 40 over 39% of the window (100)"
    assert driven.told == [said] * sent.count("*")
    failing = Driven(f"summary:at={at},keep_last={keep},{BY}", 100, refuses=lambda items: True)
    for letter in "abcd":
        failing.user(letter * 10)
    assert shown(failing) == "abcd" and not failing.told


def test_three_layers_say_at_what_share() -> None:
    driven = Driven(f"three-layer:keep_last=1,{BY}", 100)
    driven.user("a" * 60)
    driven.user("b" * 10)
    assert driven.threshold == 70 and shown(driven) == "*b" and driven.most == [120]
    assert driven.told == ["Compacted 1 items into a summary: estimate at 70% of the window"]


def test_three_layers_stop_at_95_percent() -> None:
    # Only the newest exchange is there: nothing can be summarised away but the task.
    for size, stopped in ((949, False), (950, True)):
        driven = Driven(f"three-layer:at=1,{BY}", 1_000)
        driven.user("x" * size)
        request = driven.request()
        assert isinstance(request, Stop) is stopped
        assert not isinstance(request, Stop) or request.reason == "950 tokens are 95% of the window (1,000) or more"


def test_three_layers_cut_a_result_as_it_joins() -> None:
    driven = Driven("three-layer:lines=2,bytes=90", 1_000)
    (place,) = driven.calls("1\n2\n3\n4\n5")
    assert driven.text(place) == head_tail("1\n2\n3\n4\n5", 2, 90) != "1\n2\n3\n4\n5"


def test_three_layers_go_on_where_the_summary_makes_room() -> None:
    driven = Driven(f"three-layer:keep_last=1,{BY}", 100)
    driven.user("a" * 60)
    driven.user("b" * 38)
    assert shown(driven) == "*b"


def test_a_round_summary_stands_before_the_newest_round() -> None:
    driven = Driven("round-summary:every=2,max_tokens=7", 1_000)
    driven.user("task")
    driven.calls("1")
    driven.calls("2")
    assert shown(driven) == "t12"
    driven.calls("3")
    sent = driven.request()
    assert [item.text for item in sent] == ["task", SUMMARY, "{}", "3"] and driven.most == [7]  # type: ignore[union-attr]
    assert [item.order for item in sent] == [0, 5, 5, 6]  # type: ignore[union-attr]


THREE = "three-triggers:window=100,at=0.4,preserve=0.2,budget=50,buffer=5,target=25,messages=5,spare=1"


@pytest.mark.parametrize(
    ("options", "count", "sent"),
    [
        # Texts of 10. Over 40 to 20; over 55 to 25; over six messages to five.
        ("only=percentage", 4, "abcd"), ("only=percentage", 5, "de"), ("only=tokens", 5, "abcde"),
        ("only=tokens", 6, "ef"), ("only=messages", 6, "abcdef"), ("only=messages", 7, "cdefg"),
        ("only=all", 4, "abcd"), ("only=all", 5, "de"),
        # The newest stays whatever its size, and as much as is exactly the target.
        ("only=percentage,preserve=0.09", 5, "e"), ("only=percentage,preserve=0.1", 5, "e"),
        ("only=percentage,preserve=0.3", 5, "cde"), ("only=percentage,preserve=1", 5, "abcde"),
        ("only=percentage,reducer=summarizing", 5, "*de"),
        ("only=percentage,preserve=1,reducer=summarizing", 5, "abcde"),
        ("only=messages,messages=1,spare=0", 1, "a"), ("only=messages,messages=1,spare=0", 2, "b"),
    ],
)  # fmt: skip
def test_three_triggers_by_hand(options: str, count: int, sent: str) -> None:
    given = dict(pair.split("=") for pair in f"{THREE.partition(':')[2]},{options}".split(","))
    label = ",".join(f"{key}={value}" for key, value in given.items())
    driven = Driven(f"three-triggers:{label},{BY}", 1_000)
    for letter in "abcdefg"[:count]:
        driven.user(letter * 10)
    assert shown(driven) == sent
    assert driven.most == [500] * sent.count("*")


def test_with_tools_three_triggers_may_go_by_messages_alone() -> None:
    driven = Driven(f"{THREE},tools_by_messages=true,{BY}", 1_000)
    for letter in "abcde":
        driven.user(letter * 10)
    assert shown(driven) == "de", "no tool was called: tokens decide"
    driven = Driven(f"{THREE},tools_by_messages=true,{BY}", 1_000)
    for letter in "abc":
        driven.user(letter * 10)
    driven.calls("r" * 90)
    assert shown(driven) == "abcr"
    driven.says("s")
    assert shown(driven) == "abcrs"
    driven.says("t")
    # Five of seven messages: the result is the third of the five from behind, its call the fourth.
    assert shown(driven) == "crst"
    # The last five would begin with the result.
    driven.says("u")
    driven.says("v")
    assert driven.sent() == ["{}", "r" * 90, *"stuv"]


def test_three_triggers_count_what_came_after_the_last_summary() -> None:
    driven = Driven("three-triggers:only=messages,messages=4,spare=2,reducer=summarizing", 1_000)
    sent = []
    for number in range(13):
        driven.user(f"{number:x}")
        sent.append(shown(driven))
    assert sent[6:] == ["*3456", "*34567", "*345678", "**6789", "**6789a", "**6789ab", "***9abc"]
    assert [[item.text for item in asked] for asked in driven.asked] == [[*"012"], [*"345"], [*"678"]]
