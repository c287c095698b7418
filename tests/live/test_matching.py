"""What each item of a request is of the history, by its content, its place and its order."""

from __future__ import annotations

from typing import Any

import pytest
from endpoint import FIRST, SECOND, sample
from samples import chat

from ctxsim.live.matching import AROUND_CHARS, History, Match, Matched, Matcher, is_whole
from ctxsim.live.script import script_of
from ctxsim.readers.assembly import Part
from ctxsim.transcript import Item, Kind


def learnt(place: int, kind: Kind, text: str, tool: str = "", call_id: str = "") -> Item:
    return Item(kind, place, 0, text, tool, call_id=call_id)


def knowing(*known: Item) -> Matcher:
    made = Matcher()
    made.learn(known)
    return made


def item(kind: Kind, text: str, **more: Any) -> Item:
    return Item(kind, 0, 0, text, **more)


def placed(matcher: Matcher, *items: Item) -> list[tuple[int | None, str]]:
    return [(match.place, match.state) for match in matcher.match(items).matches]


# words that are said


def test_of_equal_texts_the_next_one_that_is_not_there_yet() -> None:
    yes = [
        learnt(0, "user", "Yes"),
        learnt(1, "assistant", "Fine."),
        learnt(2, "user", "Yes"),
        learnt(3, "user", "Yes"),
    ]
    matcher = knowing(*yes)
    text = item("user", " Yes\n")
    assert placed(matcher, text) == [(0, "kept")]
    # Behind an answer it is the one that follows that.
    assert placed(matcher, item("assistant", "Fine."), text, text) == [(1, "kept"), (2, "kept"), (3, "kept")]
    # When none is left behind it, one that stands before; then they are there twice.
    assert placed(matcher, item("assistant", "Fine."), *[text] * 5) == [
        (1, "kept"), (2, "kept"), (3, "kept"), (0, "kept"), (0, "twice"), (0, "twice"),
    ]  # fmt: skip
    assert matcher.match([text, text]).dropped == (1, 3)
    assert matcher.match([]) == Matched((), (0, 1, 2, 3))


def test_calls_are_known_by_id_then_by_words() -> None:
    matcher = knowing(
        learnt(0, "tool_call", '{"n": 1}', "read", "c1"), learnt(1, "tool_result", "x", "read", "c1"),
        learnt(2, "tool_call", '{"n": 1}', "read"), learnt(3, "assistant", '{"n": 1}', "read"),
    )  # fmt: skip
    assert placed(
        matcher, item("tool_call", "other words", tool="list", call_id="c1"),
        item("tool_call", '{"n": 1}', tool="read", call_id="c9"), item("tool_call", '{"n": 1}', tool="list"),
        item("reasoning", '{"n": 1}', tool="read"), item("assistant", '{"n": 1}', tool="read"),
    ) == [(0, "kept"), (2, "kept"), (None, "inserted"), (None, "inserted"), (3, "kept")]  # fmt: skip


# prompts and what is written around them

TWELVE = "Do the task."


@pytest.mark.parametrize(
    ("before", "behind", "known"),
    [
        # In a text of its own up to 400 characters more.
        ("x" * 200, "y" * (AROUND_CHARS - 200), True), ("x" * 200, "y" * (AROUND_CHARS - 199), False),
        # However much more where it begins or ends with it.
        ("", "y" * 900, True), ("x" * 900, "", True), ("", "", True),
    ],
)  # fmt: skip
def test_a_prompt_that_is_sent_again_with_other_words_around_it(before: str, behind: str, known: bool) -> None:
    assert AROUND_CHARS == 400
    matcher = knowing(learnt(0, "user", TWELVE))
    # The first time it is known in whatever stands around it.
    assert placed(matcher, item("user", f"{'a' * 900}{TWELVE}{'b' * 900}")) == [(0, "kept")]
    assert (placed(matcher, item("user", f"{before}{TWELVE}{behind}")) == [(0, "kept")]) == known
    assert placed(matcher, item("user", "Do another task.")) == [(None, "inserted")]


def test_a_short_prompt_is_known_alone() -> None:
    matcher = knowing(learnt(0, "user", "Do the job"))
    assert placed(matcher, item("user", "Do the job, then."), item("user", " Do the job")) == [
        (None, "inserted"), (0, "kept"),
    ]  # fmt: skip


def test_a_text_is_held_beside_each_prompt_once(monkeypatch: pytest.MonkeyPatch) -> None:
    # Of hundreds of prompts each request sends all again.
    held: list[str] = []
    real = Matcher._is_prompt
    monkeypatch.setattr(
        Matcher, "_is_prompt", lambda self, one, given: bool(held.append(given)) or real(self, one, given)
    )
    texts = [f"Do task {number}, please." for number in range(20)]
    matcher = knowing(*(learnt(number, "user", text) for number, text in enumerate(texts)))
    for _ in range(3):
        assert placed(matcher, *(item("user", text) for text in texts)) == [(n, "kept") for n in range(20)]
    assert len(held) == 20 * 20
    matcher.learn([learnt(20, "user", texts[0])])
    assert placed(matcher, *[item("user", texts[0])] * 2) == [(0, "kept"), (20, "kept")] and len(held) == 401


# results


def test_a_result_is_known_by_its_lines() -> None:
    twelve = "twelve chars"
    matcher = knowing(
        learnt(1, "tool_result", f"shared line of both\n{twelve}\nonly of the first"),
        learnt(3, "tool_result", "shared line of both\n  only of the second \neleven char\nanother of the second"),
    )
    # Twelve characters are enough, eleven aren't; blanks around a line don't matter.
    assert placed(matcher, item("tool_result", f"{twelve}\nmore")) == [(1, "cut")]
    assert placed(matcher, item("tool_result", "eleven char")) == [(None, "inserted")]
    assert placed(matcher, item("tool_result", "    only of the second")) == [(3, "cut")]
    # A line of both tells neither; of several lines most decide, numbered or not.
    assert placed(matcher, item("tool_result", "shared line of both")) == [(None, "inserted")]
    mixed = f"{twelve}\n 1| only of the second\n2: another of the second"
    assert placed(matcher, item("tool_result", mixed)) == [(3, "cut")]
    for mark in ("7| ", "7:", "  7→", "7\t", "12 : "):
        assert placed(matcher, item("tool_result", f"{mark}{twelve}")) == [(1, "cut")], mark
    assert placed(knowing(learnt(0, "tool_result", twelve)), item("tool_result", f"{twelve}!\n{twelve}")) == [
        (0, "kept")
    ]
    matcher.learn([learnt(5, "tool_result", "shared line of both"), learnt(7, "tool_result", "shared line of both")])
    assert placed(matcher, item("tool_result", "shared line of both")) == [(None, "inserted")]


def test_a_result_goes_by_its_id_before_its_lines() -> None:
    matcher = knowing(learnt(1, "tool_result", FIRST, call_id="c1"), learnt(3, "tool_result", SECOND, call_id="c2"))
    half = "\n".join(FIRST.splitlines()[:20])
    found = matcher.match([item("tool_result", half, call_id="c1"), item("tool_result", FIRST, call_id="c2")])
    assert found.matches == (Match(1, "cut"), Match(3, "cut"))
    # An id that nobody knows, and none at all.
    assert placed(matcher, item("tool_result", FIRST, call_id="c7"), item("tool_result", SECOND)) == [
        (1, "kept"), (3, "kept"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("whole", "text", "held"),
    [
        ("a\nb\nc\nd", "a\nc", False), ("a\n\n  b  \n", "b", False), ("a\nb", "x a\nb x", True), ("\n", "x", True),
        ("", "", True), ("abc\nxyz\nq", "bc xyz", False),
        # Lines over 200 characters count in pieces: one of three here.
        ("x" * 200 + "y" * 200 + "z", "y" * 200, False), ("x" * 200, "x" * 199, False),
        ("x" * 200 + "z", "x" * 200, False),
        # As JSON, with what stands for a quote, a tab and any character by its number.
        ('say "a"\nand\tb\nß ü', r'{"o": "say \"a\"\nand\tb\n\u00df \u00FC"}', True),
        # What is no mark of JSON is left as it is.
        (r"C:\work", r"at C:\work now", True), ("one\ntwo", r"one \q", False),
    ],
)  # fmt: skip
def test_whether_a_text_holds_all_of_a_result(whole: str, text: str, held: bool) -> None:
    assert is_whole(whole, text) is held


# a history that grows with the script


def test_a_history_grows_by_prompts_answers_calls_and_their_results() -> None:
    history = History(script_of(sample()))
    task = item("user", TWELVE)
    assert history.match([task, item("tool_result", FIRST)], 1) == Matched(
        (Match(0, "kept"), Match(None, "inserted")), ()
    )
    history.answered(1, [Part("tool_call", '{"cmd": "cat 1"}', "bash", "call_1")])
    call = item("tool_call", "{}", tool="bash", call_id="call_1")
    found = history.match([task, call, item("tool_result", FIRST, call_id="call_1")], 2)
    assert found == Matched((Match(0, "kept"), Match(1, "kept"), Match(2, "kept")), ())
    # A call that the script hasn't stands for nothing; nothing is learnt past the script's end.
    history.answered(2, [Part("tool_call", "{}", "bash", "call_2"), Part("tool_call", "{}", "finish", "call_end")])
    assert history.match([task], 3).dropped == (1, 2)
    history.answered(3, [])
    assert history.match([item("assistant", "Done.")], 4) == Matched((Match(5, "kept"),), (0, 1, 2))
    history.answered(4, [Part("tool_call", "{}", "bash", "call_4")])
    assert history.match([], 9).dropped == (0, 1, 2, 5)


def test_a_prompt_is_history_once_its_step_is_asked_for() -> None:
    two = chat(
        ("user", "First task here."), ("assistant", "One."), ("user", "Second task here."), ("assistant", "Two.")
    )
    history = History(script_of(two))
    second = item("user", "Second task here.")
    assert history.match([second], 1) == Matched((Match(None, "inserted"),), (0,))
    history.answered(1, [])
    assert history.match([second], 2) == Matched((Match(2, "kept"),), (0, 1))
    # An earlier step that is asked for again takes nothing back, and teaches nothing twice.
    assert history.match([second, second], 1) == Matched((Match(2, "kept"), Match(2, "twice")), (0, 1))
