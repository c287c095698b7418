"""How agents cut a text: ends, whole lines, and what is said of the rest."""

from __future__ import annotations

import pytest

from ctxsim.policies.agents.shared.cuts import byte_length, ends_of, first_bytes, last_bytes, whole_lines

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
