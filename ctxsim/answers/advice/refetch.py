"""The advice at other refetch rates: if lost results are fetched again, the answer may be another one.

An amount is linear in the refetch rate, so that each rate at which two policies cost the same has a closed form.
"""

from bisect import bisect_left
from collections.abc import Callable

import msgspec

from ctxsim.answers.advice.figures import Figures
from ctxsim.answers.advice.pooled import Pooled

SEEN = (0.20, 0.85)
"""Refetch rates after recorded compactions. Of what was lost and used later: the share for which the same call or file
came again, and the share that any later result showed again.
"""

TURNS_SEEN = (0.86, 1.20)
"""Turns with a policy divided by turns without, over published outcomes of ten pairs of model and strategy."""


class Again(msgspec.Struct, frozen=True):
    """How an answer holds if lost results are fetched again.

    `even_at` is the rate below which the answer saves, or with `above` the rate above which it does, as doing nothing
    loses more; None if it saves at every rate, or at none. `turns` is the factor of turns that uses up its saving at
    rate 1, or at rate 0 if it saves nothing at 1; None if it never saves. `instead` is the policy to take from the rate
    `instead_at` on, if that is within SEEN.
    """

    even_at: float | None
    turns: float | None
    instead: Figures | None
    instead_at: float | None
    above: bool = False


def even_rate(found: Pooled, label: str, other: str, amount: str) -> float | None:
    """Return the refetch rate, from 0 to 1, at which two policies' amounts are equal; None if there is none."""
    own, others = found.again(label, amount), found.again(other, amount)
    # The same rise keeps the same gap. It isn't told from amounts, as rounding changes the gap between these.
    if own is None or others is None or own == others:
        return None
    rate = (found.at(0.0, other, amount) - found.at(0.0, label, amount)) / (own - others)
    return rate if 0 <= rate <= 1 else None


def again(found: Pooled, take: str, amount: str, chosen: Callable[[float], str]) -> Again | None:
    """Return how the answer `take` holds at other rates, given the choice at each; None if that isn't known."""
    nothing = found.nothing
    if nothing is None or found.again(take, amount) is None:
        return None

    def at(rate: float) -> list[float]:
        return [found.at(rate, label, amount) for label in (take, nothing)]

    spent, base = at(found.rate)
    saves = take != nothing and 0 < spent < base
    rates = [rate / 100 for rate in range(round(100 * SEEN[0]), round(100 * SEEN[1]) + 1)]
    instead, turned = chosen(rates[-1]), None
    if instead != take:
        turned = rates[bisect_left(rates, True, key=lambda rate: chosen(rate) != take)]
    even_at = even_rate(found, take, nothing, amount) if saves else None
    spent, base = at(1.0)
    above = even_at is not None and spent < base
    if even_at is not None and not above:
        spent, base = at(0.0)
    return Again(
        even_at, base / spent if saves else None, None if turned is None else found.all[instead], turned, above
    )
