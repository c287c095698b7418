"""Non-negative least squares: of all sets of columns, the best one whose least-squares weights are non-negative."""

from itertools import combinations

import numpy as np

from ctxsim.recorded.size_fit import Array

EXACT = 1e-14
"""Least improvement of a fit that counts, as a share of the target's sum of squares."""


def non_negative(matrix: Array, target: Array) -> Array:
    """Return the weights, none below 0, whose sum of columns is nearest to a target in squares.

    `matrix` has a row for each number of `target` and a column for each weight, few columns and no more than rows.
    """
    # QR reduces the problem to as many rows as columns.
    turned, square = np.linalg.qr(matrix)
    goal = turned.T @ target
    columns = range(square.shape[1])
    best, least = np.zeros(len(columns)), float(goal @ goal)
    nothing = EXACT * least
    for free in (list(some) for size in columns for some in combinations(columns, size + 1)):
        weights = np.zeros(len(columns))
        weights[free] = np.linalg.lstsq(square[:, free], goal, rcond=None)[0]
        left = goal - square @ weights
        if weights.min() >= 0 and left @ left < least - nothing:
            best, least = weights, float(left @ left)
    return best
