"""Limits on what is read: in megabytes, which somebody can set."""

from __future__ import annotations

import io

import pytest

from ctxsim.errors import InputError
from ctxsim.readers.source import limits
from ctxsim.readers.source.limits import most_bytes, read_all, too_large


@pytest.mark.parametrize(("text", "count"), [("1", 1_000_000), ("0.5", 500_000), ("2000", 2_000_000_000)])
def test_megabytes_are_millions_of_bytes(monkeypatch: pytest.MonkeyPatch, text: str, count: int) -> None:
    monkeypatch.setenv(limits.VARIABLE, text)
    assert most_bytes() == count


@pytest.mark.parametrize("text", ["0", "-1", "1e9", "nan", "much", ""])
def test_what_is_no_number_of_megabytes_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(limits.VARIABLE, text)
    with pytest.raises(InputError, match="not a number of megabytes"):
        most_bytes()


def test_exactly_the_limit_is_read_and_a_byte_more_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.VARIABLE, "0.00001")
    assert read_all(io.BytesIO(b"x" * 10), "pipe") == b"x" * 10
    with pytest.raises(InputError, match=r"^pipe: is larger than 0 MB"):
        read_all(io.BytesIO(b"x" * 11), "pipe")
    monkeypatch.setenv(limits.VARIABLE, "3000")
    assert "is larger than 3,000 MB decompressed" in str(too_large("x"))


def test_each_limit_is_as_the_docs_say() -> None:
    assert (limits.RATIO, limits.EXPANDED, limits.MOST_FILES) == (100, 1_000_000, 1_000_000)
    assert (limits.SOURCE_BYTES, limits.SOURCE_SECONDS, limits.SECONDS_PER_MB) == (20_000_000_000, 600.0, 1.0)
