"""The verdict on a setting: when the agent compacts in probes, compared with what its policy expects."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

Firing = Literal["proactive", "only after a refusal", "never", "not run"]

Found = Literal[
    "honoured", "capped", "clamped", "ignored", "needs more", "refused", "only after a refusal", "never", "unclear"
]  # fmt: skip
"""`capped`: a cap decides, not the value. `needs more`: the setting acts only together with another one."""

TOLERANCE = 0.03
"""The tolerated share of the characters that a cut leaves: agents put a line of their own in place of the rest."""


class Seen(NamedTuple):
    """What an agent did. `bracket` are the tokens at which a proactive one didn't compact yet, and at which it did.

    `chars` are the characters left of a large result, if the probe was of a cut.
    """

    firing: Firing
    bracket: tuple[int, int] | None = None
    chars: int | None = None


class Awaited(NamedTuple):
    """What a policy expects: how it fires, from how many tokens on, or how many characters a cut leaves."""

    firing: Firing
    threshold: float | None = None
    chars: int | None = None


def holds(seen: Seen, awaited: Awaited) -> bool:
    """Return whether what was seen agrees with what was expected."""
    if seen.chars is not None:
        return awaited.chars is not None and abs(seen.chars - awaited.chars) <= max(600, TOLERANCE * awaited.chars)
    if seen.bracket is None or awaited.threshold is None:
        return seen.firing == awaited.firing
    # A threshold below 1 is reached by the first request.
    return seen.bracket[0] < max(1, awaited.threshold) <= seen.bracket[1]


def verdict(
    seen: Seen, with_it: Awaited, without: Awaited, moves: bool, taken: str, capped: bool, needs: Sequence[str]
) -> Found:
    """Return the verdict on a setting, given what is expected with it and without it.

    `moves`: a value nearby is expected to act differently, or it is the default or one of the setting's words. `taken`
    says what the agent does with a value outside the bounds. `capped`: the setting has a cap. `needs` are keys that
    must be set too and aren't.
    """
    if seen.firing == "not run":
        return "refused"
    if not holds(seen, with_it):
        if holds(seen, without):
            return "needs more" if needs else "ignored"
        return seen.firing if seen.chars is None and seen.firing != "proactive" else "unclear"
    if taken == "clamped":
        return "clamped"
    if needs and with_it == without:
        return "needs more"
    if taken:
        return "ignored"
    if moves:
        return "honoured"
    never = with_it == without and (with_it.firing != "proactive" or not capped)
    return "ignored" if never else "capped"
