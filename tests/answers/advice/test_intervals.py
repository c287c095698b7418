"""Intervals and ranks resample sessions; and the sign-flip test against p-values counted by hand."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

from ctxsim.answers.advice.intervals import Interval, bootstrap_mean, rank_ranges, ratio_error, resampled, sign_flip


def survival_interval(part: pandas.DataFrame) -> Interval | None:
    """One policy's mean survival and its interval, given its summary rows."""
    known = part[part.survival.notna()]
    return bootstrap_mean(known.survival.to_numpy(), known.root.to_numpy())


def test_intervals_resample_sessions_not_transcripts() -> None:
    # Six sessions, one of them with three equal sub-agents: eight values, but only six sessions to draw from.
    values = [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    apart, together = bootstrap_mean(values, list("abcdefgh")), bootstrap_mean(values, list("abcdefff"))
    assert apart is not None and together is not None
    assert together[0] == apart[0] == 0.375 and together[2] > apart[2]
    assert bootstrap_mean(values, list("abcdeeee")) is None


@pytest.mark.parametrize("sessions", [6, 8, 12, 30])
def test_of_a_hundred_intervals_about_95_hold_the_mean_and_of_fewer_than_six_sessions_there_is_none(
    sessions: int,
) -> None:
    chance = np.random.default_rng(7)
    drawn = chance.normal(1.0, 1.0, (1_000, sessions))
    found = [bootstrap_mean(one, [f"{n:02}" for n in range(sessions)]) for one in drawn]
    held = sum(one is not None and one[1] <= 1.0 <= one[2] for one in found)
    assert 915 <= held <= 970
    assert bootstrap_mean(drawn[0][:5], list("abcde")) is None


def test_of_more_than_five_thousand_sessions_the_interval_is_the_normal_one() -> None:
    # Of n values, k are ones: their deviation is sqrt(p (1 - p) n / (n - 1)) with p = k / n, the error that by sqrt(n).
    share = 2_500 / 5_001
    found = bootstrap_mean([0.0, 1.0] * 2_500 + [0.0], [f"{n:04}" for n in range(5_001)])
    reach = 1.959964 * (share * (1 - share) / 5_000) ** 0.5
    assert found == pytest.approx((share, share - reach, share + reach), abs=1e-8)


def paired(differences: list[float], others: int) -> dict[str, pandas.DataFrame]:
    """A policy that keeps more than each of the others, all alike, by these differences, one for each session."""
    names = [f"s{n}" for n in range(len(differences))]
    sizes = {"best": differences, **{f"other {n}": [0.0] * len(differences) for n in range(others)}}
    return {
        label: pandas.DataFrame({"transcript": names, "root": names, "survival": survival})
        for label, survival in sizes.items()
    }


def test_ranks_leave_five_per_cent_for_one_wrong_order_among_all_pairs() -> None:
    # Three of six sessions differ: a resample has none of them with (1/2)^6 = 1.6 %. Two policies are one pair, with
    # 5 % / 2 = 2.5 % at each end: told apart. Three are three pairs, with 0.83 %: not told apart.
    halves = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    assert rank_ranges(paired(halves, 1)) == {"best": (1, 1), "other 0": (2, 2)}
    assert rank_ranges(paired(halves, 2)) == {"best": (1, 3), "other 0": (1, 3), "other 1": (1, 3)}
    # Five policies are ten pairs: 0.25 %. (1/2)^8 = 0.39 % is more, though less than 2.5 % / 5; (1/3)^6 = 0.14 % isn't.
    assert rank_ranges(paired([1.0] * 4 + [0.0] * 4, 4))["best"] == (1, 5)
    found = rank_ranges(paired([1.0, 1.0, 1.0, 1.0, 0.0, 0.0], 4))
    assert found == {"best": (1, 1), **{f"other {n}": (2, 5) for n in range(4)}}


def test_of_many_sessions_the_normal_interval_and_ranks_are_the_resampled_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    roots = [f"s{n // 3}" for n in range(900)]
    parts = {
        name: pandas.DataFrame({"transcript": range(900), "root": roots, "survival": rng.random(900) * top})
        for name, top in (("a", 1.0), ("b", 1.0), ("c", 0.8))
    }
    # In each session a hundredth less than under a: told apart from it, though not from b.
    parts["less"] = parts["a"].assign(survival=0.99 * parts["a"].survival)
    resampled, ranks = survival_interval(parts["a"]), rank_ranges(parts)
    monkeypatch.setattr("ctxsim.answers.advice.intervals.MANY_SESSIONS", 100)
    normal = survival_interval(parts["a"])
    assert resampled is not None and normal is not None and normal == pytest.approx(resampled, rel=0.01)
    assert rank_ranges(parts) == ranks == {"a": (1, 2), "b": (1, 3), "c": (4, 4), "less": (2, 3)}


def test_an_error_of_a_mean_by_hand() -> None:
    # Sums 1, 2, 3 of one transcript each: off the mean by -1, 0, 1, so sqrt(2 x 3 / 2) / 3.
    error = ratio_error(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]]), np.array([1, 1, 1]))
    assert error == pytest.approx([3**0.5 / 3, 0])
    # Sessions of one and three transcripts with 0 and 3 of 4: off three quarters each by -.75 and .75.
    assert ratio_error(np.array([[0.0], [3.0]]), np.array([1, 3])) == pytest.approx([(2 * 0.5625 * 2) ** 0.5 / 4])


def test_resamples_draw_as_many_sessions_as_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    (whole,) = resampled(3, 5)
    assert whole.shape == (5, 3) and whole.sum(axis=1).tolist() == [3] * 5
    monkeypatch.setattr("ctxsim.answers.advice.intervals.DRAWN_AT_ONCE", 7)
    parts = list(resampled(3, 5))
    assert [len(one) for one in parts] == [2, 2, 1] and (np.concatenate(parts) == whole).all()
    monkeypatch.setattr("ctxsim.answers.advice.intervals.DRAWN_AT_ONCE", 1)
    assert [len(one) for one in resampled(3, 2)] == [1, 1]


def test_nobody_is_ranked_alone_or_by_fewer_than_six_sessions() -> None:
    assert rank_ranges(paired([1.0] * 5, 1)) == {}
    parts = paired([1.0] * 6, 1)
    assert rank_ranges({}) == {} == rank_ranges({"best": parts["best"]})
    assert rank_ranges({label: part.assign(root="one") for label, part in parts.items()}) == {}
    assert rank_ranges({label: part.assign(survival=np.nan) for label, part in parts.items()}) == {}
    assert rank_ranges(parts) == {"best": (1, 1), "other 0": (2, 2)}
    # Of three the last may be either of two.
    three = parts | {"third": parts["best"].assign(survival=[0.0, 0.5] + [0.0] * 4)}
    assert rank_ranges(three) == {"best": (1, 1), "other 0": (2, 3), "third": (2, 3)}


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
def test_the_share_of_signs_that_are_as_far_off_by_hand(differences: list[float], roots: str, chance: float) -> None:
    assert sign_flip(differences, list(roots)) == chance


@pytest.mark.parametrize("differing", range(6))
def test_of_fewer_than_six_that_differ_no_p_is_small(differing: int) -> None:
    # All have the same sign: only all + and all - are as far off, 2 of 2^n; without a difference p is 1.
    assert sign_flip([1.0] * differing + [0.0] * 7, list("abcdefghijkl")[: differing + 7]) == min(1, 2 / 2**differing)


def test_fewer_than_six_sessions_have_no_p() -> None:
    assert sign_flip([1.0] * 5, list("abcde")) is None and sign_flip([1.0] * 6, ["a"] * 6) is None


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
