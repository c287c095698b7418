"""What agents share: cuts of a text, where a conversation stands, what a tool does and which files were read."""

from __future__ import annotations

import json

import pytest
from by_hand import Driven
from samples import chat, run

from ctxsim.policies.agents.shared.history import history_of, last_asked, newly_asked, run_ended, since_response
from ctxsim.policies.agents.shared.tools import (
    byte_length,
    ends_of,
    files_read,
    first_bytes,
    last_bytes,
    path_read,
    whole_lines,
)
from ctxsim.transcript import Item

THREE = "aaaa\nbbbb\ncccc"  # 14 bytes, each line 5 with its end


@pytest.mark.parametrize(
    ("lines", "size", "end", "kept"),
    [
        (3, 14, False, THREE),
        (2, 99, False, "aaaa\nbbbb\n\n...1 lines truncated..."),
        (2, 99, True, "...1 lines truncated...\n\nbbbb\ncccc"),
        # Two lines are 9 bytes without the last one's end; with 8 only one is left.
        (9, 9, False, "aaaa\nbbbb\n\n...1 lines truncated..."),
        (9, 8, False, "aaaa\n\n...2 lines truncated..."),
        (9, 9, True, "...1 lines truncated...\n\nbbbb\ncccc"),
        # No whole line fits: the first one is cut, or the last one at its end.
        (9, 3, False, "aaa\n\n...11 bytes truncated..."),
        (9, 3, True, "...11 bytes truncated...\n\nccc"),
    ],
)
def test_whole_lines(lines: int, size: int, end: bool, kept: str) -> None:
    assert whole_lines(THREE, lines, size, end) == kept
    if not end:
        assert whole_lines(THREE, lines, size) == kept


def test_ends_say_how_much_is_between() -> None:
    assert ends_of("0123456789", 3, 2, "<{left}>") == "012<5>89"
    assert ends_of("0123456789", 3, 0, "<{left}>") == "012<7>"
    assert ends_of("0123456789", 6, 4, "<{left}>") == "0123456789"
    assert ends_of("0123456789", 6, 3, "<{left}>") == "012345<1>789"
    assert ends_of("0123456789", 6, 9, "<{left}>") == "0123456789"


@pytest.mark.parametrize(
    ("size", "first", "last"),
    # Five bytes: an e with an accent has two, of which none stays alone.
    [(0, "", ""), (1, "a", "c"), (2, "a", "bc"), (3, "a\u00e9", "bc"), (4, "a\u00e9b", "\u00e9bc"),
     (5, "a\u00e9bc", "a\u00e9bc"), (9, "a\u00e9bc", "a\u00e9bc")],
)  # fmt: skip
def test_ends_by_bytes(size: int, first: str, last: str) -> None:
    text = "a\u00e9bc"
    assert (byte_length(text), byte_length("abc")) == (5, 3)
    assert (first_bytes(text, size), last_bytes(text, size)) == (first, last)


def test_half_a_pair_stays_where_it_stood() -> None:
    for size, first, last in ((5, "a\ud800b", "a\ud800b"), (3, "a", "b"), (4, "a\ud800", "\ud800b")):
        assert (first_bytes("a\ud800b", size), last_bytes("a\ud800b", size)) == (first, last)


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


@pytest.mark.parametrize(
    ("tool", "arguments", "path", "by_cat"),
    [
        ("Read", {"file_path": "src/a.py", "limit": 3}, "src/a.py", "src/a.py"),
        ("read_file", {"absolute_path": "/a.py"}, "/a.py", "/a.py"),
        ("Bash", {"command": " cat src/a.py "}, "", "src/a.py"),
        ("Bash", {"command": "cat a.py | head"}, "", ""),
        ("Bash", {"path": "a.py"}, "", ""),
        ("Read", ["a.py"], "", ""),
    ],
)
def test_the_path_that_a_call_reads(tool: str, arguments: object, path: str, by_cat: str) -> None:
    call = Item("tool_call", 0, 0, json.dumps(arguments), tool)
    assert (path_read(call), path_read(call, by_cat=True)) == (path, by_cat)


@pytest.mark.parametrize("label", ["anthropic-compact:trigger=10", "crush", "opencode:output=200", "kimi-cli"])
def test_a_summary_that_fails_changes_nothing(label: str) -> None:
    driven = Driven(label, 1_000, refuses=lambda items: True)
    driven.user("x" * 360)
    for number in range(3):
        driven.calls(f"{number}" * 4_000, used=900 if number == 2 else 10)
    assert driven.sent() == ["x" * 360, *(text for n in "012" for text in ("{}", n * 4_000))] and len(driven.asked) == 1


@pytest.mark.parametrize("label", ["codex", "crush", "opencode:output=3000,tail_turns=0", "zed:smallest_window=0"])
def test_a_text_between_pending_results_stands_behind_the_summary(label: str) -> None:
    calls = [("tool_call", "{}"), ("tool_call", "{}"), ("tool_result", "one"), ("user", "And?"), ("tool_result", "two")]
    session = chat(("user", "word " * 18_100), *calls, ("assistant", "Done."))
    sent = run(session, label, window=20_000)[-1].view
    assert [item.kind for item in sent[-2:]] == ["summary", "user"]
