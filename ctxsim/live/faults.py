"""Faults that a user can inject: refusals for rate, errors inside a stream, wrong usage, slow answers."""

from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec.structs import replace

from ctxsim.errors import LabelError
from ctxsim.simulator.provider import Provider

FORMS = "429@STEP[:retry=S,times=N], stream-error@STEP, usage=FACTOR|none, slow=SECONDS, unpaired"

Number = Annotated[int, msgspec.Meta(ge=1)]
Amount = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class Limited(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many times a step is refused for rate, and after how many seconds the client may try again."""

    times: Number = 1
    retry: Amount = 3.0


class Faults(msgspec.Struct, frozen=True):
    """Faults by step, counted from 1. `usage` is a factor on the reported usage; None reports no usage.

    `unpaired`: requests whose tool calls and results don't pair are answered anyway.
    """

    limited: dict[int, Limited] = {}
    broken: frozenset[int] = frozenset()
    usage: float | None = 1.0
    slow_s: float = 0.0
    unpaired: bool = False

    def over(self, provider: Provider) -> Provider:
        """Return a provider with the faults' factor on the usage that it reports."""
        return replace(provider, usage_factor=(self.usage or 0) * provider.usage_factor)


def parse_faults(values: tuple[str, ...]) -> Faults:
    """Return the faults that the texts name, each in one of the forms of FORMS. Raises LabelError for any other."""
    read: Any = partial(msgspec.convert, strict=False)
    made = Faults()
    for value in values:
        head, _, options = value.partition(":")
        name, at, step = head.partition("@")
        key, _, amount = head.partition("=")
        try:
            if name == "429" and at:
                pairs = (option.split("=") for option in options.split(",") if options)
                given = read({option: float(number) for option, number in pairs}, Limited)
                made = replace(made, limited={**made.limited, read(float(step), Number): given})
            elif name == "stream-error" and at and not options:
                made = replace(made, broken=made.broken | {read(float(step), Number)})
            elif key == "usage" and not options:
                made = replace(made, usage=None if amount == "none" else read(float(amount), Amount))
            elif key == "slow" and not options:
                made = replace(made, slow_s=read(float(amount), Amount))
            elif value == "unpaired":
                made = replace(made, unpaired=True)
            else:
                raise ValueError
        except ValueError:
            raise LabelError(f"fault '{value}' is none of: {FORMS}") from None
    return made
