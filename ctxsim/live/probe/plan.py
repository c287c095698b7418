"""What one probe is, and what came of it."""

import msgspec

from ctxsim.live.agent import Decides
from ctxsim.live.plan import Plan

FINE = 1_000
"""Tokens by which requests grow around a waypoint."""

BEFORE, PAST = 4_000, 3_000
"""Tokens before a waypoint from which on, and after it to which, requests grow by fine steps."""

LEAP = 2 * FINE
"""Requests that are apart by more lie on both sides of a leap."""

AFTER = 2
"""Calls that are answered after the first compaction."""


class Sent(msgspec.Struct, frozen=True):
    """One request: what it was, its tokens, and what came next.

    `tokens` are counted, `reported` are told to the agent, and `judged` is what it decides by: the same, or what its
    policy's estimator makes of the request. `answered` are tokens of the response, `pending` of the result that it asks
    for, `largest` the characters of the longest result in the request.
    """

    kind: str
    tokens: int
    reported: int
    judged: int
    refused: bool = False
    answered: int = 0
    pending: int = 0
    largest: int = 0


class ProbePlan(Plan, frozen=True):
    """One probe, ready to be made in a process of its own.

    `waypoints` are the tokens around which requests grow by fine steps, ascending; the last one ends it. `refuses` are
    the tokens over which a request is refused, 0 for never. `single` is a probe of one large result, of so many
    characters. `estimator` counts for an agent that decides by its own count. `late`: usage gets its constant from the
    second request on. Requests grow by `fine` tokens from `BEFORE` tokens before a waypoint to `past` tokens after it.
    """

    waypoints: tuple[int, ...] = ()
    refuses: int = 0
    single: int = 0
    estimator: str = ""
    late: bool = False
    fine: int = FINE
    past: int = PAST


class Probed(msgspec.Struct, frozen=True):
    """What came of a probe: every request in order, the exit status, seconds, and what held it in."""

    sent: tuple[Sent, ...]
    status: int | None
    seconds: float
    enclosed: bool

    @property
    def fired(self) -> int | None:
        """The place of the first request of a summary, or of one that is smaller than the one before by a third."""
        before = 0
        for place, one in enumerate(self.sent):
            if one.kind == "summary":
                return place
            if one.kind == "main":
                if one.tokens < before * 2 / 3:
                    return place
                before = one.tokens
        return None

    @property
    def leapt(self) -> bool:
        """Whether it compacted soon behind a leap: somewhere on the way to where it was seen."""
        main = [one.judged for one in self.sent[: self.fired] if one.kind == "main"][-3:]
        return len(main) < 3 or main[-1] - main[0] > 2 * LEAP

    @property
    def refusals(self) -> int:
        """Requests of the conversation that were refused before it compacted."""
        return sum(one.refused for one in self.sent[: self.fired] if one.kind == "main")

    @property
    def most(self) -> int:
        """The largest request of the conversation that was accepted, in tokens as reported."""
        return max((one.reported for one in self.sent if one.kind == "main" and not one.refused), default=0)

    def bracket(self, decides: Decides, turns: bool = False) -> tuple[int, int] | None:
        """Return the tokens at which it didn't compact yet and at which it did; None where it didn't by itself.

        Agents decide by what they are about to send, by the usage of the step that is over, with `turns` only where a
        run ends, or by the request that they send beside that of the summary.
        """
        if self.fired is None or self.refusals:
            return None
        main = [one for one in self.sent[: self.fired] if one.kind == "main" and not (turns and one.pending)]
        if decides == "beside":
            # Requests at the same time come in either order: one that the summary holds came before it.
            later = [one for one in self.sent[self.fired :] if one.kind == "main"][:1]
            main += [one for one in later if main and main[-1].tokens < one.tokens <= self.sent[self.fired].tokens]
        if not main:
            return None
        last = main[-1]
        if decides == "sent":
            # What was reported with the last response may have leapt: the decision before it knew less.
            held = min([last.judged, *(one.judged + one.answered + one.pending for one in main[-2:-1])])
            return held if len(main) > 1 else 0, last.judged + last.answered + last.pending
        before = main[-2].judged + main[-2].answered if len(main) > 1 else 0
        return (before, last.judged + last.answered) if decides == "usage" else (before, last.judged)

    @property
    def after(self) -> int | None:
        """Tokens of the first request after the compaction."""
        if self.fired is None:
            return None
        return next((one.tokens for one in self.sent[self.fired :] if one.kind == "main"), None)
