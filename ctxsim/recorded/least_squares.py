"""Least squares without negative weights, by the active sets of C. L. Lawson and R. J. Hanson.

Source: Solving Least Squares Problems, 1974, chapter 23, algorithm NNLS.
"""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

EXACT = 1e-12
"""Of the largest number that stands beside it: less is nothing."""


def non_negative(matrix: Array, target: Array) -> Array:
    """Return the weights, none below 0, whose sum of columns is nearest to a target in squares.

    `matrix` has a row for each number of `target` and a column for each weight, and no more columns than rows.
    """
    # The same problem in as many rows as there are columns.
    turned, square = np.linalg.qr(matrix)
    goal = turned.T @ target
    weights = np.zeros(square.shape[1])
    free = np.zeros(square.shape[1], dtype=bool)
    nothing = EXACT * float(np.abs(square.T @ goal).max(initial=0.0))
    while (gain := np.where(free, -np.inf, square.T @ (goal - square @ weights))).max(initial=-np.inf) > nothing:
        entering = int(gain.argmax())
        free[entering] = True
        while True:
            best = np.zeros_like(weights)
            best[free] = np.linalg.lstsq(square[:, free], goal, rcond=None)[0]
            wrong = free & (best <= 0)
            if not wrong.any():
                break
            if wrong[entering] and not weights[entering]:
                # It gains nothing that can be told from rounding.
                return weights
            share = float((weights[wrong] / (weights[wrong] - best[wrong])).min())
            weights = weights + share * (best - weights)
            free &= weights > EXACT * weights.max()
            weights[~free] = 0.0
        weights = best
    return weights
