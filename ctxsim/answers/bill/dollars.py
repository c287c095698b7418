"""Dollars of responses: as the log states them, else its tokens by class at the list prices of that day."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from importlib.metadata import version
from pathlib import Path
from zlib import crc32

import msgspec

from ctxsim.answers.bill.changes import Request
from ctxsim.answers.bill.facts import Rates, Response, Session
from ctxsim.answers.bill.index import Index
from ctxsim.answers.forecast.ranges import DAY

ADDITIONS = Path(__file__).parents[2] / "simulator" / "provider" / "models.toml"
"""Additions to the price list. Read by path: importing their package takes longer than answering from the index."""


class Paid(msgspec.Struct, frozen=True, gc=False):
    """Dollars of one response by class. `how`: 'recorded', 'listed', or '' if neither is known and all are 0."""

    read: float
    write: float
    plain: float
    output: float
    how: str

    @property
    def usd(self) -> float:
        """Dollars of all classes."""
        return self.read + self.write + self.plain + self.output


NOTHING = Paid(0.0, 0.0, 0.0, 0.0, "")


class PriceList:
    """Prices by model and day, looked up once and kept in the index. Another version of the price list clears them."""

    def __init__(self, index: Index) -> None:
        now = f"genai-prices {version('genai-prices')}, additions {crc32(ADDITIONS.read_bytes()):08x}"
        if index.priced_by != now:
            index.priced_by, index.rates = now, {}
        self._rates = index.rates
        self.changed = False

    def of(self, model: str, time_s: float | None) -> Rates | None:
        """Return the rates of a model at a time, without one today's; None if no price is known."""
        if not model:
            return None
        day = f"{model}|{date.today() if time_s is None else int(time_s // DAY)}d"
        # Some prices depend on the time of day; all known ones change on the hour or half hour.
        hour = f"{model}|{date.today() if time_s is None else int(time_s // 1800)}"
        key = day if day in self._rates else hour
        if key not in self._rates:
            found, by_hour = _listed(model, time_s)
            key = hour if by_hour else day
            self._rates[key], self.changed = found, True
        return self._rates[key]


def _listed(model: str, time_s: float | None) -> tuple[Rates | None, bool]:
    """The list prices, and whether they depend on the time of day."""
    from ctxsim.simulator.provider.models import find_model
    from ctxsim.simulator.provider.prices import rates_of

    day = None if time_s is None else datetime.fromtimestamp(time_s, UTC).date()
    found = find_model(model, day, recorded=True)
    prices = found.prices if found else None
    if prices is None:
        return None, False
    timed = prices.hours and time_s is not None
    chosen = msgspec.structs.replace(prices, zero_s=0.0).at(time_s or 0.0) if timed else prices
    (read, write, plain, output), (_, long, _, _) = (rates_of(chosen, lasting) for lasting in (False, True))
    return Rates(read, write, long, plain, output), bool(prices.hours)


def listed(one: Request | Response, rates: Rates | None) -> Paid:
    """Return the cost by class of a response, or of a changed request, at the given rates; NOTHING without rates."""
    if rates is None:
        return NOTHING
    read, write, long, plain, output = rates.at(one.input)
    return Paid(
        one.read * read, (one.write - one.long) * write + one.long * long, one.plain * plain, one.output * output,
        "listed",
    )  # fmt: skip


def paid(session: Session, prices: PriceList) -> Iterator[tuple[Response, Paid]]:
    """Yield each response of a session, and each response outside its conversation, with its cost.

    Recorded dollars of a response are divided among its classes by their list prices, or by tokens if there are none.
    Recorded dollars of a whole session are divided among its responses by tokens.
    """
    tokens = sum(one.input + one.output for one in session.responses)

    for number, one in enumerate((*session.responses, *session.beside)):
        made = listed(one, prices.of(one.model, one.time_s))
        stated = one.usd
        if stated is None and number < len(session.responses) and session.usd is not None and tokens:
            stated = session.usd * (one.input + one.output) / tokens
        yield one, made if stated is None else _stated(one, stated, made)


def _stated(one: Response, usd: float, made: Paid) -> Paid:
    shares = (made.read, made.write, made.plain, made.output) if made.usd else (one.read, one.write, one.plain,
                                                                              one.output)  # fmt: skip
    whole = sum(shares)
    read, write, plain, output = (usd * share / whole if whole else 0.0 for share in shares)
    return Paid(read, write, plain, output if whole else usd, "recorded")
