"""A conversation spelled out turn by turn is what was spelled out."""

from __future__ import annotations

import random
import re

import msgspec
import pytest

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.synthesis import turns
from ctxsim.transcript import Transcript


def made(**parameters: object) -> Transcript:
    return turns.generate(random.Random(1), Counter(open_tokenizer()), msgspec.convert(parameters, turns.Parameters))


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
    tasks = [item.text for item in found.items if item.kind == "user"]
    assert len(tasks) == 4
    for number, text in enumerate(tasks, 1):
        assert re.match(rf"Task {number}, filed as (NV|QT|RS)-[0-9a-f]{{6}}\. ", text)
