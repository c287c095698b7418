"""Account names and addresses in a text: what is told, what is replaced, and what stays in its own writing."""

from __future__ import annotations

import pytest

from ctxsim.safety.redaction.people import in_hyphens, told_names, with_homes, with_mails, with_words, words_of


@pytest.mark.parametrize(("text", "said"), [
    ("mail ann@firm.example, bob@firm.example", "mail <ann@firm.example>, <bob@firm.example>"),
    ("ann%40firm.example", "<ann%40firm.example>"), ("ann@firm and git@github.com", "ann@firm and git@github.com"),
    ("at 100%", "at 100%"), ("", ""),
])  # fmt: skip
def test_addresses_are_replaced_whole(text: str, said: str) -> None:
    assert with_mails(text, lambda address: f"<{address}>") == said


@pytest.mark.parametrize(("text", "said"), [
    ("cd /home/ann/src; ls /home/bob", "cd /home/ANN/src; ls /home/BOB"),
    ("C:\\Users\\Ann Lee\\x", "C:\\Users\\ANN LEE\\x"),
    ("-home-ann-src", "-home-ANN-src"), ("\\\\wsl$\\Ubuntu\\home\\ann\\x", "\\\\wsl$\\Ubuntu\\home\\ANN\\x"),
    ("/c/Users/ann/x", "/c/Users/ANN/x"), ("no folder", "no folder"),
    # What JSON escapes stays escaped, in lower case too.
    ("/home/zo\\u00e9/x", "/home/ZO\\u00c9/x"),
])  # fmt: skip
def test_names_of_home_folders_are_replaced_in_their_own_writing(text: str, said: str) -> None:
    assert with_homes(text, str.upper) == said


def test_a_name_of_several_parts_is_known_in_hyphens() -> None:
    known = in_hyphens(["ann.lee", "ann.lee.roy", "bob", "eve-may", "jo_x"])
    assert known == {"ann-lee": "ann.lee", "ann-lee-roy": "ann.lee.roy", "eve-may": "eve-may", "jo-x": "jo_x"}
    text = (
        "-home-ann-lee-src -Users-ann-lee-roy-s C--Users-eve-may -home-bob-lee -home-ann-leed /home/ann.lee/x ann-lee"
    )
    said = (
        "-home-ANN-LEE-src -Users-ANN-LEE-ROY-s C--Users-EVE-MAY -home-BOB-lee -home-ANN-leed /home/ANN.LEE/x ann-lee"
    )
    assert with_homes(text, str.upper, known) == said


def test_names_are_told_that_may_be_words_elsewhere() -> None:
    text = "/home/ann/x /home/al/x /home/bob /home/user/x -home-eve-x C:\\Users\\Max\\x /home/zo\\u00e9/x /Users/Root/x"
    assert list(told_names(text)) == ["ann", "Max", "zoé"]
    assert list(told_names("nothing of that kind")) == []


def test_names_are_found_as_words_the_longest_first() -> None:
    words = words_of(["ann", "anna", "zoé"])
    assert words is not None and words_of([]) is None
    text = "ann anna ann_b joann annie 1ann zoé zo\\u00e9 zo\\u00E9 \\nann"
    assert with_words(text, words, str.upper) == "ANN ANNA ANN_b joann annie 1ann ZOÉ ZO\\u00c9 ZO\\u00c9 \\nANN"
