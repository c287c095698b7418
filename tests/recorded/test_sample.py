"""What a calibration is fitted to: each text, each request and each series of a few transcripts, whole."""

from __future__ import annotations

import msgspec
import pytest

from ctxsim.counting.tokenizers import open_tokenizer
from ctxsim.readers.assembly import Assembly, Part
from ctxsim.recorded.chars_fit import slope
from ctxsim.recorded.sample import Sample, Sized, collect
from ctxsim.transcript import Transcript, Usage


def transcript(name: str, project: str = "", model: str = "") -> Transcript:
    """A question, a look with what the agent thinks of it, and an answer; recorded with 1,000 and 2,000 tokens."""
    made = Assembly(name)
    made.user("Do it.")
    made.response([Part("reasoning", "Hm, hm."), Part("tool_call", "{}", "read", "c")], Usage(1_000, 1))
    made.result("7 Äpfel", "c")
    made.response([Part("assistant", "Done\n")], Usage(2_000, 1))
    whole = made.transcript()
    calls = tuple(msgspec.structs.replace(call, model=model) for call in whole.calls)
    return msgspec.structs.replace(whole, project=project, calls=calls)


# Words, letters, letters beyond 12, digits, punctuation, spaces, lines, CJK, others. An item's texts are its tool's
# name and what it holds. o200k tells "Do it." in 3 tokens, "read" and "{}" in one each, "7 Äpfel" in 4, "Done\n" in 2.
ASKED, NAME, EMPTY, FOUND, SAID = (
    (2, 4, 0, 0, 1, 0, 0, 0, 0), (1, 4, 0, 0, 0, 0, 0, 0, 0), (0, 0, 0, 0, 2, 0, 0, 0, 0),
    (1, 4, 0, 1, 0, 0, 0, 0, 1), (1, 4, 0, 0, 0, 0, 1, 0, 0),
)  # fmt: skip


@pytest.mark.parametrize(("by", "groups"), [
    ("kind", ["prose", "prose", "json", "prose", "prose"]), ("model", ["gpt-5"] * 5),
    ("tool", ["(user)", "(tool_call)", "(tool_call)", "read", "(assistant)"]),
])  # fmt: skip
def test_texts_are_grouped_and_requests_have_what_came_before(by: str, groups: list[str]) -> None:
    found = collect([transcript("logs/a", model="gpt-5")], open_tokenizer(), by)
    chars, tokens, features = [6, 4, 2, 7, 5], [3, 1, 1, 4, 2], [ASKED, NAME, EMPTY, FOUND, SAID]
    assert found.texts == [Sized(0, *one) for one in zip(chars, tokens, features, groups, strict=True)]
    # What is thought is mostly not sent again.
    sums = tuple(map(sum, zip(*features[:4], strict=True)))
    assert found.prompts == [Sized(0, 6, 3.0, ASKED), Sized(0, 19, 9.0, sums)]
    assert [(one.model, one.chars, one.features, one.recorded) for one in found.series] == [
        ("gpt-5", (6, 19), (ASKED, sums), (1_000, 2_000)),
    ]  # fmt: skip


def test_a_series_ends_where_the_agent_cleared_old_results_without_logging_it() -> None:
    made, chars = Assembly("a"), 0
    made.user("Go.")
    for number in range(14):
        # A head of 5,000 tokens, and 2.5 characters a token; before the ninth call all older results go.
        chars = 4_000 if number == 8 else chars
        made.response([Part("tool_call", "{}", "read", f"c{number}")], Usage(round(5_000 + chars / 2.5), 1))
        made.result("word " * 800, f"c{number}")
        chars += 4_000
    found = collect([made.transcript()], open_tokenizer(), "model")
    assert [len(one.recorded) for one in found.series] == [8, 6]
    assert 1 / slope(found.series) == pytest.approx(2.5, rel=0.01)


def test_projects_are_numbered_as_they_come_by_name_or_folder() -> None:
    made = [transcript("a/1"), transcript("b/1", "p"), transcript("a/2"), transcript("c/1", "p")]
    found = collect(made, open_tokenizer(), "model")
    assert (found.transcripts, found.projects) == (4, (0, 1, 0, 1))
    assert [one.transcript for one in found.texts] == [n for n in range(4) for _ in range(5)]
    assert {one.group for one in found.texts} == {"unknown"}
    assert [one.transcript for one in found.series] == [0, 1, 2, 3]
    assert collect([], open_tokenizer(), "kind") == Sample([], [], [], 0)


def test_clones_and_worktrees_of_a_project_are_one_project() -> None:
    folders = (
        "/home/a/src/app",
        "/Users/b/app/",
        "C:\\work\\app",
        "/home/a/src/app/.claude/worktrees/fix",
        "/home/a/app2",
    )
    made = [transcript(f"{n}/1", folder) for n, folder in enumerate(folders)]
    assert collect(made, open_tokenizer(), "model").projects == (0, 0, 0, 0, 1)
