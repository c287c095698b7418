"""Puts what a command measured into a page of the docs, in place of the text between two marks."""

from __future__ import annotations

from pathlib import Path


def put(made: str, page: Path, begin: str, end: str) -> None:
    """Replace the text between two marks of a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    page.write_text(f"{before}{begin}\n\n{made}\n\n{end}{rest.partition(end)[2]}", encoding="utf-8")
