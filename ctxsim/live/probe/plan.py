"""The plan of one probe, and its result."""

import msgspec

from ctxsim.live.agent import Decides
from ctxsim.live.plan import Plan

FINE = 1_000
"""The tokens by which requests grow around a waypoint."""

BEFORE, PAST = 4_000, 3_000
"""Requests grow by fine steps from so many tokens before a waypoint to so many after it."""

LEAP = 2 * FINE
"""Two requests that are further apart, in tokens, have a leap between them."""

AFTER = 2
"""The number of calls that are answered after the first compaction."""


class Sent(msgspec.Struct, frozen=True):
    """One request: its kind, its tokens, and its answer.

    `tokens` is the count, `reported` is reported to the agent, and `judged` is what the agent decides by: `reported`,
    or the agent's own count. `answered` is the size of the response, and `pending` that of the result that it calls
    for, in tokens; `largest` is the size of the longest result in the request, in characters.
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
    """One probe, ready to be run in a process of its own.

    `waypoints` are the tokens around which requests grow by fine steps, ascending; the probe ends after the last one.
    A request of more than `refuses` tokens is refused (0: never). With `single` the probe is of one large result, of so
    many characters. `late`: usage gets its constant from the second request on. Requests grow by `fine` tokens from
    `BEFORE` tokens before a waypoint to `past` after it.
    """

    waypoints: tuple[int, ...] = ()
    refuses: int = 0
    single: int = 0
    late: bool = False
    fine: int = FINE
    past: int = PAST


class Probed(msgspec.Struct, frozen=True):
    """The result of a probe: every request in order, seconds, and whether it had no network."""

    sent: tuple[Sent, ...]
    seconds: float
    enclosed: bool

    @property
    def fired(self) -> int | None:
        """The index of the first request for a summary, or the first that is smaller than the last by over a third."""
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
        """Whether it compacted soon after a leap, so that its threshold may be anywhere within the leap."""
        main = [one.judged for one in self.sent[: self.fired] if one.kind == "main"][-3:]
        return len(main) < 3 or main[-1] - main[0] > 2 * LEAP

    @property
    def most(self) -> int:
        """The size of the conversation's largest accepted request, in reported tokens."""
        return max((one.reported for one in self.sent if one.kind == "main" and not one.refused), default=0)

    def bracket(self, decides: Decides, turns: bool = False) -> tuple[int, int] | None:
        """Return the tokens at which it didn't compact yet and at which it did; None if it didn't do so by itself.

        Agents decide by the tokens they are about to send, by the usage of the last step (with `turns` only at the end
        of a run), or by the request that they send beside the one for a summary.
        """
        before = self.sent[: self.fired]
        if self.fired is None or any(one.refused for one in before):
            return None
        main = [one for one in before if one.kind == "main" and not (turns and one.pending)]
        if decides == "beside":
            # Requests sent at the same time arrive in any order. One that the summary's request contains came first.
            later = [one for one in self.sent[self.fired :] if one.kind == "main"][:1]
            main += [one for one in later if main and main[-1].tokens < one.tokens <= self.sent[self.fired].tokens]
        if not main:
            return None
        last = main[-1]
        if decides == "sent":
            # The usage reported with the last response may have leapt; the decision before was made without it.
            held = min([last.judged, *(one.judged + one.answered + one.pending for one in main[-2:-1])])
            return held if len(main) > 1 else 0, last.judged + last.answered + last.pending
        lower = main[-2].judged + main[-2].answered if len(main) > 1 else 0
        return lower, last.judged + (last.answered if decides == "usage" else 0)
