"""Least squares without negative weights: of all sets of columns the best one whose own best weights are positive."""

from itertools import combinations

import numpy as np

from ctxsim.recorded.size_fit import Array

EXACT = 1e-12
"""Of the squares of the target: a better fit by less is none."""


def non_negative(matrix: Array, target: Array) -> Array:
    """Return the weights, none below 0, whose sum of columns is nearest to a target in squares.

    `matrix` has a row for each number of `target` and a column for each weight, few columns and no more than rows.
    """
    # The same problem in as many rows as there are columns.
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
