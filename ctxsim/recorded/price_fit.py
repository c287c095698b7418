"""Dollars as billed: which of a model's listed prices reproduce what the log says was paid."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache

import msgspec
import numpy as np

from ctxsim.recorded.least_squares import non_negative
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.models import Model, candidates, find_model
from ctxsim.simulator.provider.prices import Prices, Split, cost_of
from ctxsim.transcript import Call, Transcript, Usage

CLOSE = 0.02
"""Prices are accepted if they give the recorded cost to within this share."""

WHOLE = 0.05
"""How far a number of tokens that a cost shows may be off a whole one."""

ENOUGH_CALLS = 6
"""Least number of recorded costs to which three rates are fitted."""


def charged(transcript: Transcript) -> list[Usage]:
    """Return the recorded usage of the calls to the transcript's model, served as its first, whose cost the log states,
    and what of them was read from a cache. Those with searches are left out: not all of their cost is of tokens.
    """
    first = next((call.served for call in transcript.calls if call.model), "")
    own = [call for call in transcript.calls if call.model in ("", transcript.model) and call.served == first]
    usages = (call.usage for call in own if call.usage is not None and not call.usage.web_searches)
    return [usage for usage in usages if usage.cost_usd and usage.cache_read_tokens is not None]


def cost_by(prices: Prices, usage: Usage, paid_writes: bool) -> float:
    """Return USD of a call's recorded tokens. Without `paid_writes`, or if unlogged, writes cost as much as input."""
    read, write = usage.cache_read_tokens or 0, (usage.cache_write_tokens or 0) if paid_writes else 0
    uncached = max(0, usage.input_tokens - read - write)
    split, output = Split(read, write, uncached), usage.output_tokens or usage.output_begun_tokens or 0
    short, long = (cost_of(prices, split, output, lasting).total for lasting in (False, True))
    return short + (long - short) * (usage.cache_write_long_tokens or 0) / max(1, write)


def cost_beside(transcript: Transcript) -> float:
    """Return USD of the responses outside the conversation: as recorded, else at list prices, without those unknown."""
    found = 0.0
    for call in (one for one in transcript.beside if one.end == one.start):
        on = None if call.time_s is None else datetime.fromtimestamp(call.time_s, UTC).date()
        model = find_model(call.model, on, recorded=True, served=call.served)
        if call.usage and call.usage.cost_usd is not None:
            found += call.usage.cost_usd
        elif call.usage and model and model.prices:
            found += cost_by(model.prices, call.usage, True)
    return found


def prices_that_held(transcript: Transcript, provider: Provider, entries: tuple[Model, ...] = ()) -> Provider:
    """Return the provider with the prices that give the recorded cost, if its own do not.

    Tried in order: all that the list knows of the model, the same without a discount for cached tokens (some proxies
    state costs so), and rates fitted to the calls. The provider stays as it is where no cost is recorded, or none fits,
    or if an unknown model's tokens were read from a cache: it has no rules that say what other requests would read.
    """
    paid = charged(transcript)
    known = provider.prices
    if not paid or (known is None and provider.cache == "none" and any(usage.cache_read_tokens for usage in paid)):
        return provider
    if known is not None and _miss(known, paid) <= CLOSE:
        return provider
    listed = [*([known] if known else []), *_listed(transcript.model, entries)]
    for tried in (listed, list(map(_undiscounted, listed)), _fitted(paid)):
        best = min(tried, key=lambda prices: _miss(prices, paid), default=None)
        if best is not None and _miss(best, paid) <= CLOSE:
            source = f"{best.source or 'listed'}: gives the recorded cost"
            zero_s = known.zero_s if known else None
            return msgspec.structs.replace(provider, prices=msgspec.structs.replace(best, source=source, zero_s=zero_s))
    return provider


def cache_that_held(transcript: Transcript, provider: Provider) -> Provider:
    """Return the provider without a cache if no read is recorded and the recorded cost is that of all input at the full
    price. It needs the cost of a call behind the first, which has nothing to read.
    """
    usages = [call.usage for call in transcript.calls if call.usage is not None]
    paid = [usage for usage in usages if usage.cost_usd]
    behind = any(call.usage and call.usage.cost_usd for call in transcript.calls[1:])
    read = any(usage.cache_read_tokens for usage in usages)
    if provider.cache == "none" or provider.prices is None or not behind or read:
        return provider
    total = sum(usage.cost_usd or 0.0 for usage in paid)
    if abs(sum(cost_by(provider.prices, usage, False) for usage in paid) - total) > CLOSE * total:
        return provider
    origin = f"{provider.origin}; the recorded cost shows no cache"
    return msgspec.structs.replace(provider, cache="none", origin=origin)


def with_reads_by_cost(transcript: Transcript, provider: Provider) -> Transcript:
    """Return the transcript with the cache reads that its costs show, if the log states none: all are whole tokens, as
    they wouldn't be by other prices. A cost that includes writes shows no reads.
    """
    prices = provider.prices
    if prices is None or prices.cache_read is None or prices.cache_write is not None:
        return transcript
    calls = [_with_read(call, prices) for call in transcript.calls]
    return msgspec.structs.replace(transcript, calls=tuple(filter(None, calls))) if all(calls) else transcript


def _with_read(call: Call, prices: Prices) -> Call | None:
    usage = call.usage
    if usage is None or not usage.cost_usd or not usage.input_tokens:
        return call
    tokens, output = usage.input_tokens, usage.output_tokens or 0
    full, least = (cost_of(prices, Split(read, 0, tokens - read), output).total for read in (0, tokens))
    read = (full - usage.cost_usd) / (full - least) * tokens if full > least else -1.0
    if usage.cache_read_tokens is not None or not 0 <= round(read) <= tokens or abs(read - round(read)) > WHOLE:
        return None
    return msgspec.structs.replace(call, usage=msgspec.structs.replace(usage, cache_read_tokens=round(read)))


@lru_cache(maxsize=256)
def _listed(model: str, entries: tuple[Model, ...]) -> tuple[Prices, ...]:
    """All prices of a model; memoized because an agent's sessions share few models and the list is long."""
    return tuple(candidates(model, entries))


def _undiscounted(prices: Prices) -> Prices:
    source = f"{prices.source or 'listed'}, cached tokens at the full price"
    return msgspec.structs.replace(prices, cache_read=None, cache_write=None, cache_write_long=None, source=source)


def _fitted(paid: Sequence[Usage]) -> list[Prices]:
    """Rates of what was read, of the other input and of output, by non-negative least squares of the recorded costs."""
    if len(paid) < ENOUGH_CALLS:
        return []
    columns = [(one.input_tokens, one.cache_read_tokens, one.output_tokens or 0, one.cost_usd) for one in paid]
    given, read, output, cost = np.array(columns, dtype=float).T
    rates = non_negative(np.column_stack([given - read, read, output]), cost)
    new, old, output = (round(float(rate) * 1e6, 4) for rate in rates)
    source = f"fitted to {len(paid)} recorded costs"
    return [Prices(input=new, output=output, cache_read=old, cache_write=new, source=source)]


def _miss(prices: Prices, paid: Sequence[Usage]) -> float:
    """|modelled - recorded| / recorded, of the sums."""
    total = sum(usage.cost_usd or 0.0 for usage in paid)
    return abs(sum(cost_by(prices, usage, prices.cache_write is not None) for usage in paid) - total) / total
