"""What kind of content a text is."""

from __future__ import annotations

import pytest

from ctxsim.recorded.content import content_kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "empty"),
        ('{"a": 1}', "json"),
        ('[{"id": 1, "name": "x"}]', "json"),
        ("<!DOCTYPE html><html><body><p>hi</p></body></html>", "html"),
        ("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b", "diff"),
        ("iVBORw0KGgoAAAANSUhEUg" * 30, "base64"),
        ("a,b,c\n1,2,3\n4,5,6\n7,8,9", "csv"),
        ("2026-01-01T10:00:00 INFO start\n2026-01-01T10:00:01 ERROR stop", "log"),
        ("# Title\n\n- one\n- two\n\nSee [this](https://x.example).", "markdown"),
        ("import os\n\ndef f(x):\n    return os.path.join(x, 'y')\n", "code"),
        ("это обычный русский текст про погоду", "other-script"),
        ("The weather was fine, and nobody said otherwise.", "prose"),
        ("!function(e,t){" + "var a=b(c),d=e[f];return g?h:i;" * 80 + "}()", "minified"),
    ],
)
def test_content_kinds(text: str, kind: str) -> None:
    assert content_kind(text) == kind


def test_long_lines_without_spaces_are_minified() -> None:
    # Over 500 characters a line, line ends included, and over 1,000 in all.
    lines = ["a=1;" * 125, "a=1;" * 124 + "a=1", "a=1;" * 124 + "a=1"]
    assert len("\n".join(lines)) == 1_500
    assert content_kind("\n".join(lines)) != "minified"
    assert content_kind("\n".join(lines) + ";") == "minified"
    assert content_kind("a=1;" * 250) != "minified" and content_kind("a=1;" * 250 + "b") == "minified"


def rows(kind: str, of: int, others: int) -> str:
    """So many lines of a kind, and others of prose."""
    return "\n".join([*[kind] * of, *["some words of prose"] * others])


@pytest.mark.parametrize(("text", "kind"), [
    ("<p>a</p><a>c</a>", "prose"), ("<div><p>a<p>", "html"), ("  <HTML lang=en", "html"), ("   \n ", "empty"),
    ("QUJD" * 30 + " " + "a b " * 32, "prose"), ("QUJD" * 30 + " " + "a b " * 25, "base64"),
    ("яяя" + "a" * 7, "prose"), ("яяяя" + "a" * 7, "other-script"), ("123 456", "prose"),
    ("10:00:01 up\nso\nit\nis\nand", "prose"), ("a,b,c\n1,2,3", "prose"),
    ("\n".join(["red, green"] * 7), "prose"), ("\n".join(["red, green"] * 8), "csv"),
    # JSON: what is read as such, and what begins so and was cut: three keys of a short text, five of a long one.
    ("[1, 2", "prose"), ('{"a": 1, "b": 2, "c"', "prose"), ('{"a": 1, "b": 2, "c": 3', "json"), ("{ x", "prose"),
    ('{"a": 1, "b": 2, "c": 3, ' + "x " * 3_990, "prose"),
    ('{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, ' + "x " * 4_000, "json"),
    ('{"a": 1, "b": 2, "c": 3, "d": 4, ' + "x " * 4_000, "prose"), ("[1, 2, " + "3, " * 3_000, "json"),
    ('["a", ' + "x " * 4_000, "json"), ("[a, " + "x " * 4_000, "prose"), ("   [1]", "json"), ("x [1]", "prose"),
    # HTML: three tags, or how it begins, within 15 characters.
    ("a <p> b <p> c", "prose"), ("a <p> b <p> c <p>", "html"), ("<!DOCTYPE html5>", "html"), ("<!doctyp", "prose"),
    ("<HTML>", "html"), ("a<html ", "prose"),
    ("+++ a/b", "prose"), ("+++ a/b\n--- a/c", "diff"),
    # More than half of it in pieces of 120 characters.
    ("QUJD" * 30 + " " * 40 + "a b " * 19 + "a bc", "prose"),
    ("QUJD" * 30 + " " * 40 + "a b " * 19 + "a b", "base64"), ("Q" * 119, "prose"), ("Q" * 120, "base64"),
    # The first 8,000 characters count.
    ("word " * 1_600 + "QUJD" * 4_000, "prose"), ("word " * 1_599 + "\n" + "это обычный " * 3_000, "prose"),
    # More than three in ten letters of another script; half of the letters would be more.
    ("яяя aaaaaaa 1 2 3", "prose"), ("яяяя aaaaaaaaa 1 2 3", "other-script"), ("ɏɏɏɏ aaa", "prose"),
    ("ɐɐɐɐ aaa", "other-script"),
    # Four of five lines with as many commas as the first, in three lines with two of them, in eight with one.
    ("a,b,c\n1,2,3\n4,5,6", "csv"), ("a,b,c\n1,2,3\n4,5,6\n7,8,9\nx", "csv"), ("a,b,c\n1,2,3\n4,5,6\nx", "prose"),
    ("a\tb\tc\n1;2;3\n4,5,6", "csv"), ("a,b\n" * 7, "prose"), ("red, blue\n" * 8, "csv"),
    ("x\na,b,c\n1,2,3\n4,5,6\n7,8,9", "prose"),
    # More than two in five lines with a time or a level, of two lines at least.
    (rows("10:00:01 up", 2, 3), "prose"), (rows("10:00:01 up", 3, 4), "log"), (rows("it FAILED so", 3, 4), "log"),
    ("10:00:01 up", "prose"), ("10:00:01 up\nso", "log"), ("2026-01-01 10:00 up\nso", "log"),
    ("it failed\nso", "prose"),
    # More than two in five lines of code, and no fewer than of Markdown.
    (rows("import os", 2, 3), "prose"), (rows("import os", 3, 4), "code"), (rows("# one", 3, 1), "code"),
    (rows("- one", 3, 18), "prose"), (rows("- one", 4, 16), "markdown"), (rows("- one", 2, 10), "markdown"),
    (rows("* a = 1", 3, 1), "code"), (rows("* a = [b](https://c)", 3, 1), "markdown"),
    # The first 160 characters of a line say what it is.
    (("ab " * 53)[:159] + ";", "code"), ("ab " * 53 + "a;", "prose"),
    # A tenth of spaces and more is no minified text.
    ("a(b)c(d)e " * 150 + "x", "minified"), ("a(b)c(d)e " * 149 + "a(b)c(d) e", "code"),
])  # fmt: skip
def test_how_much_of_a_sign_decides(text: str, kind: str) -> None:
    assert content_kind(text) == kind
