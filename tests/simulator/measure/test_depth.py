"""Where in a result a need stands."""

from __future__ import annotations

from samples import ASK, TASK, chat

from ctxsim.simulator.measure.losses import depth_in
from ctxsim.simulator.references.canonical import content, fold
from ctxsim.simulator.references.finding import prepare
from ctxsim.simulator.references.needs import Need


def test_depth_is_head_middle_or_tail() -> None:
    text = "x_first " + "word " * 300 + "x_middle " + "word " * 300 + "x_final"
    transcript = chat(
        TASK, ASK, ("tool_result", text), ASK, ("tool_result", ""), ("assistant", "x_first x_middle x_final"),
    )  # fmt: skip
    source = fold(content(transcript.items[2]))
    found = {need.atom: depth_in(need, source) for need in prepare(transcript).needs(3)}
    assert found == {"x_first": "head", "x_middle": "middle", "x_final": "tail"}
    # Whole tokens only: order_12 stands in the tail, order_123 before it in the head.
    text = "order_123 " + "word " * 300 + "order_12"
    transcript = chat(TASK, ASK, ("tool_result", text), ASK, ("tool_result", ""), ("assistant", "order_12"))
    source = fold(content(transcript.items[2]))
    assert [depth_in(need, source) for need in prepare(transcript).needs(3)] == ["tail"]


def test_what_stands_only_inside_words_stands_where_it_does_first() -> None:
    def depth(text: str) -> str:
        return depth_in(Need("x_first", "strict", False, (0,), 1), text)

    # It ends 500 characters behind the beginning, or 501; of 1,100 the last 500 begin at 600.
    assert [depth("-" * before + "ax_first" + "-" * 700) for before in (492, 493)] == ["head", "middle"]
    assert [depth("-" * before + "ax_first" + "-" * (1_092 - before)) for before in (598, 599)] == ["middle", "tail"]
    assert depth("x_firsta" + " " * 700 + "x_first") == "tail" and depth("-" * 1_100) == "head"
    assert depth("x_first" + " " * 700 + "x_first") == "head", "whole, and at the very beginning"


def test_a_quotation_stands_where_its_words_follow_one_another() -> None:
    need = Need("to a quick fox", "loose", False, (0,), 1)
    apart, whole = "to a fox, quick dog", "to a (*quick*  fox"
    assert [depth_in(need, text) for text in (
        apart + " -" * 600 + whole, whole + " -" * 600 + apart, apart + " -" * 600 + "a fox",
    )] == ["tail", "head", "head"]  # fmt: skip


def test_the_last_500_characters_are_the_tail() -> None:
    words = "to " * 5
    need = Need(words.strip(), "loose", False, (0,), 1)
    assert [depth_in(need, "*" * 600 + words + "*" * (left - len(words))) for left in (500, 501)] == ["tail", "middle"]
