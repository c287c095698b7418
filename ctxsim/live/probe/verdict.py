"""What probes say of a setting: when the agent compacts, held against what its policy expects."""

from typing import Literal, NamedTuple

Firing = Literal["proactive", "only after a refusal", "never", "not run"]

Found = Literal[
    "honoured", "capped", "clamped", "ignored", "needs more", "refused", "only after a refusal", "never", "unclear"
]  # fmt: skip
"""`capped`: a cap decides and not the value. `needs more`: it acts only with another setting."""

TOLERANCE = 0.03
"""Of characters that a cut leaves: agents put a line of their own in the place of what they cut."""


class Seen(NamedTuple):
    """What an agent did. `bracket` are tokens at which a proactive one didn't compact yet, and at which it did.

    `chars` are those that were left of a large result, where that was looked for.
    """

    firing: Firing
    bracket: tuple[int, int] | None = None
    chars: int | None = None


class Awaited(NamedTuple):
    """What a policy expects: how it fires, from how many tokens on, or how many characters are left."""

    firing: Firing
    threshold: float | None = None
    chars: int | None = None


class Asked(NamedTuple):
    """What the verdict rests on beside what was seen.

    `moves`: another value nearby is expected to act otherwise. `taken` says what becomes of a value outside the bounds.
    `default`: it is the default, or a word for it. `capped`: the setting has a cap. `needs` are keys that must be set
    too and aren't.
    """

    with_it: Awaited
    without: Awaited
    moves: bool
    taken: str = ""
    default: bool = False
    capped: bool = False
    needs: tuple[str, ...] = ()


def holds(seen: Seen, awaited: Awaited) -> bool:
    """Return whether what was seen is what was expected."""
    if seen.chars is not None:
        return awaited.chars is not None and abs(seen.chars - awaited.chars) <= max(600, TOLERANCE * awaited.chars)
    if seen.bracket is None or awaited.threshold is None:
        return seen.firing == awaited.firing
    # A threshold below nothing is reached by the first request.
    return seen.bracket[0] < max(1, awaited.threshold) <= seen.bracket[1]


def verdict(seen: Seen, asked: Asked) -> Found:
    """Return the verdict on a setting."""
    if seen.firing == "not run":
        return "refused"
    if holds(seen, asked.with_it):
        return _as_expected(asked)
    if holds(seen, asked.without):
        return "needs more" if asked.needs else "ignored"
    if seen.chars is None and seen.firing in ("only after a refusal", "never"):
        return seen.firing
    return "unclear"


def _as_expected(asked: Asked) -> Found:
    if asked.taken == "clamped":
        return "clamped"
    if asked.needs and asked.with_it == asked.without:
        return "needs more"
    if asked.taken:
        return "ignored"
    if asked.moves or asked.default:
        return "honoured"
    if asked.with_it == asked.without and asked.with_it.firing != "proactive":
        return "ignored"
    return "capped" if asked.capped or asked.with_it != asked.without else "ignored"
