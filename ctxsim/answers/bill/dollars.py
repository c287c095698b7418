"""Dollars of responses: as the log states them, else its tokens by class at the list prices of that day."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
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
    """Dollars of one response by class, and of its web searches. `how`: 'recorded', 'listed', or '' if neither is known
    and all are 0.
    """

    read: float
    write: float
    plain: float
    output: float
    how: str
    searches: float = 0.0

    @property
    def usd(self) -> float:
        """All dollars."""
        return self.read + self.write + self.plain + self.output + self.searches


NOTHING = Paid(0.0, 0.0, 0.0, 0.0, "")


class PriceList:
    """Prices by model, how requests are served, and day, looked up once and kept in the index. Another version of the
    price list clears them.
    """

    def __init__(self, index: Index) -> None:
        now = f"genai-prices {version('genai-prices')}, additions {crc32(ADDITIONS.read_bytes()):08x}"
        if index.priced_by != now:
            index.priced_by, index.rates = now, {}
        self._rates = index.rates
        self.changed = False

    def of(self, model: str, time_s: float | None, served: str = "") -> Rates | None:
        """Return the rates of a model at a time, without one today's, for requests served so (see `Usage`); None if no
        price is known.
        """
        if not model:
            return None
        kind = f"{model} {served}".strip()
        day = f"{kind}|{date.today() if time_s is None else int(time_s // DAY)}d"
        # Some prices depend on the time of day; all known ones change on the hour or half hour.
        hour = f"{kind}|{date.today() if time_s is None else int(time_s // 1800)}"
        key = day if day in self._rates else hour
        if key not in self._rates:
            found, by_hour = _listed(model, served, time_s)
            key = hour if by_hour else day
            self._rates[key], self.changed = found, True
        return self._rates[key]


def _listed(model: str, served: str, time_s: float | None) -> tuple[Rates | None, bool]:
    """The list prices, and whether they depend on the time of day."""
    from ctxsim.simulator.provider.models import find_model
    from ctxsim.simulator.provider.prices import rates_of

    day = None if time_s is None else datetime.fromtimestamp(time_s, UTC).date()
    found = find_model(model, day, recorded=True, served=served)
    if found is None or found.prices is None:
        return None, False
    prices, search = found.prices, (found.web_search or 0.0) / 1_000
    timed = prices.hours and time_s is not None
    chosen = msgspec.structs.replace(prices, zero_s=0.0).at(time_s or 0.0) if timed else prices
    (read, write, plain, output), (_, long, _, _) = (rates_of(chosen, lasting) for lasting in (False, True))
    return Rates(read, write, long, plain, output, search, prices.unpriced), bool(prices.hours)


def listed(one: Request | Response, rates: Rates | None) -> Paid:
    """Return the cost by class of a response, or of a changed request, at the given rates; NOTHING without rates."""
    if rates is None:
        return NOTHING
    read, write, long, plain, output = rates.at(one.input)
    return Paid(
        one.read * read, (one.write - one.long) * write + one.long * long, one.plain * plain, one.output * output,
        "listed", one.searches * rates.search,
    )  # fmt: skip


def paid(sessions: Sequence[Session], prices: PriceList) -> Iterator[tuple[Session, list[tuple[Response, Paid]]]]:
    """Yield each session with each of its responses, also those outside its conversation, and their cost.

    Recorded dollars of a response are divided among its classes by their list prices, or by tokens if there are none.
    Those of a whole session are divided so among its responses, and those of its sub-agents that state none themselves.
    """
    stated = {one.name: number for number, one in enumerate(sessions) if one.usd is not None}
    weights: defaultdict[int | None, float] = defaultdict(float)
    made = []
    for number, session in enumerate(sessions):
        made_here = (*session.responses, *session.beside)
        costs = [(one, listed(one, prices.of(one.model, one.time_s, one.served))) for one in made_here]
        whole = stated.get(session.root) if session.usd is None else number
        weights[whole] += sum(_weight(*one) for one in costs if one[0].usd is None)
        made.append((session, whole, costs))
    for session, whole, costs in made:
        rate = None if whole is None else (sessions[whole].usd or 0.0) / (weights[whole] or 1)
        yield session, [(one, _stated(one, cost, rate)) for one, cost in costs]


def _weight(one: Response, made: Paid) -> float:
    """The share of a response in its session's dollars: its list price, else a dollar for a million tokens."""
    return made.usd or (one.input + one.output) / 1e6


def _stated(one: Response, made: Paid, rate: float | None) -> Paid:
    usd = one.usd if one.usd is not None or rate is None else rate * _weight(one, made)
    if usd is None:
        return made
    by = made if made.usd else one
    shares = (by.read, by.write, by.plain, by.output, by.searches)
    whole = sum(shares)
    read, write, plain, output, searches = (usd * share / whole if whole else 0.0 for share in shares)
    return Paid(read, write, plain, output if whole else usd, "recorded", searches)
