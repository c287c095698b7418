"""Files that an agent attaches again: the newest, whole as far as line numbers tell, none that is too large."""

from __future__ import annotations

import json
import time

import pytest

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.recorded.attached import attached_again
from ctxsim.transcript import Item


def read(items: list[Item], path: str, first: int, last: int, tool: str = "Read") -> None:
    place = len(items)
    items.append(Item("tool_call", place, 0, json.dumps({"file_path": path}), tool=tool))
    text = "\n".join(f"{n:6}→word" for n in range(first, last + 1)) if tool == "Read" else "done"
    items.append(Item("tool_result", place + 1, 0, text, tool=tool, answers=place))


def test_a_file_is_as_long_as_its_last_line_says() -> None:
    items: list[Item] = []
    read(items, "a", 1, 10)
    counter = Counter(open_tokenizer())
    seen = counter.text(items[1].text)
    assert attached_again(items, counter, 1.0) == seen
    # Lines 91 to 100 are ten of a hundred: ten times what they hold.
    read(items, "a", 91, 100)
    assert attached_again(items, counter, 1.0) == 10 * counter.text(items[3].text)
    assert attached_again(items, counter, 1.5) == round(15 * counter.text(items[3].text))


def test_time_is_linear_in_empty_lines() -> None:
    items: list[Item] = []
    read(items, "a", 1, 10)
    items[1] = items[1].with_text("\n" * 100_000)
    began = time.process_time()
    assert attached_again(items, Counter(open_tokenizer()), 1.0) == 0
    assert time.process_time() - began < 1


def test_five_files_and_none_that_is_too_large() -> None:
    items: list[Item] = []
    for path in "abcdefg":
        read(items, path, 1, 10)
    counter = Counter(open_tokenizer())
    one = counter.text(items[1].text)
    assert attached_again(items, counter, 1.0) == 5 * one
    # What was edited last counts among the five: `a` comes in for `c`, as large as it was when it was read.
    read(items, "a", 0, 0, "Edit")
    assert attached_again(items, counter, 1.0) == 5 * one
    # A new one of some 40,000 tokens takes a place and is left out.
    read(items, "big", 9_990, 9_999)
    assert attached_again(items, counter, 1.0) == 4 * one
    assert attached_again([], counter, 1.0) == 0


def test_a_file_that_was_written_is_as_long_as_its_text() -> None:
    counter = Counter(open_tokenizer())
    text = json.dumps({"file_path": "new", "content": "word " * 50})
    items = [Item("tool_call", 0, 0, text, tool="Write"), Item("tool_call", 1, 0, "no JSON", tool="Write")]
    assert attached_again(items, counter, 2.0) == 2 * counter.text("word " * 50)


@pytest.mark.parametrize(("factor", "tokens"), [(100.0, 5_000), (100.1, 0)])
def test_a_file_of_five_thousand_tokens_is_attached_and_a_larger_one_is_not(factor: float, tokens: int) -> None:
    counter = Counter(open_tokenizer())
    content = "word" + " word" * 49
    assert counter.text(content) == 50
    items = [Item("tool_call", 0, 0, json.dumps({"file_path": "new", "content": content}), tool="Write")]
    assert attached_again(items, counter, factor) == tokens


def test_what_is_no_file_is_not_attached() -> None:
    counter = Counter(open_tokenizer())
    for text in ("no JSON", "[1]", json.dumps({"content": "word"}), json.dumps({"file_path": "a", "content": 7})):
        assert attached_again([Item("tool_call", 0, 0, text, tool="Write")], counter, 1.0) == 0
    # Another tool's result, and one without numbered lines, tell of no size.
    items: list[Item] = []
    read(items, "a", 1, 3)
    whole = attached_again(items, counter, 1.0)
    read(items, "a", 1, 900, "Bash")
    items.append(Item("tool_result", len(items), 0, "word " * 100, tool="Read", answers=0))
    assert attached_again(items, counter, 1.0) == whole > 0
