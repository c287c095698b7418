"""Text of others on a terminal: no control character of a transcript, a file name or a label reaches it."""

from __future__ import annotations

import unicodedata


def safe(text: str) -> str:
    """Return a text whose control and bidirectional characters are shown as escapes, but for line feeds and tabs."""
    if text.isprintable():
        return text
    return "".join(
        character if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs") else
        character.encode("unicode_escape").decode()
        for character in text
    )  # fmt: skip
