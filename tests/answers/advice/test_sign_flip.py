"""The sign-flip test against p-values counted by hand."""

from __future__ import annotations

import pytest

from ctxsim.answers.advice.intervals import sign_flip


@pytest.mark.parametrize(
    ("differences", "roots", "chance"),
    [
        # The sum is 21. Of 2^6 sums of signs only 21 and -21 are as far from 0: 2 / 64.
        ([1, 2, 3, 4, 5, 6], "abcdef", 2 / 64),
        # 19. As far: 21, 19 and their negatives; another sign of 2 gives 17 or 15: 4 / 64.
        ([-1, 2, 3, 4, 5, 6], "abcdef", 4 / 64),
        # Two of one session swap together: 2, 1, 1, 1, 1, 1, of which all or none: 2 / 64. Apart it would be 2 / 128.
        ([1, 1, 1, 1, 1, 1, 1], "aabcdef", 2 / 64),
        # What doesn't differ has no sign: 2 / 64 again.
        ([0, 1, 2, 3, 4, 5, 6], "abcdefg", 2 / 64),
        # Sums of floats: 0.1 + 0.2 + ... either way round is as far: 2 / 64.
        ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "abcdef", 2 / 64),
    ],
)
def test_by_hand(differences: list[float], roots: str, chance: float) -> None:
    assert sign_flip(differences, list(roots)) == chance


def test_fewer_than_six_sessions_that_differ_can_give_no_small_p_and_have_none() -> None:
    assert sign_flip([1, 2, 3, 4, 5, 0, 0], list("abcdefg")) is None and sign_flip([1] * 6, ["a"] * 6) is None


def test_many_sessions_are_drawn_and_agree_with_what_is_exact() -> None:
    # 20 equal differences: only all + and all - are as far, 2 / 2^20; no draw is, so (0 + 1) / 10,000.
    assert sign_flip([1.0] * 20, [str(n) for n in range(20)]) == 1 / 10_000
    # 15 ones and one of -1: the sum is 14, as far are 16 (2 ways) and 14 (32 ways): 34 / 65,536 = 0.0005.
    found = sign_flip([1.0] * 15 + [-1.0], [str(n) for n in range(16)])
    assert found == pytest.approx(34 / 65_536, abs=6e-4)


def test_up_to_fourteen_sessions_every_sign_is_looked_at() -> None:
    names = [str(n) for n in range(15)]
    assert sign_flip([1.0] * 14, names[:14]) == 2 / 2**14
    # Of fifteen 9,999 are drawn, and what was seen is one more: a whole number of ten thousandths.
    drawn = sign_flip([1.0] * 15, names)
    assert drawn is not None and drawn * 10_000 == pytest.approx(round(drawn * 10_000)) and drawn < 0.0005
    assert sign_flip([0.0] * 15, names) is None
