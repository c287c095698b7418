"""A model's mean prompt and cost under a strategy, relative to its raw runs, fitted on other models alone."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import NamedTuple

from evidence.outcomes.shape import RAW, SUMMARY, SUMMARY_TOKENS, Requests, Shape

OUTPUT_PRICE = 8.0
"""The approximate price of an output token, in input tokens."""

HEADS, LONGER = (1_000, 1_500, 2_000, 3_000, 4_000, 5_000, 6_000), (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0)
DISCOUNTS = tuple(n / 20 for n in range(19))

Cell = tuple[str, str]
"""A strategy and a model."""


class Run(NamedTuple):
    """One raw run of a model and what its requests would hold."""

    calls: int
    prompt: float
    completion: float
    shape: Shape


class Known(NamedTuple):
    """The raw runs of each model, and by cell the ratios to raw that were published."""

    runs: Mapping[str, list[Run]]
    prompts: Mapping[Cell, float]
    costs: Mapping[Cell, float]


def prompt_ratio(known: Known, cell: Cell, head: float, longer: float) -> float:
    """Return the predicted mean prompt of a cell relative to raw, each run weighted by its own raw prompt."""
    strategy, model = cell
    pairs = [(run.prompt, _tokens(run, run.shape.sent, strategy, head, longer)
              / _tokens(run, run.shape.sent, RAW, head, longer)) for run in known.runs[model]]  # fmt: skip
    return sum(prompt * ratio for prompt, ratio in pairs) / sum(prompt for prompt, _ in pairs)


def cost_ratio(known: Known, cell: Cell, head: float, longer: float, discount: float) -> float:
    """Return the predicted cost of a cell relative to raw for as many turns. Cached tokens cost `discount` less."""
    strategy, model = cell
    paid = raw = 0.0
    for run in known.runs[model]:
        whole = _tokens(run, run.shape.sent, RAW, head, longer)
        of = {
            name: run.calls * (_tokens(run, run.shape.sent, name, head, longer)
                               - discount * _tokens(run, run.shape.cached, name, head, longer)
                               + OUTPUT_PRICE * run.completion)
            for name in (strategy, RAW)
        }  # fmt: skip
        if strategy == SUMMARY:
            summary = longer * run.shape.seen + SUMMARY_TOKENS * (1 + OUTPUT_PRICE)
            of[strategy] += run.shape.summaries * summary
        paid += run.prompt / whole * of[strategy]
        raw += run.prompt / whole * of[RAW]
    return paid / raw


def _tokens(run: Run, of: Mapping[str, Requests], strategy: str, head: float, longer: float) -> float:
    requests = of[strategy]
    return head + run.completion * requests.turns + longer * requests.results + requests.fixed


class Fitted(NamedTuple):
    """The tokens of the head, the factor on the length of results, and the discount on cached input."""

    head: float
    longer: float
    discount: float


def fitted_without(known: Known, model: str) -> Fitted:
    """Return the best fit to the other models: the sizes by their mean prompts, the discount by their costs."""
    others = [cell for cell in known.prompts if cell[1] != model]

    def off_prompts(sizes: tuple[float, float]) -> float:
        return sum((prompt_ratio(known, cell, *sizes) - known.prompts[cell]) ** 2 for cell in others)

    def off_costs(discount: float) -> float:
        return sum((cost_ratio(known, cell, *sizes, discount) - known.costs[cell]) ** 2 for cell in others)

    sizes = min(product(HEADS, LONGER), key=off_prompts)
    return Fitted(*sizes, min(DISCOUNTS, key=off_costs))


def mean_of_others(of: Mapping[Cell, float]) -> dict[Cell, float]:
    """Return for each cell the mean of the other models under its strategy: the trivial prediction."""
    found = {}
    for strategy, model in of:
        others = [value for (one, other), value in of.items() if one == strategy and other != model]
        found[strategy, model] = sum(others) / len(others)
    return found
