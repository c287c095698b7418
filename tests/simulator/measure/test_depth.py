"""Where in a result a need stands."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from samples import ASK, TASK, chat

from ctxsim.simulator.measure.losses import EDGE_CHARS, depth_in
from ctxsim.simulator.references import Need, prepare
from ctxsim.simulator.references.canonical import content, fold


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


GAPS = [" ", "-\n", "...", "*" * 400]


@given(
    st.lists(st.sampled_from(["to", "top", "é", "_x", "2"]), min_size=5, max_size=5),
    st.sampled_from(GAPS),
    st.lists(st.sampled_from(["to", "top", "é", "_x", "2", "to top", *GAPS]), max_size=60),
)
def test_a_quotation_stands_where_a_plain_pattern_finds_it(words: list[str], gap: str, pieces: list[str]) -> None:
    text = "".join([*pieces, gap.join(words), *pieces])
    found = re.search(r"\W*".join(words), text)
    assert found is not None
    expected = "tail" if found.start() >= len(text) - EDGE_CHARS else "middle"
    need = Need(" ".join(words), "loose", False, (0,), 1)
    assert depth_in(need, text) == ("head" if found.end() <= EDGE_CHARS else expected)


def test_the_last_500_characters_are_the_tail() -> None:
    words = "to " * 5
    need = Need(words.strip(), "loose", False, (0,), 1)
    assert [depth_in(need, "*" * 600 + words + "*" * (left - len(words))) for left in (500, 501)] == ["tail", "middle"]
