"""Sessions to be billed by hand: a token costs 1 read, 10 written, 20 for an hour, 5 plain, 50 answered."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec

from ctxsim.answers.bill.facts import Rates, Response, Session

RATES = {"x-dear": Rates(1e6, 10e6, 20e6, 5e6, 50e6), "x-cheap": Rates(0.1e6, 1e6, 2e6, 0.5e6, 5e6)}
PRICES: Any = SimpleNamespace(of=lambda model, time_s, served="": RATES.get(model))


def response(read: int, write: int, fresh: int = 0, **more: Any) -> Response:
    """A request with a head of 100 tokens, answered by 10."""
    made = Response(None, "x-dear", read, write, 0, 0, 10, False, None, head=100, fresh=fresh)
    return msgspec.structs.replace(made, **more)


def session(*responses: Response, **more: Any) -> Session:
    made = Session("s", "", "claude-code", "p", "2.1.330", responses, (), ("head, not in the log",))
    return msgspec.structs.replace(made, **more)
