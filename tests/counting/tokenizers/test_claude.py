"""Claude's vocabularies: counts of invented texts are those of ctok 1.3.0, and parts add up."""

from __future__ import annotations

import pickle
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxsim.counting.tokenizers import CLAUDE, claude_engine, open_tokenizer
from ctxsim.counting.tokenizers.claude_engine import ClaudeTokenizer

COUNTS: dict[str, tuple[int, int]] = {
    "hello, world": (7, 8),
    "The quick brown fox jumps over the lazy dog.": (15, 22),
    "getElementById HTTPServer XMLHttpRequest iPhone": (11, 27),
    "READ THE MANUAL NOW, OK?": (12, 20),
    "Don't they'll we've I'm he'd you're it's": (18, 22),
    "x's 'quoted' ('paren') a 'b 'First": (21, 24),
    "12345678 3.14159 0xdeadbeef 2026-11-26T20:45:00Z": (33, 36),
    "def f(x, *, y=None) -> list[int]:\n    return [x for _ in range(10)]": (32, 36),
    "\t\tif a == b && c != d { return; }": (17, 17),
    "a  b   c                    d": (12, 12),
    "one\n\ntwo\n\n\n\nthree": (9, 9),
    '{"path": "src/main.py", "limit": 1}': (20, 22),
    "     1\u2192import os\n     2\u2192": (13, 13),
    "\u2501\u2501\u2501 done \u2501\u2501\u2501 \u2713 \u2022 5 \u2014 6": (25, 25),
    "\u201cCurly\u201d quotes aren\u2019t \u2018straight\u2019": (16, 22),
    "Gr\xf6\xdfe, na\xefve caf\xe9, \u0395\u03bb\u03bb\u03ac\u03b4\u03b1, \u03a3\u0391\u03a3": (29, 29),
    "\u6f22\u5b57\u304b\u306a\u4ea4\u3058\u308a\u6587\u3002\ud55c\uad6d\uc5b4": (17, 17),
    "\U0001f642 \U0001f469\u200d\U0001f469\u200d\U0001f467 \u2696\ufe0f x": (26, 26),
    "abc 5 ! 5 . a , b": (16, 18),
    "<|endoftext|> <function_calls>": (16, 18),
    "a\xa0b\u2009c\x00d": (8, 8),
    "ctrl\x01\x02\x05\x7f chars \r\n end": (10, 14),
    "\ud800 lone": (6, 7),
    "e\u0301 decomposed": (7, 9),
    "\u0e25\u0e32\u0e27 \u0939\u093f\u0928\u094d\u0926\u0940 \u0627\u0644\u0639\u0631\u0628\u064a\u0629": (17, 17),
    "Stra\xdfe \u03a3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2": (14, 14),
    "trailing space \nnext": (9, 11),
    "snake_case_name __init__ a_b": (15, 17),
    "https://example.com/a/b?c=d&e=f#g": (23, 23),
    "\xbd \xb2 \u2460 \u0663\u0664": (15, 15),
    "'''docstring''' \"\"\"x\"\"\"": (11, 15),
    "$HOME/.config ~/.bashrc; rm -rf /tmp/*": (18, 31),
    "\u26a0\ufe0f warning \u2705": (13, 14),
    "\u0391\u03a3\u0391\u03a3 \u1e9eETA": (14, 19),
}


@pytest.mark.parametrize(("text", "counts"), COUNTS.items())
def test_a_count_is_that_of_ctok(text: str, counts: tuple[int, int]) -> None:
    # Between two lines, so that the frame of ctok's message touches nothing.
    assert tuple(open_tokenizer(name).count_many([f"x\n{text}\nx"])[0] for name in CLAUDE) == counts


LINE = st.text("aBz9 '’.,→é漢\t", min_size=1, max_size=12)


@given(LINE, LINE)
def test_lines_add_up(above: str, below: str) -> None:
    # A newline is one token, and nothing reaches over it.
    for name in CLAUDE:
        tokenizer = open_tokenizer(name)
        one, other, both = tokenizer.count_many([above, below, f"{above}\n{below}"])
        assert both == one + 1 + other == len(tokenizer.ids(f"{above}\n{below}"))


def test_what_common_characters_cost_does_not_depend_on_others_in_the_line() -> None:
    # `regex` cuts a line that holds an é, `re` cuts the others.
    tokenizer = open_tokenizer("claude_3")
    for text in ("Don't “stop” ('now')!", "x = {'a': 5, \"b\": -1} → HTTPServer", "a  b\t c 'd' 's 12345 .5 ?"):
        plain, mixed, letter = tokenizer.count_many([f"x\n{text}", f"é\n{text}\né", "é"])
        assert tokenizer.count_many([f"{text} é"])[0] - tokenizer.count_many([f"{text} e"])[0] == letter - 1
        assert mixed - 2 * letter - 1 == plain - 1


@pytest.mark.parametrize("piece", ["a", " ", "=", "ab ", "x'", "é", "' ", "= ", "漢", "ﬁ́", "\u0316\u0301", "\n"])
def test_time_grows_with_length_alone(piece: str) -> None:
    tokenizer = open_tokenizer("claude_4.7")
    tokenizer.count_many([piece])
    began = time.process_time()
    tokenizer.count_many([piece * (400_000 // len(piece))])
    assert time.process_time() - began < 3


def test_of_all_cuts_the_one_into_fewest_pieces_counts() -> None:
    # \x01 and \x02 stand around a word. \x01bcd, ef and g\x02 are three pieces; \x01, b, c and defg\x02 are four.
    tokenizer = ClaudeTokenizer("claude_3")
    pieces = [*"\x01bcdefg\x02", "\x01bcd", "ef", "g\x02", "defg\x02"]
    tokenizer.__dict__["_vocabulary"] = {"pieces": pieces, "bytes": []}
    assert tokenizer.count_many(["bcdefg", "bcd", "efg"]) == [3, 2, 3]


def test_no_more_parts_are_remembered_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claude_engine, "REMEMBERED", 2)
    tokenizer = ClaudeTokenizer("claude_3")
    texts = ["one  two  three  four  five"] * 2
    assert tokenizer.count_many(texts) == open_tokenizer("claude_3").count_many(texts)
    assert len(tokenizer._sizes) <= 2


@pytest.mark.parametrize("name", ["claude_3", "cl100k_base"])
def test_it_reaches_other_processes(name: str) -> None:
    counted = open_tokenizer(name).count_many(["Don't stop"])
    assert pickle.loads(pickle.dumps(open_tokenizer(name))).count_many(["Don't stop"]) == counted
