"""Changes that would have made a bill smaller: all that a user can make, billed over all sessions, by saving.

A saving is the difference of two bills at the same rates, scaled to what was paid. Its interval is a bootstrap over
root sessions with their sub-agents.
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
from ctxsim.answers.forecast.ranges import DAY
from ctxsim.policies.agents.given import Given

LEAST = 0.02
"""Share of the bill; a change that saves less is not shown."""

MOST = 3
"""Most changes that are billed together."""

MOST_LOST = 0.05
"""Share of the uses of older results; a change that may lose more is not advised."""

RESAMPLES, SEED = 1_000, 36
MONTH_DAYS = 365.25 / 12
LEAST_DAYS = 7
"""Least days of recordings for a figure by month."""


class Saving(msgspec.Struct, frozen=True):
    """The saving of a change in dollars of the sessions, with its 5th and 95th percentiles `low` and `high`. `months`
    is the length of the recordings in months, None for less than a week.

    `share` is the saving as a share of the bill. `loses` is its drawback in words, `how` the way to make the change.
    `kept` is the share of uses of older results that it keeps if summaries hold nothing of them, None if it affects
    none. `given` is the setting.
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
    given: Given | None = None

    @property
    def keeps_enough(self) -> bool:
        """Whether it keeps enough uses of older results to be advised."""
        return self.kept is None or self.kept >= 1 - MOST_LOST

    @property
    def month(self) -> tuple[float, float] | None:
        """`low` and `high` per month, in dollars; None if `months` is None."""
        return None if self.months is None else (self.low / self.months, self.high / self.months)


class Smaller(msgspec.Struct, frozen=True):
    """Savings, largest first (changes of model last). They overlap: `together` is what the best of them save as one.
    `settings`: among the `tried` changes are agents' settings.
    """

    savings: list[Saving]
    together: Saving | None
    tried: int
    settings: bool = False


def smaller(bill: Bill, prices: PriceList, memory: Mapping[str, int] = {}, folder: Path | None = None) -> Smaller:
    """Return the changes that would have made a bill smaller. `memory` has the tokens of a folder's memory files by
    name; an offer halves them.
    """
    paid = _Paid(bill, prices)
    found: list[tuple[Saving, Offer]] = []
    groups = list(offers(bill, prices, memory, folder))
    for group in groups:
        made = [(paid.saving([offer]), offer) for offer in group]
        fit = [one for one in made if one[0].share >= LEAST and one[0].keeps_enough]
        found += sorted(fit, key=lambda one: -one[0].usd)[:1]
    # Another model's answers can't be predicted: it stands last and is never combined with others.
    found.sort(key=lambda one: (one[1].order >= MODEL, -one[0].usd, one[0].name))
    together = _best(paid, [offer for _, offer in found if offer.order < MODEL])
    tried = [offer for group in groups for offer in group]
    settings = any(offer.given for offer in tried)
    return Smaller([saving for saving, _ in found], together, len(tried), settings)


def _best(paid: _Paid, chosen: Sequence[Offer]) -> Saving | None:
    """The saving of up to MOST of the changes together; one that adds less than LEAST to those before it is skipped."""
    best: list[Offer] = []
    together: Saving | None = None
    for offer in chosen:
        tried = paid.saving(sorted([*best, offer], key=lambda one: one.order))
        more = tried.share >= (together.share if together else 0.0) + LEAST
        if len(best) < MOST and more and tried.keeps_enough:
            best, together = [*best, offer], tried
    return together if len(best) > 1 else None


class _Paid:
    """Cost of the sessions, as recorded and after changes, at the rates of the responses' times."""

    def __init__(self, bill: Bill, prices: PriceList) -> None:
        self.prices = prices
        self.usd = sum(line.paid.usd for line in bill.lines)
        known = {(line.session.name, id(line.response)): line.paid.usd for line in bill.lines}
        sessions = [one for one in bill.sessions if one.responses]
        paid = [[known.get((one.name, id(response))) for response in one.responses] for one in sessions]
        # A response in two files is counted only in the one where it is billed.
        self.sessions = [(one, [usd is not None for usd in own]) for one, own in zip(sessions, paid, strict=True)]
        # No change touches a session's responses outside its conversation, so they are left out.
        self.recorded = np.array([sum(filter(None, own)) for own in paid])
        self.before = np.array([self._cost(one, as_recorded(one, within)) for one, within in self.sessions])
        numbers = {root: n for n, root in enumerate(dict.fromkeys(one.root for one in sessions))}
        self.root = np.array([numbers[one.root] for one in sessions], dtype=int)
        span = bill.span_s()
        # Days (UTC) from the first to the last one, as many as forecasts count.
        whole = span[1] // DAY - span[0] // DAY + 1 if span else 0.0
        days = min(whole, bill.days or whole)
        self.months = days / MONTH_DAYS if days >= LEAST_DAYS else None

    def _cost(self, session: Session, requests: Requests) -> float:
        return sum(
            listed(one, self.prices.of(one.model, session.responses[one.at].time_s, one.served)).usd
            for one in requests
            if one.billed
        )

    def saving(self, chosen: Sequence[Offer]) -> Saving:
        """Return the saving of some changes together, applied in the given order."""
        effects = [Effect() for _ in chosen]
        after = []
        for session, within in self.sessions:
            requests = as_recorded(session, within)
            for offer, effect in zip(chosen, effects, strict=True):
                if not offer.formats or session.format in offer.formats:
                    requests = offer.change(session, requests, effect)
            after.append(self._cost(session, requests))
        # Where a log states dollars, the change in list prices is scaled to them.
        scale = np.divide(self.recorded, self.before, out=np.zeros_like(self.before), where=self.before > 0)
        saved = (self.before - np.array(after)) * scale
        by_root = np.bincount(self.root, saved, 1)
        even = np.full(len(by_root), 1 / len(by_root))
        drawn = np.random.default_rng(SEED).multinomial(len(by_root), even, RESAMPLES) @ by_root
        low, high = map(float, np.percentile(drawn, [5, 95]))
        usd = float(saved.sum())
        share = usd / self.usd if self.usd else 0.0
        each = list(zip(chosen, effects, strict=True))
        # Two changes may lose the same use, so the sum of their losses is an upper bound.
        lost = [effect.lost / effect.chances for offer, effect in each if offer.keeps and effect.chances]
        return Saving(
            " + ".join(offer.name for offer in chosen), usd, low, high, share, self.months,
            loses="; ".join(offer.loses(effect) for offer, effect in each),
            how="; ".join(offer.how for offer in chosen), kept=max(0.0, 1 - sum(lost)) if lost else None,
            given=chosen[0].given if len(chosen) == 1 else None,
        )  # fmt: skip
