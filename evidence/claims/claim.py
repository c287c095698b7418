"""What a claim is: a sentence of a document with a number or a rule in it, and how it is measured here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from evidence.claims.evidence import Evidence

Verdict = Literal["reproduced", "refuted", "depends", "not measurable offline"]


class Finding(msgspec.Struct, frozen=True):
    """What was measured, and the verdict on the claim. `on` is what it depends on, or why it can't be measured."""

    got: str
    verdict: Verdict
    on: str = ""


class Claim(msgspec.Struct, frozen=True):
    """One claim: its document, the place in it, what it says (in our words or its numbers), and how it is measured."""

    document: str
    where: str
    says: str
    how: str
    measure: Callable[[Evidence], Finding]
    recorded: bool = False
    """Whether it needs recorded transcripts."""


CLAIMS: list[Claim] = []


def claim(
    document: str, where: str, says: str, how: str, recorded: bool = False
) -> Callable[[Callable[[Evidence], Finding]], Callable[[Evidence], Finding]]:
    """Return a decorator that registers a function that measures a claim."""

    def register(measure: Callable[[Evidence], Finding]) -> Callable[[Evidence], Finding]:
        CLAIMS.append(Claim(document, where, says, how, measure, recorded))
        return measure

    return register


def judged(got: str, holds: bool) -> Finding:
    """Return the finding for a claim that the measurement reproduces (`holds`) or refutes."""
    return Finding(got, "reproduced" if holds else "refuted")


def depends(got: str, on: str) -> Finding:
    """Return the finding for a claim that holds under some conditions only."""
    return Finding(got, "depends", on)


def unmeasurable(why: str) -> Finding:
    """Return the finding for a claim that needs what is not here: a live model, people, an unpublished log."""
    return Finding("-", "not measurable offline", why)
