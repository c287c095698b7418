"""The parts of a status line, by tables: tokens as they are written, and calls that are left."""

from __future__ import annotations

import pytest

from ctxsim.answers.bill.status import LEAST_SEEN, _ahead, _calls, _count


@pytest.mark.parametrize(("text", "tokens"), [
    ("300k", 300_000), ("2K", 2_000), ("1500", 1_500), ("0", 0), ("k", 0), ("", 0), ("-5", 0), ("1.5k", 0), ("٣", 0),
    ("12m", 0),
])  # fmt: skip
def test_tokens_as_a_variable_has_them(text: str, tokens: int) -> None:
    assert _count(text) == tokens


@pytest.mark.parametrize(("growths", "left", "calls"), [
    # From each call on until so much has joined; from the last ones it never does.
    ([10, 20, 30, 5, 5], 30, [2, 2, 1]), ([10, 20, 30, 5, 5], 40, [3, 2, 3]), ([10, 10], 10, [1, 1]),
    ([10, 10], 11, [2]), ([5, 5], 11, []), ([], 1, []),
])  # fmt: skip
def test_a_session_tells_after_how_many_calls_it_had_grown_so_far(
    growths: list[int], left: int, calls: list[int]
) -> None:
    assert list(_calls(growths, left)) == calls


def test_what_is_left_fills_up_as_in_the_projects_sessions() -> None:
    assert _ahead(0, []) == _ahead(-1, []) == "compaction at the next call"
    # One token is left, and every call brings more.
    one = [[5] * LEAST_SEEN]
    assert _ahead(1, one) == "compaction in about 1 call (1 to 1)" and _ahead(1, [[5] * (LEAST_SEEN - 1)]) == ""
    assert _ahead(5.5, [[5] * (LEAST_SEEN + 1)]) == "compaction in about 2 calls (2 to 2)"
    assert _ahead(6, one) == "", "the last call tells of no growth by six"
    # Where the last of 101 calls alone brings something, 101 to 1 calls were left: a twentieth, half, a twentieth.
    assert _ahead(9, [[0] * 100 + [9]]) == "compaction in about 51 calls (6 to 96)"
