"""A conversation spelled out turn by turn is what was spelled out."""

from __future__ import annotations

import random

import msgspec
import pytest

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.synthesis import turns
from ctxsim.transcript import Transcript, problems


def made(**parameters: object) -> Transcript:
    return turns.generate(random.Random(1), Counter(open_tokenizer()), msgspec.convert(parameters, turns.Parameters))


def test_turns_calls_and_parallel_results() -> None:
    found = made(turns=[{"calls": 3, "results": [200, 100]}, {"calls": 1, "results": []}])
    assert problems(found) == []
    # Two users' texts. Three calls with two tools each and one that ends the turn, then one without tools.
    assert [item.kind for item in found.items].count("user") == 2
    assert [item.kind for item in found.items].count("tool_result") == 6
    assert len(found.calls) == 3 + 1 + 1
    assert [item.text[:7] for item in found.items if item.kind == "user"] == ["Task 1,", "Task 2,"]
    # The call that ends a turn has its last item.
    ends = [found.items[call.start].text for call in found.calls if call.end == call.start + 1]
    assert ends[0] == "Task 1 is done."


@pytest.mark.parametrize("content", turns.PIECES)
def test_sizes_are_about_what_was_asked(content: str) -> None:
    counter = Counter(open_tokenizer())
    found = made(turns=[{"user": 500, "results": [3_000], "arguments": 400, "thinks": 300, "content": content}])
    by_kind = {item.kind: counter.text(item.text) for item in found.items[:5]}
    assert by_kind["tool_result"] == pytest.approx(3_000, rel=0.07)
    # The code word and the step's name stand before what was asked for.
    assert by_kind["user"] == pytest.approx(515, rel=0.08)
    assert by_kind["tool_call"] == pytest.approx(425, rel=0.08)
    assert by_kind["reasoning"] == pytest.approx(300, rel=0.08)


def test_turns_repeat_and_images_count() -> None:
    found = made(turns=[{"calls": 1, "results": [10], "image_tokens": 700}], repeat=4)
    results = [item for item in found.items if item.kind == "tool_result"]
    assert [item.media[0].tokens for item in results] == [700] * 4
