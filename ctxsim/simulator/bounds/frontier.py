"""The frontier: the least tokens, and the least dollars, at each survival, with knowledge of the future.

There are two. `results`: the dialogue stays, each tool result stays whole up to some call and then leaves; edits are
free. `any`: all but the head may leave and a kept reference costs one token; no policy can beat it, whatever it cuts.
docs/bounds.md.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import accumulate, count, pairwise
from typing import Literal

from ctxsim.simulator.bounds.programme import Goal, Keeping, Point, Programme, cheapest_alone
from ctxsim.simulator.ledger import Ledger
from ctxsim.simulator.ledger.request import Request
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.prices import Prices, Rate
from ctxsim.simulator.provider.vendor import load_vendor
from ctxsim.simulator.references.finding import first_sent
from ctxsim.simulator.references.needs import References

Family = Literal["results", "any"]


class Frontier:
    """One transcript's frontier of one family; amounts are sums over its calls. `search` finds a point by tokens (side
    0) or dollars (side 1).
    """

    def __init__(self, base: tuple[float, float | None], search: Callable[[float, int], Point]) -> None:
        self._base = base
        self._point = cache(search)

    def tokens(self, survival: float) -> float:
        """Return the least input tokens at a survival of 0 to 1."""
        return self._base[0] + self._point(survival, 0).bound

    def cost_usd(self, survival: float) -> float | None:
        """Return the least dollars at a survival of 0 to 1, output included, if edits were free; None if unknown."""
        base = self._base[1]
        return None if base is None else base + self._point(survival, 1).bound

    def kept(self, survival: float) -> Mapping[int, int]:
        """Return the last call for which each source is kept at the least dollars."""
        return self._point(survival, 1).kept


def frontiers(
    ledger: Ledger, references: References, tokens_full: Sequence[int], output_usd: float | None
) -> dict[Family, Frontier]:
    """Return both frontiers. `tokens_full` are the uncompacted requests, `output_usd` what all responses cost."""
    transcript, provider, counter = ledger.transcript, ledger.provider, ledger.counter
    sent = first_sent(transcript)
    items = transcript.items
    size = {item.place: counter.item(item) for item in items if item.kind == "tool_result"}
    goals = _goals(references)
    once, again = least_usd(ledger), cheapest_usd(provider)[1]
    arrived = [0] * (len(tokens_full) + 2)
    for place, tokens in size.items():
        arrived[sent[place]] += tokens
    dialogue = [tokens - results for tokens, results in zip(tokens_full, accumulate(arrived[1:]), strict=False)]
    answers = load_vendor(provider.cache).cache.keeps_responses(provider.model)
    alone = cache(lambda head: Request(ledger.frames, head).total)
    heads = [alone(call.head or transcript.head) for call in transcript.calls]

    def base(requests: Sequence[int]) -> tuple[float, float | None]:
        grown = [max(0, this - last) for last, this in zip([0, *requests], requests, strict=False)]
        # If the cache keeps responses, all that a later request adds may be read: only the first is new.
        new = grown[:1] if answers else grown
        total = sum(requests)
        usd = sum(map(once, count(1), new)) + (total - sum(new)) * again
        return total, None if output_usd is None else output_usd + usd

    calls: dict[int, set[int]] = {}
    for goal in goals:
        for source in goal.sources:
            calls.setdefault(source, set()).add(goal.call)

    def whole(first: Callable[[int, int], float], later: float) -> list[Keeping]:
        # Each step keeps a result from one call that needs it to the next; the first one has its first request too.
        found = []
        for source, wanted in calls.items():
            born, again = sent[source], size[source] * later
            once, between = first(born, size[source]), pairwise([born - 1, *sorted(wanted)])
            steps = ((call, (once if last < born else again) + (call - last - 1) * again) for last, call in between)
            found.append(Keeping(source, tuple(steps)))
        return found

    programmes = (Programme(whole(lambda _, tokens: tokens, 1), goals), Programme(whole(once, again), goals))
    prices = (1.0, again)
    return {
        "results": Frontier(base(dialogue), lambda survival, side: programmes[side].least(survival)),
        "any": Frontier(base(heads), lambda survival, side: cheapest_alone(goals, prices[side], survival)),
    }


def _goals(references: References) -> list[Goal]:
    """The aged strict needs as goals. All calls that have needs have the same total weight."""
    by_call = [
        [need for need in needs if need.detector == "strict" and need.age >= 1] for needs in references.needs_by_call
    ]
    calls = sum(map(bool, by_call))
    return [
        Goal(number, 1 / len(needs) / calls, need.sources) for number, needs in enumerate(by_call, 1) for need in needs
    ]


def least_usd(ledger: Ledger) -> Callable[[int, int], float]:
    """Return a callback for the least USD of tokens in the first request that has them, given its number and theirs.

    Recorded reads show that a cache may hold tokens before: of other conversations, and of turns that were sent again.
    """
    first, again = cheapest_usd(ledger.provider)
    warm: dict[int, int] = {}
    met = set[str]()
    for leg in ledger.legs:
        model = ledger.provider.of(leg.call).model
        if leg.call.held and (leg.begins_turn or model not in met):
            warm[leg.number] = leg.call.held
        met.add(model)
    return lambda number, tokens: tokens * first - min(tokens, warm.get(number, 0)) * (first - again)


def cheapest_usd(provider: Provider) -> tuple[float, float]:
    """Return USD per token in its first request and in each later one, at the lowest rates of any request."""
    listed = [provider.prices or Prices(0.0, 0.0), *(other.prices for other in provider.others)]
    prices = [*listed, *(hours.prices for one in listed for hours in one.hours)]

    def low(*rates: Rate | None) -> float:
        steps = [rate if isinstance(rate, tuple) else ((0, rate),) for rate in rates if rate is not None]
        return min(price for rate in steps for _, price in rate) / 1e6

    written = load_vendor(provider.cache).cache.bills_writes
    first = [rate for one in prices for rate in (one.input, one.cache_write if written else None)]
    again = [None if provider.cache == "none" else one.cache_read for one in prices]
    return low(*first), low(*first, *again)
