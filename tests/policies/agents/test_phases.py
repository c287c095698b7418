"""Where a conversation stands: after its last response, and what the user said since."""

from __future__ import annotations

import pytest
from by_hand import Driven

from ctxsim.policies.agents.shared.phases import (
    history_of,
    last_asked,
    newly_asked,
    run_ended,
    since_response,
)
from ctxsim.policies.agents.shared.tools import files_read


def made(steps: str) -> Driven:
    """A conversation by letters: u the user, s a response without a call, c one with a call and its result."""
    driven = Driven("keep-all", 1_000)
    for step in steps:
        {"u": driven.user, "s": driven.says, "c": lambda: driven.calls("r")}[step]()
    return driven


@pytest.mark.parametrize(
    ("steps", "since", "new", "history", "ended", "asked"),
    [
        # The position after the last response; the user's texts since; items without these; whether a run has ended;
        # the position of the newest text of the user.
        ("", 0, 0, 0, False, -1), ("u", 0, 1, 0, False, 0), ("uu", 0, 2, 0, False, 1), ("s", 1, 0, 1, True, -1),
        ("us", 2, 0, 2, True, 0), ("usu", 2, 1, 2, True, 2), ("uc", 2, 0, 3, False, 0), ("ucs", 4, 0, 4, True, 0),
        ("ucu", 2, 1, 3, False, 3), ("cs", 3, 0, 3, True, -1), ("usc", 3, 0, 4, False, 0),
    ],
)  # fmt: skip
def test_a_conversation(steps: str, since: int, new: int, history: int, ended: bool, asked: int) -> None:
    items = list(made(steps).view)
    assert (since_response(items), len(newly_asked(items)), len(history_of(items))) == (since, new, history)
    assert (run_ended(items), last_asked(items)) == (ended, asked)


def test_files_that_were_read_newest_first_each_once() -> None:
    driven = Driven("keep-all", 1_000)
    for tool, arguments in (
        ("read", "a"),
        ("read", "b"),
        ("grep", "c"),
        ("bash", "cat d"),
        ("read", "a"),
        ("read", ""),
    ):
        key = "command" if tool == "bash" else "path"
        driven.calls(f"{tool} {arguments}", tool=tool, arguments=f'{{"{key}": "{arguments}"}}')
    assert [(path, item.text) for path, item in files_read(driven.view).items()] == [("a", "read a"), ("b", "read b")]
    assert list(files_read(driven.view, by_cat=True)) == ["a", "d", "b"]
