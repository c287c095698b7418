"""Least squares without negative weights: by hand, and by what only the best weights can have."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxsim.recorded.least_squares import non_negative


def test_by_hand() -> None:
    # Columns (1, 0, 1) and (0, 1, 1), target (2, -1, 1): unbounded it is exactly 2 and -1.
    # Without the second, the first gets (2 + 1) / 2; with a weight of its own the second would be (-1 + 1) / 2 = 0.
    matrix = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert non_negative(matrix, np.array([2.0, -1.0, 1.0])) == pytest.approx([1.5, 0.0])
    assert non_negative(matrix, np.array([2.0, 3.0, 5.0])) == pytest.approx([2.0, 3.0])
    assert non_negative(matrix, np.array([-1.0, -1.0, -1.0])) == pytest.approx([0.0, 0.0])


def test_what_gains_little_is_taken_too() -> None:
    # The third column leaves (0, 0, 0, 1, 0) of the target, about 1 of 37,000 in squares; of that the second takes
    # 0.03^2 / 30,000 = 3e-8.
    matrix = np.array([[0, 0, 0, 0, 0], [0, 120, 125, 1.328125, 0], [146, 3, 126, 3, 0]], dtype=float).T
    weights = non_negative(matrix, np.array([146.0, 3.0, 126.0, 4.0, 0.0]))
    assert weights[0] == 0 and weights[1] > 0 and weights[2] > 0


NUMBERS = st.one_of(st.integers(-5, 5), st.floats(-1e3, 1e3, width=32))


@given(st.data())
def test_no_weight_is_negative_and_none_would_gain(data: st.DataObject) -> None:
    """Karush, Kuhn, Tucker: more of a column that is taken changes nothing, of one that isn't only makes it worse."""
    columns = data.draw(st.integers(1, 5))
    rows = data.draw(st.integers(columns, 9))
    draw = st.lists(NUMBERS, min_size=rows, max_size=rows)
    matrix = np.array([data.draw(draw) for _ in range(columns)], dtype=float).T
    target = np.array(data.draw(draw), dtype=float)
    weights = non_negative(matrix, target)
    assert weights.shape == (columns,) and (weights >= 0).all()
    gain = matrix.T @ (target - matrix @ weights)
    nothing = 1e-7 * (1 + np.abs(matrix).max() * np.abs(target).max() * rows)
    assert (gain <= nothing).all() and (np.abs(gain[weights > 0]) <= nothing).all()
