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


@pytest.mark.parametrize(("text", "kind"), [
    ("<p>a</p><a>c</a>", "prose"), ("<div><p>a<p>", "html"), ("  <HTML lang=en", "html"), ("   \n ", "empty"),
    ("QUJD" * 30 + " " + "a b " * 32, "prose"), ("QUJD" * 30 + " " + "a b " * 25, "base64"),
    ("яяя" + "a" * 7, "prose"), ("яяяя" + "a" * 7, "other-script"), ("123 456", "prose"),
    ("10:00:01 up\nso\nit\nis\nand", "prose"), ("10:00:01 up\nso", "log"),
    ("a,b,c\n1,2,3", "prose"), ("a,b,c\n1,2,3\n4,5,6\n7,8,9\nend", "csv"), ("a,b,c\n1,2,3\n4,5,6\nend", "prose"),
    ("\n".join(["red, green"] * 7), "prose"), ("\n".join(["red, green"] * 8), "csv"),
])  # fmt: skip
def test_a_sign_decides_from_so_often_on(text: str, kind: str) -> None:
    assert content_kind(text) == kind
