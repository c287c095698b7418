"""Encoded pieces that are looked into: which, how far, and what is seen in them."""

from __future__ import annotations

import re
from base64 import b64encode, urlsafe_b64encode

import pytest

from ctxsim.safety.redaction.encoded import in_base64, in_percent, unbroken


def looked(text: str, holds: bool = True) -> tuple[list[str], list[tuple[int, int]]]:
    """What is seen of base64, and where it stands if all of it holds a secret."""
    seen: list[str] = []
    return seen, list(in_base64(text, lambda plain: (seen.append(plain), holds)[1]))


@pytest.mark.parametrize("plain", [
    "twenty-one letters 12", "twenty-two letters 123", "twenty-three letters 12",
    "twenty-four letters 1234", "what?so>it 1s?and>that", "Köln ist 1 Stadt am Rhein",
])  # fmt: skip
def test_base64_is_read_with_and_without_its_ending_and_as_addresses_have_it(plain: str) -> None:
    for word in (b64encode(plain.encode()).decode(), urlsafe_b64encode(plain.encode()).decode()):
        assert looked(f"({word})") == ([plain], [(1, 1 + len(word))])
        bare = word.rstrip("=")
        assert looked(bare) == ([plain], [(0, len(bare))]) and looked(bare, holds=False) == ([plain], [])


def test_a_piece_of_base64_is_read_as_far_as_it_goes() -> None:
    word = b64encode(b"what is cut off here 1 and there").decode()
    # 28 characters are 21 bytes, 29 no more, 30 are 22, 31 are 23, and 27 are too few.
    assert [looked(word[:many])[0] for many in (27, 28, 29, 30, 31)] == [
        [], ["what is cut off here "], ["what is cut off here "], ["what is cut off here 1"],
        ["what is cut off here 1 "],
    ]  # fmt: skip


@pytest.mark.parametrize("word", [
    "a" * 20 + "1b2c3d4e", "A" * 20 + "1B2C3D4E", "aBcDeFgH" * 4, "=" + b64encode(b"behind an equal sign 1").decode(),
    b64encode(b"\x01 no printable text 123").decode(), b64encode(b"K\xf6ln ist 1 Stadt am Rhein").decode(),
])  # fmt: skip
def test_names_numbers_and_bytes_are_no_texts(word: str) -> None:
    other = b64encode(b"a text comes later 12").decode()
    assert looked(f"{word} {other}")[0] == ["a text comes later 12"]


def test_base64_goes_on_behind_line_breaks_and_long_ones_are_read_in_pieces_to_their_end() -> None:
    lines = b64encode(b"0123456789 and more; " * 6).decode()
    text = f"{lines[:76]}\r\n{lines[76:]}"
    assert looked(text) == (["0123456789 and more; " * 6], [(0, len(text))])
    # 88,040 bytes are 117,388 characters; 8 pieces begin 16,000 characters apart.
    long = "Köln 12 by 12, and so. " * 3_667 + "as the end is"
    seen, places = looked(word := b64encode(long.encode()).decode(), holds=False)
    assert len(seen) == 8 and not places and all(piece in long for piece in seen) and seen[-1].endswith("the end is")
    # What lies across the edge of one piece is whole in the next.
    assert all(any(long[at : at + 40] in piece for piece in seen) for at in range(0, len(long) - 40, 37))
    assert list(in_base64(word, lambda plain: "the end" in plain)) == [(0, len(word))]


def escaped(text: str) -> tuple[list[str], list[tuple[int, int]]]:
    seen: list[str] = []
    return seen, list(in_percent(text, lambda plain: (seen.append(plain), True)[1]))


@pytest.mark.parametrize(("text", "seen", "places"), [
    ("see user%3Apass%40host now", ["user:pass@host"], [(4, 22)]),
    ("user:pass@host", [], []), ("100% of %zz, user%3Apass%40host", ["user:pass@host"], [(13, 31)]),
    # Twelve characters at least, and a sign among them.
    ("abc%3Adefghij", [], []), ("abc%3Adefghijk", ["abc:defghijk"], [(0, 14)]), ("abc%41defghijk", [], []),
    ("a%2Fbcdefghijk x%20bcdefghijkl", ["a/bcdefghijk", "x bcdefghijkl"], [(0, 14), (15, 30)]),
    ("%2Fabcdefghijk", ["/abcdefghijk"], [(0, 14)]), ("%%3Aabcdefghijk", [":abcdefghijk"], [(1, 15)]),
    # 200 characters before the first sign belong to it.
    ("a" * 201 + "%3D" + "b" * 20, ["a" * 200 + "=" + "b" * 20], [(1, 224)]),
    ("a" * 200 + "%3D" + "b" * 20, ["a" * 200 + "=" + "b" * 20], [(0, 223)]),
])  # fmt: skip
def test_what_percent_signs_hide(text: str, seen: list[str], places: list[tuple[int, int]]) -> None:
    assert escaped(text) == (seen, places)
    assert list(in_percent(text, lambda plain: False)) == []


def test_of_many_pieces_the_first_are_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxsim.safety.redaction.encoded.MOST_LOOKED", 10)
    assert len(escaped("user%3Apasswords " * 11)[0]) == 10


LETTERS = re.compile("[a-z]{8,}")


@pytest.mark.parametrize(("text", "start", "end"), [
    ("abcdefgh", 0, 8), ("x=abcd\n  efgh, z", 2, 13), ('"abcd" +\n "efgh"', 1, 15), ("ab\\ncd\\nefgh", 0, 12),
    ("abcd\n1efgh", 0, None), ("abcd efgh", 0, None), ("abc\ndefg", 0, None),
    # 400 characters are looked at.
    ("a" * 395 + "\nbcd1", 0, 399), ("a" * 395 + "\nbcdefgh", 0, 400), ("a" * 500, 0, 400),
    ("1" * 7 + "a" * 500, 7, 407),
])  # fmt: skip
def test_where_a_broken_word_ends(text: str, start: int, end: int | None) -> None:
    assert unbroken(text, start, LETTERS) == end


def test_nothing_is_no_word() -> None:
    assert unbroken("1\n2", 0, re.compile("[a-z]*")) is None and unbroken("abcdefgh\nij", 0, LETTERS, window=8) == 8
