"""What would have made a bill smaller: every change that a person can make, billed over all sessions, the largest
saving first.

A saving is the difference of two bills at the same rates, as a share of what was paid. Its interval is over sessions:
drawn again with their sub-agents, as often as there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from ctxsim.answers.bill.changes import Effect, Requests, as_recorded
from ctxsim.answers.bill.dollars import PriceList, listed
from ctxsim.answers.bill.facts import Session
from ctxsim.answers.bill.offers import MODEL, Offer, offers
from ctxsim.answers.bill.sums import Bill
from ctxsim.answers.forecast.ranges import DAY, Array
from ctxsim.policies.agents.given import Given

LEAST = 0.02
"""Of a bill: nothing that saves less is worth a line."""

MOST = 3
"""Changes that are billed together."""

MOST_LOST = 0.05
"""Of the uses of older results: nothing that may lose more is advised."""

RESAMPLES, SEED = 1_000, 36
MONTH_DAYS = 365.25 / 12
LEAST_DAYS = 7
"""Fewer days of recordings tell nothing of a month."""


class Saving(msgspec.Struct, frozen=True):
    """What a change saves, in dollars of the sessions, and in a month at their pace (None of less than a week), with
    the 5th and 95th percentile of its interval.

    `share` is of the bill. `loses` says what it costs, `how` how to do it. `kept` is the least share of the uses of
    older results that it keeps, None where it touches none. `given` is the setting that it is.
    """

    name: str
    usd: float
    low: float
    high: float
    share: float
    months: float | None
    loses: str
    how: str
    kept: float | None
    times: int
    given: Given | None = None

    @property
    def keeps_enough(self) -> bool:
        """Whether it may be advised for what it may lose."""
        return self.kept is None or self.kept >= 1 - MOST_LOST

    @property
    def month(self) -> tuple[float, float] | None:
        """The interval for a month, in dollars."""
        return None if self.months is None else (self.low / self.months, self.high / self.months)


class Smaller(msgspec.Struct, frozen=True):
    """The savings, the largest first, and what the best of them save together: they overlap, and don't add up."""

    savings: list[Saving]
    together: Saving | None
    tried: int


def smaller(bill: Bill, prices: PriceList, memory: Mapping[str, int] = {}, folder: Path | None = None) -> Smaller:
    """Return what would have made a bill smaller. `memory`: tokens of a folder's memory files, of which half could go,
    by name.
    """
    paid = _Paid(bill, prices)
    found: list[tuple[Saving, Offer]] = []
    tried = 0
    for group in offers(bill, prices, memory, folder):
        tried += len(group)
        made = [(paid.saving([offer]), offer) for offer in group]
        fit = [one for one in made if one[0].share >= LEAST and one[0].keeps_enough]
        found += sorted(fit, key=lambda one: -one[0].usd)[:1]
    # Nobody can foretell another model's answers: it stands last, and never among the best.
    found.sort(key=lambda one: (one[1].order >= MODEL, -one[0].usd, one[0].name))
    together = _best(paid, [offer for _, offer in found if offer.order < MODEL])
    return Smaller([saving for saving, _ in found], together, tried)


def _best(paid: _Paid, chosen: Sequence[Offer]) -> Saving | None:
    """What the first changes save together, up to three: one that adds nothing to those before it is passed over."""
    best: list[Offer] = []
    together: Saving | None = None
    for offer in chosen:
        tried = paid.saving(sorted([*best, offer], key=lambda one: one.order))
        more = tried.share >= (together.share if together else 0.0) + LEAST
        if len(best) < MOST and more and tried.keeps_enough:
            best, together = [*best, offer], tried
    return together if len(best) > 1 else None


class _Paid:
    """What sessions cost, as recorded and changed, at the rates of their responses' times."""

    def __init__(self, bill: Bill, prices: PriceList) -> None:
        self.prices = prices
        self.usd = sum(line.paid.usd for line in bill.lines)
        known = {(line.session.name, id(line.response)): line.paid.usd for line in bill.lines}
        sessions = [one for one in bill.sessions if one.responses]
        paid = [[known.get((one.name, id(response))) for response in one.responses] for one in sessions]
        # A response that stands in two files is changed in the one that is billed.
        self.sessions = [(one, [usd is not None for usd in own]) for one, own in zip(sessions, paid, strict=True)]
        # No change touches what a session has beside its conversation.
        self.recorded = np.array([sum(filter(None, own)) for own in paid])
        self.before = np.array([self._cost(one, as_recorded(one, within)) for one, within in self.sessions])
        numbers = {root: n for n, root in enumerate(dict.fromkeys(one.root for one in sessions))}
        self.root = np.array([numbers[one.root] for one in sessions], dtype=int)
        span = bill.span_s()
        days = (span[1] - span[0]) / DAY if span else 0.0
        self.months = days / MONTH_DAYS if days >= LEAST_DAYS else None

    def _cost(self, session: Session, requests: Requests) -> float:
        return sum(
            listed(one, self.prices.of(one.model, session.responses[one.at].time_s)).usd
            for one in requests
            if one.billed
        )

    def saving(self, chosen: Sequence[Offer]) -> Saving:
        """Return what some changes save together, in their order."""
        effects = [Effect() for _ in chosen]
        after = []
        for session, within in self.sessions:
            requests = as_recorded(session, within)
            for offer, effect in zip(chosen, effects, strict=True):
                if not offer.formats or session.format in offer.formats:
                    requests = offer.change(session, requests, effect)
            after.append(self._cost(session, requests))
        # Where a log states dollars, the change is as large a share of them.
        scale = np.divide(self.recorded, self.before, out=np.zeros_like(self.before), where=self.before > 0)
        saved = (self.before - np.array(after)) * scale
        low, high = _interval(np.bincount(self.root, saved, 1).astype(float))
        usd = float(saved.sum())
        share = usd / self.usd if self.usd else 0.0
        each = list(zip(chosen, effects, strict=True))
        # Two may lose the same use: together they lose at most what each does.
        lost = [effect.lost / effect.chances for offer, effect in each if offer.keeps and effect.chances]
        return Saving(
            " + ".join(offer.name for offer in chosen), usd, low, high, share, self.months,
            loses="; ".join(offer.loses(effect) for offer, effect in each),
            how="; ".join(offer.how for offer in chosen), kept=max(0.0, 1 - sum(lost)) if lost else None,
            times=sum(effect.times for effect in effects), given=chosen[0].given if len(chosen) == 1 else None,
        )  # fmt: skip


def _interval(values: Array) -> tuple[float, float]:
    drawn = np.random.default_rng(SEED).multinomial(len(values), np.full(len(values), 1 / len(values)), RESAMPLES)
    low, high = np.percentile(drawn @ values, [5, 95])
    return float(low), float(high)
