"""Calls without a compaction: agents ask again and use old things anyway."""

from __future__ import annotations

import random

import msgspec

from ctxsim.answers.compactions.cuts import Cut, Session
from ctxsim.answers.compactions.later import SOON
from ctxsim.simulator.measure.measured import AsSent
from ctxsim.transcript import Item

CONTROLS = 10
"""Control calls drawn for each compaction."""

BEHIND = 20
"""Calls that a control has behind it at least."""


class Control(msgspec.Struct, frozen=True):
    """One call of the same session, the items of its request, and the place up to which the recording had come."""

    call: int
    at: int
    items: tuple[Item, ...]
    segment: AsSent


def controls(session: Session, cut: Cut) -> list[Control]:
    """Return up to `CONTROLS` calls drawn at random, in order: no compaction among the ten calls before or after.

    The draw depends on the transcript's name and the compaction's number alone.
    """
    possible = [
        (first + local, one)
        for first, one in session.segments
        for local in range(len(one.transcript.calls) - SOON + 1)
        if first + local > BEHIND and (first == 1 or local >= SOON)
    ]
    drawn = random.Random(f"{cut.transcript.name} {cut.number}").sample(possible, min(CONTROLS, len(possible)))
    return [_control(session, call, one) for call, one in sorted(drawn, key=lambda pair: pair[0])]


def _control(session: Session, call: int, one: AsSent) -> Control:
    first = next(first for first, other in session.segments if other is one)
    start = one.transcript.calls[call - first].start
    return Control(call, session.transcript.calls[call - 1].start, one.transcript.items[:start], one)
