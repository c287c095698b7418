"""What transcripts hold, counted by hand."""

from __future__ import annotations

from typing import Any

import msgspec
from samples import ASK, TASK, chat, conversation

from ctxsim.api.survey import Checked, Sizes, check, results, sizes
from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.transcript import Head, Usage


class Words:
    """A tokenizer by which each word is a token."""

    name = "words"

    def __getattr__(self, name: str) -> Any:
        return getattr(open_tokenizer(), name)

    def count_many(self, texts: list[str]) -> list[int]:
        return [len(text.split()) for text in texts]


WORDS: Any = Words()


def test_a_transcript_is_calls_with_usage_messages_results_and_tokens() -> None:
    made = chat(TASK, ASK, ASK, ("tool_result", "one two"), ("tool_result", "three"), ("assistant", "Done now."),
                head=Head("Be kind.", ('{"a": 1}',)))  # fmt: skip
    used = (msgspec.structs.replace(made.calls[0], usage=Usage(9)), *made.calls[1:])
    # Messages: the task, two calls in one, two results in one, the answer. Words: a head of 2 and 2, a task of 3, each
    # call a tool and arguments, results of 2 and 1, an answer of 2.
    assert check(msgspec.structs.replace(made, calls=used), WORDS) == Checked(
        made.name, "", None, 2, 1, 4, 2, 4 + 3 + 4 + 3 + 2, None, ()
    )


def test_sizes_are_by_tool_or_by_kind_the_largest_share_of_tokens_first() -> None:
    first = conversation("a b", "c d e f", '{"a": 1}', name="first")
    items = tuple(
        msgspec.structs.replace(item, tool={1: "look", 3: "look", 5: ""}.get(place, item.tool))
        if item.kind == "tool_result" else item
        for place, item in enumerate(first.items, -1)
    )  # fmt: skip
    made = msgspec.structs.replace(first, items=items)
    second = conversation("x " * 30)
    both = [*results(made, WORDS), *results(second, WORDS)]
    found = sizes(both, "tool")
    assert found == [
        Sizes("tool", 1, 60.0, 60.0, 60, 30, 2.0), Sizes("look", 2, 5.0, 7.0, 7, 6, 10 / 6),
        Sizes("?", 1, 8.0, 8.0, 8, 2, 4.0),
    ]  # fmt: skip
    kinds = {
        one.group: (one.results, one.tokens) for one in sizes([*results(made, WORDS), *results(second, WORDS)], "kind")
    }
    assert kinds["json"] == (1, 2) and sum(results for results, _ in kinds.values()) == 4
    assert sizes(results(conversation(""), WORDS), "tool") == [Sizes("tool", 1, 0.0, 0.0, 0, 0, None)]
    assert sizes([], "tool") == []
