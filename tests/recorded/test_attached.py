"""Files that an agent attaches again: the newest, whole as far as line numbers tell, none that is too large."""

from __future__ import annotations

import json

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
