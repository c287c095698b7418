"""The least price of needs: sources are kept step by step, and a need is met by any of its sources.

Few choices are all tried; if there are more, HiGHS solves the linear relaxation, whose value is a lower bound.

A source j is kept in steps: the first from its first request to the first call that needs it, each further one to the
next such call. Step m costs price(j, m) and requires step m - 1. A need n is met where one of its sources is kept up to
its call; the weights w(n) sum to 1. With x(j, m) for how much of a step is paid for and y(n) for how much of a need is
met, both from 0 to 1, the least at a survival s is

    min  sum of price(j, m) x x(j, m)
    with x(j, m) <= x(j, m - 1)
         y(n) <= sum over the sources j of n of x(j, the step that ends at n's call)
         sum of w(n) x y(n) >= s
"""

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise, product
from typing import Any, NamedTuple

import msgspec
import numpy as np

LEVELS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0)
"""Survival at which a frontier is drawn."""

FEW = 400
"""Most choices that are all tried; if there are more, the linear relaxation gives the bound."""

SLACK = 1e-6
"""Tolerance of a survival, which is rounded to six digits."""


class Keeping(msgspec.Struct, frozen=True):
    """A source that can be kept in steps: step m, up to the call `steps[m][0]`, adds the price `steps[m][1]`."""

    source: int
    steps: tuple[tuple[int, float], ...]


class Point(NamedTuple):
    """At a survival: the proven least price, that of a real choice, and up to which call it keeps each source."""

    bound: float
    found: float
    kept: dict[int, int]


class Goal(msgspec.Struct, frozen=True):
    """A need of a `weight`, met by any of its `sources` that is kept up to its `call`."""

    call: int
    weight: float
    sources: tuple[int, ...]


class Programme:
    """Sources that can be kept, their prices, and the goals that they meet.

    A step is taken only after those before it; a goal is met by any one of its sources. The weights of goals sum to 1.
    """

    def __init__(self, keepings: Sequence[Keeping], goals: Sequence[Goal]) -> None:
        self._keepings = keepings
        # Atoms that one call finds in the same results are one goal.
        together: dict[tuple[int, tuple[int, ...]], float] = {}
        for goal in goals:
            key = (goal.call, goal.sources)
            together[key] = together.get(key, 0.0) + goal.weight
        self._goals = [Goal(call, weight, sources) for (call, sources), weight in together.items()]
        self._solved: dict[float, tuple[dict[tuple[int, int], float], float, Any] | None] = {}
        self._prices = {(one.source, call): price for one in keepings for call, price in one.steps}
        self._few = math.prod(len(one.steps) + 1 for one in keepings) <= FEW

    def least(self, survival: float) -> Point:
        """Return the least price of goals of a total weight of at least `survival`.

        Exact where the choices are few enough to try them all; else the bound of the linear relaxation, and the choice
        that its steps make when they are rounded up.
        """
        if survival <= SLACK or not self._goals:
            return Point(0.0, 0.0, {})
        if self._few:
            price, _, kept = min(choice for choice in self._choices if choice[1] >= survival - SLACK)
            return Point(price, price, dict(kept))
        # If the solver fails, nothing is proven, and the only known choice is to keep everything.
        taken, bound, _ = self._relaxed(survival) or (dict.fromkeys(self._prices, 1.0), 0.0, None)
        chosen: dict[int, int] = {}
        for (source, call), share in taken.items():
            if share > SLACK:
                chosen[source] = max(call, chosen.get(source, 0))
        found = sum(price for (source, call), price in self._prices.items() if call <= chosen.get(source, 0))
        return Point(max(0.0, min(bound, found)), found, chosen)

    @cached_property
    def _choices(self) -> list[tuple[float, float, tuple[tuple[int, int], ...]]]:
        """Every choice: its price, the weight that it reaches, and up to which call it keeps each source."""
        found = []
        for depths in product(*(range(len(one.steps) + 1) for one in self._keepings)):
            taken = [(one, n) for one, n in zip(self._keepings, depths, strict=True) if n]
            kept = {one.source: one.steps[n - 1][0] for one, n in taken}
            price = sum(step[1] for one, n in taken for step in one.steps[:n])
            met = (goal for goal in self._goals if any(kept.get(source, 0) >= goal.call for source in goal.sources))
            found.append((price, sum(goal.weight for goal in met), tuple(kept.items())))
        return found

    def _relaxed(self, survival: float) -> tuple[dict[tuple[int, int], float], float, Any] | None:
        """Return the share of each step, the bound, and the solver's basis there; None if the solver fails."""
        if survival not in self._solved:
            # Start at the solution of the next level above, so that the answer doesn't depend on the order of calls.
            start = next((level for level in LEVELS if level > survival), None)
            above = None if start is None else self._relaxed(start)
            solver = self._solver
            solver.clearSolver()
            if above is not None:
                solver.setBasis(above[2])
            self._solved[survival] = None
            if self._solve(survival):
                shares = dict(zip(self._prices, solver.getSolution().col_value, strict=False))
                self._solved[survival] = shares, solver.getObjectiveValue() * self._scale, solver.getBasis()
        return self._solved[survival]

    def _solve(self, survival: float) -> bool:
        from highspy import HighsModelStatus

        solver = self._solver
        solver.changeRowBounds(solver.getNumRow() - 1, survival - SLACK, math.inf)
        # HiGHS fails on some programmes in its presolve; they are solved without it.
        for presolve in ("choose", "off"):
            solver.setOptionValue("presolve", presolve)
            solver.run()
            if solver.getModelStatus() == HighsModelStatus.kOptimal:
                return True
            solver.clearSolver()
        return False

    @cached_property
    def _solver(self) -> Any:
        """HiGHS with the linear programme: shares of steps and of goals with several sources, all from 0 to 1.

        A goal with one source uses the variable of that source's step.
        """
        from highspy import Highs, HighsLp, MatrixFormat

        column = {key: number for number, key in enumerate(self._prices)}
        weights: dict[int, float] = {}
        rows: list[list[tuple[int, float]]] = [
            [(column[one.source, earlier], 1.0), (column[one.source, later], -1.0)]
            for one in self._keepings
            for (earlier, _), (later, _) in pairwise(one.steps)
        ]
        size = len(column)
        for goal in self._goals:
            steps = [column[source, goal.call] for source in goal.sources]
            if len(steps) > 1:
                rows.append([*((step, 1.0) for step in steps), (size, -1.0)])
                steps = [size]
                size += 1
            weights[steps[0]] = weights.get(steps[0], 0.0) + goal.weight
        rows.append(list(weights.items()))
        paid = np.zeros(size)
        # Scaled, because solvers have absolute tolerances.
        paid[: len(column)] = np.array(list(self._prices.values())) / self._scale
        programme = HighsLp()
        programme.num_col_, programme.num_row_ = size, len(rows)
        programme.col_cost_, programme.col_lower_, programme.col_upper_ = paid, np.zeros(size), np.ones(size)
        programme.row_lower_, programme.row_upper_ = np.zeros(len(rows)), np.full(len(rows), math.inf)
        matrix = programme.a_matrix_
        matrix.format_ = MatrixFormat.kRowwise
        matrix.start_ = np.cumsum([0, *map(len, rows)])
        matrix.index_ = [where for row in rows for where, _ in row]
        matrix.value_ = [value for row in rows for _, value in row]
        solver = Highs()
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("threads", 1)
        solver.passModel(programme)
        return solver

    @cached_property
    def _scale(self) -> float:
        return max([*self._prices.values(), 1e-300])


def cheapest_alone(goals: Sequence[Goal], price: float, survival: float) -> Point:
    """Return the least point if each goal costs `price` alone: the heaviest goals first, the last one in part."""
    left, paid = survival - SLACK, 0.0
    for goal in sorted(goals, key=lambda goal: -goal.weight):
        if left <= 0:
            break
        paid += price * min(1.0, left / goal.weight)
        left -= goal.weight
    return Point(paid, paid, {})
