"""The sign-flip test against p-values counted by hand."""

from __future__ import annotations

import pytest

from ctxsim.answers.advice.intervals import sign_flip


@pytest.mark.parametrize(
    ("differences", "roots", "chance"),
    [
        # 1 + 2 + 3 = 6. Of 2^3 sums of signs only 6 and -6 are as far from 0: 2 / 8.
        ([1, 2, 3], "abc", 2 / 8),
        # -1 + 2 + 3 = 4. As far: 6, 4 and their negatives; 1 + 2 - 3 = 0 and 1 - 2 + 3 = 2 are not: 4 / 8.
        ([-1, 2, 3], "abc", 4 / 8),
        # Two of one session swap together: sums 2 and 2, so 4, 0, 0, -4: 2 / 4. Apart it would be 1, 1, 2: 2 / 8.
        ([1, 1, 2], "aab", 2 / 4),
        # What doesn't differ has no sign: 5 or -5, both as far.
        ([0, 5], "ab", 1.0),
        ([0, 0], "ab", 1.0),
        # Sums of floats: 0.1 + 0.2 + 0.3 either way round is as far: 2 / 8.
        ([0.1, 0.2, 0.3], "abc", 2 / 8),
    ],
)
def test_by_hand(differences: list[float], roots: str, chance: float) -> None:
    assert sign_flip(differences, list(roots)) == chance


def test_one_session_says_nothing() -> None:
    assert sign_flip([1, 2], ["a", "a"]) is None


def test_many_sessions_are_drawn_and_agree_with_what_is_exact() -> None:
    # 20 equal differences: only all + and all - are as far, 2 / 2^20; no draw is, so (0 + 1) / 10,000.
    assert sign_flip([1.0] * 20, [str(n) for n in range(20)]) == 1 / 10_000
    # 15 ones and one of -1: the sum is 14, as far are 16 (2 ways) and 14 (32 ways): 34 / 65,536 = 0.0005.
    found = sign_flip([1.0] * 15 + [-1.0], [str(n) for n in range(16)])
    assert found == pytest.approx(34 / 65_536, abs=6e-4)
