"""The calls of a transcript: what each brings to the request, and what answers it."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from ctxsim.simulator.ledger.frames import Frames
from ctxsim.simulator.provider.rules import Provider
from ctxsim.transcript import Call, Head, Item, Transcript

SPREAD = 1 << 20
"""How far apart neighbouring places are in a ledger that leaves room between them."""


INSERTED = -(1 << 30)
"""Where what a replay inserts stands for those who know the recording alone: apart from what policies make."""


class Leg(msgspec.Struct, frozen=True, gc=False):
    """One call. Reasoning that the vendor never sends again is in none of its items.

    `new_from` is the place of the first item that the request before couldn't have had.
    """

    number: int
    call: Call
    head: Head
    scheduled_s: float
    """When it began in the recording, in seconds since the first one; else by the provider's pace."""
    joining: tuple[Item, ...]
    """What joins before it."""
    begins_turn: bool
    """Whether the vendor leaves out the reasoning of the turns before, which end here."""
    response: tuple[Item, ...]
    """As recorded, reasoning too."""
    answered: tuple[Item, ...]
    """What of the response joins."""
    tokens_output: int
    """Recorded output where the reader trusts it, else counted."""
    new_from: int


def legs_of(transcript: Transcript, provider: Provider, frames: Frames, apart: int = 1) -> list[Leg]:
    """Return the calls of a transcript in order; places and messages that follow each other are so far `apart`."""
    legs, joined, before = [], 0, 0
    items = transcript.items if apart == 1 else tuple(_spread(item, apart) for item in transcript.items)
    for number, call in enumerate(transcript.calls, 1):
        joining, response = items[joined : call.start], items[call.start : call.end]
        answered, begins_turn = response, False
        if provider.reasoning == "never":
            joining, answered = _spoken(joining), _spoken(response)
        elif provider.reasoning == "current_turn":
            turn = max((at for at, item in enumerate(joining, 1) if item.kind == "user"), default=0)
            joining, begins_turn = (*_spoken(joining[:turn]), *joining[turn:]), turn > 0
        head = call.head or transcript.head
        scheduled_s = _scheduled_s(transcript, number, provider.pace_s)
        recorded = call.usage.output_tokens if call.usage else None
        output = frames.written(response) if recorded is None else recorded
        legs.append(
            Leg(number, call, head, scheduled_s, joining, begins_turn, response, answered, output, before * apart)
        )
        joined, before = call.end, call.start
    return legs


def _spread(item: Item, apart: int) -> Item:
    answers = None if item.answers is None else item.answers * apart
    return replace(item, place=item.place * apart, message=item.message * apart, answers=answers)


def recorded(item: Item) -> Item:
    """Return an item of a ledger that leaves room, with its place in the recording."""
    if item.synthetic:
        return item
    place, inserted = divmod(item.place, SPREAD)
    return replace(item, place=INSERTED - item.place if inserted else place)


def _spoken(items: Sequence[Item]) -> tuple[Item, ...]:
    return tuple(item for item in items if item.kind != "reasoning")


def _scheduled_s(transcript: Transcript, number: int, pace_s: float) -> float:
    first, time_s = transcript.calls[0].time_s, transcript.calls[number - 1].time_s
    if time_s is not None and first is not None:
        return max(0.0, time_s - first)
    return (number - 1) * pace_s
