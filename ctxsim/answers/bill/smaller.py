"""Changes that would have made a bill smaller: all that a user can make, billed over all sessions, by saving.

A saving is the difference of two bills at the same rates, scaled to what was paid. Its range is of the next days, from
the draws of root sessions, with their sub-agents, that forecast their dollars.
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
from ctxsim.answers.bill.sums import Bill, sessions_of
from ctxsim.answers.forecast.forecast import saved
from ctxsim.answers.forecast.ranges import Array
from ctxsim.answers.forecast.sessions import Next
from ctxsim.policies.agents.given import Given

LEAST = 0.02
"""Share of the bill; a change that saves less is not shown."""

MOST = 3
"""Most changes that are billed together."""

MOST_LOST = 0.05
"""Share of the uses of older results; a change that may lose more is not advised."""

AHEAD = Next(30, days=True)
"""The days ahead for which savings are forecast."""


class Saving(msgspec.Struct, frozen=True):
    """The saving of a change in dollars of the sessions. `ahead` is the 90 % range of what it saves in the next days
    (AHEAD); None if a session has no time, or if most have no price.

    `share` is the saving as a share of the bill. `loses` is its drawback in words, `how` the way to make the change.
    `kept` is the share of uses of older results that it keeps if summaries hold nothing of them, None if it affects
    none. `given` is the setting.
    """

    name: str
    usd: float
    share: float
    loses: str
    how: str
    kept: float | None
    given: Given | None = None
    ahead: tuple[float, float] | None = None

    @property
    def keeps_enough(self) -> bool:
        """Whether it keeps enough uses of older results to be advised."""
        return self.kept is None or self.kept >= 1 - MOST_LOST


class Smaller(msgspec.Struct, frozen=True):
    """Savings, largest first (changes of model last). They overlap: `together` is what the best of them save as one.
    `settings`: among the `tried` changes are agents' settings.
    """

    savings: list[Saving]
    together: Saving | None
    tried: int
    settings: bool = False


def smaller(
    bill: Bill, prices: PriceList, memory: Mapping[str, int] = {}, folder: Path | None = None, ahead: Next = AHEAD
) -> Smaller:
    """Return the changes that would have made a bill smaller, with what they save in the days `ahead`. `memory` has the
    tokens of a folder's memory files by name; an offer halves them.
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
    told = paid.forecast([saving for saving, _ in found] + ([together] if together else []), ahead)
    return Smaller(told[: len(found)], told[-1] if together else None, len(tried), settings)


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
        self.known = sessions_of(bill)
        self.places = {name: place for place, name in enumerate(self.known.names)}
        self.billed = self._by_root([line.session for line in bill.lines], [line.paid.usd for line in bill.lines])
        self.saved: dict[str, Array] = {}
        """By name of a saving, what it saves of each root session."""

    def _by_root(self, sessions: Sequence[Session], usd: Sequence[float] | Array) -> Array:
        found = np.zeros(len(self.places))
        for one, value in zip(sessions, usd, strict=True):
            if one.root in self.places:
                found[self.places[one.root]] += value
        return found

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
        by_session = (self.before - np.array(after)) * scale
        usd, name = float(by_session.sum()), " + ".join(offer.name for offer in chosen)
        self.saved[name] = self._by_root([one for one, _ in self.sessions], by_session)
        share = usd / self.usd if self.usd else 0.0
        each = list(zip(chosen, effects, strict=True))
        # Two changes may lose the same use, so the sum of their losses is an upper bound.
        lost = [effect.lost / effect.chances for offer, effect in each if offer.keeps and effect.chances]
        return Saving(
            name, usd, share,
            loses="; ".join(offer.loses(effect) for offer, effect in each),
            how="; ".join(offer.how for offer in chosen), kept=max(0.0, 1 - sum(lost)) if lost else None,
            given=chosen[0].given if len(chosen) == 1 else None,
        )  # fmt: skip

    def forecast(self, savings: Sequence[Saving], ahead: Next) -> list[Saving]:
        """Return the savings with what they save in the next days, if that can be told."""
        if not savings or "usd" not in self.known.amounts or None in self.known.started or not self.billed.any():
            return list(savings)
        found = saved(self.known, self.billed, [self.saved[one.name] for one in savings], ahead)
        return [
            msgspec.structs.replace(one, ahead=amount.ranges["90"]) for one, amount in zip(savings, found, strict=True)
        ]
