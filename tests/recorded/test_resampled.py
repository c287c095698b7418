"""Student's t by its tables, and how far out the ends of an interval lie."""

from __future__ import annotations

import numpy as np
import pytest

from ctxsim.recorded.resampled import ends, student


@pytest.mark.parametrize(("freedom", "t", "off"), [
    (4, 2.7764, 0.01), (5, 2.5706, 0.003), (8, 2.30600, 3e-4), (10, 2.22814, 1e-4), (20, 2.085963, 1e-5),
    (60, 2.000298, 1e-6), (1_000_000, 1.959966, 1e-6),
])  # fmt: skip
def test_students_t_is_that_of_the_tables(freedom: int, t: float, off: float) -> None:
    assert student(freedom) == pytest.approx(t, abs=off)


@pytest.mark.parametrize("freedom", [1, 2, 3])
def test_of_few_it_is_what_four_terms_of_its_expansion_say(freedom: int) -> None:
    # The book's 26.7.5, its four polynomials at z = 1.959964.
    terms = (2.372271, 2.822499, 2.555850, 1.589534)
    assert student(freedom) == pytest.approx(1.959964 + sum(t / freedom**n for n, t in enumerate(terms, 1)), abs=1e-5)


def test_the_ends_for_six_sessions_lie_further_out_than_percentiles() -> None:
    # Student's t for five degrees of freedom is 2.5703, times the root of 6 / 5 2.8156: beyond that are 0.2434 %.
    assert ends(np.linspace(0.0, 100.0, 1_001), 6) == pytest.approx((0.2434, 99.7566), abs=1e-4)
