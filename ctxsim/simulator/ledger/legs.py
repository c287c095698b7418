"""The calls of a transcript: what each brings to the request, and what answers it."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from ctxsim.simulator.ledger.frames import Frames
from ctxsim.simulator.provider.rules import Provider
from ctxsim.transcript import Call, Head, Item, Transcript

SPREAD = 1 << 20
"""Distance of neighbouring places in a ledger that leaves room between them."""


INSERTED = -(1 << 30)
"""Offset of the negative places that inserted items get beside recorded ones, below those of policies' items."""


class Leg(msgspec.Struct, frozen=True, gc=False):
    """One call. `joining` and `answered` are without reasoning that the vendor doesn't send again.

    `new_from` is the place of the first item that the recorded request before didn't have.
    """

    number: int
    call: Call
    head: Head
    scheduled_s: float
    """Seconds from the first call to this one in the recording; without times, by the provider's pace."""
    joining: tuple[Item, ...]
    begins_turn: bool
    """Whether the vendor leaves out the reasoning of the turns before, which end here."""
    response: tuple[Item, ...]
    """The response as recorded, with reasoning."""
    answered: tuple[Item, ...]
    """Items of the response that join later requests."""
    tokens_output: int
    """Recorded output where the reader trusts it, else counted."""
    new_from: int


def legs_of(transcript: Transcript, provider: Provider, frames: Frames, apart: int = 1) -> list[Leg]:
    """Return the calls of a transcript in order; neighbouring places and messages are `apart` from each other."""
    legs, joined, before = [], 0, 0
    items = transcript.items if apart == 1 else tuple(_spread(item, apart) for item in transcript.items)
    first_s = next((call.time_s for call in transcript.calls), None)
    for number, call in enumerate(transcript.calls, 1):
        joining, response = items[joined : call.start], items[call.start : call.end]
        answered, begins_turn = response, False
        if provider.reasoning == "never":
            joining, answered = _spoken(joining), _spoken(response)
        elif provider.reasoning == "current_turn":
            turn = max((at for at, item in enumerate(joining, 1) if item.kind == "user"), default=0)
            joining, begins_turn = (*_spoken(joining[:turn]), *joining[turn:]), turn > 0
        head = call.head or transcript.head
        if call.time_s is None or first_s is None:
            scheduled_s = (number - 1) * provider.pace_s
        else:
            scheduled_s = max(0.0, call.time_s - first_s)
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
    """Return an item of a spread ledger with its place in the recording; negative if a replay inserted it."""
    if item.synthetic:
        return item
    place, inserted = divmod(item.place, SPREAD)
    return replace(item, place=INSERTED - item.place if inserted else place)


def _spoken(items: Sequence[Item]) -> tuple[Item, ...]:
    return tuple(item for item in items if item.kind != "reasoning")
