"""The other end of the bill: what is lost may be fetched again, and then the answer may be another one.

Between the ends an amount is linear in the rate of fetching again, so that each rate at which two policies cost the
same has a closed form.
"""

from bisect import bisect_left
from collections.abc import Callable

import msgspec

from ctxsim.answers.advice.figures import Figures
from ctxsim.answers.advice.pooled import Pooled

SEEN = (0.20, 0.85)
"""Rates seen after recorded compactions: of what was lost and used later the same call or file came again, and any
later result showed it again.
"""

TURNS_SEEN = (0.86, 1.20)
"""Turns under a policy beside those without, over published outcomes of ten pairs of model and strategy."""


class Again(msgspec.Struct, frozen=True):
    """How an answer stands if what it loses is fetched again.

    `even_at` is the rate below which it saves, or with `above` the one above which it does, as doing nothing loses
    more; None where it saves at every rate. `turns` is how many times as many turns eat its saving if nothing is
    fetched again, or all where it saves at that; None where it saves nothing. `instead` is what to take from the rate
    `instead_at` on, where that is within what was seen.
    """

    even_at: float | None
    turns: float | None
    instead: Figures | None
    instead_at: float | None
    above: bool = False


def even_rate(found: Pooled, label: str, other: str, amount: str) -> float | None:
    """Return the rate of fetching again, from 0 to 1, at which one policy's amount reaches another's; None if at none.

    From (a + r x A) = (b + r x B).
    """
    rise = [found.again(one, amount) for one in (label, other)]
    if rise[0] is None or rise[1] is None:
        return None
    # Amounts of the run may stand at a rate of their own.
    gap = found.total(other, amount) - found.total(label, amount) + found.rate * (rise[0] - rise[1])
    steeper = rise[0] - rise[1]
    rate = gap / steeper if steeper else -1.0
    return rate if 0 <= rate <= 1 else None


def again(found: Pooled, take: str, amount: str, chosen: Callable[[float], str]) -> Again | None:
    """Return how the answer `take` stands at other rates, given what is chosen at each; None where it isn't known."""
    if found.nothing is None or found.again(take, amount) is None:
        return None
    pair = take, found.nothing

    def at(rate: float) -> list[float]:
        return [found.total(one, amount) + (rate - found.rate) * (found.again(one, amount) or 0.0) for one in pair]

    spent, base = at(found.rate)
    saves = take != found.nothing and 0 < spent < base
    rates = [rate / 100 for rate in range(round(100 * SEEN[0]), round(100 * SEEN[1]) + 1)]
    instead, turned = chosen(rates[-1]), None
    if instead != take:
        turned = rates[bisect_left(rates, True, key=lambda rate: chosen(rate) != take)]
    even_at = even_rate(found, take, found.nothing, amount) if saves else None
    spent, base = at(1.0)
    above = even_at is not None and spent < base
    if even_at is not None and not above:
        spent, base = at(0.0)
    return Again(
        even_at, base / spent if saves else None, None if turned is None else found.all[instead], turned, above
    )
