"""What a session would have cost otherwise: without a tool's large results, with a cache that lives longer or is
kept alive, without idle time. Each is a replay; what it is compared with is keep-all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from ctxsim.counting.estimators import open_estimator
from ctxsim.policies import Spec
from ctxsim.policies.without import Without
from ctxsim.recorded.pings import pinged
from ctxsim.simulator.measure import KEEP_ALL, Basis, measure
from ctxsim.simulator.measure.columns import total
from ctxsim.simulator.measure.summary import mean_survival
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.vendor import load_vendor
from ctxsim.simulator.replay import replay
from ctxsim.transcript import Transcript

PINGS = "pings in pauses"
"""The cache is kept alive by pings: `recorded.pings`."""

IDLE = "no idle time"
"""All calls follow at once, so that nothing outlives the cache's lifetime."""


class Outcome(msgspec.Struct, frozen=True):
    """What a transcript comes to: dollars if prices are known, and what was kept of what calls used of old results;
    None where none used any.
    """

    usd: float | None
    kept: float | None


class Otherwise(msgspec.Struct, frozen=True):
    """A transcript as it is, and by name as it would be; what isn't named changes nothing in it."""

    now: Outcome
    then: dict[str, Outcome]


class Saving(msgspec.Struct, frozen=True):
    """All transcripts together: dollars, their share of what they are now, and the mean of what was kept."""

    name: str
    transcripts: int
    usd: float
    share: float
    kept: float | None


def otherwise(basis: Basis, over: int) -> Otherwise:
    """Return what a transcript would have come to without each tool's results of more than `over` bytes, with the other
    lifetime that its cache can have, with pings that keep it alive, and without idle time.
    """
    then = {}
    for tool in large_tools(basis.transcript, over):
        spec = without(tool, over)
        of = measure(basis, spec).calls
        then[spec.label] = Outcome(total(of["cost_usd"]), mean_survival(of, "strict"))
    of = basis.keep_all.calls
    now = Outcome(total(of["cost_usd"]), mean_survival(of, "strict"))
    for name, transcript, provider in _other_caches(basis.transcript, basis.provider):
        sent = replay(transcript, KEEP_ALL, provider, basis.counter)
        then[name] = Outcome(total(one.cost_usd for one in sent), now.kept)
    if (warm := pinged(basis)) is not None:
        sent = replay(warm.transcript, KEEP_ALL, basis.provider, basis.counter)
        billed = total(one.cost_usd for one in sent)
        then[PINGS] = Outcome(None if billed is None else billed + warm.usd, now.kept)
    return Otherwise(now, then)


def without(tool: str, over: int) -> Spec:
    """Return the policy that leaves a tool's large results out; any tool's name will do, unlike in a label."""
    label = f"without:tool={tool},bytes={over}"
    return Spec(label, ((Without, Without.name, {"tool": tool, "bytes": str(over)}),), open_estimator())


def large_tools(transcript: Transcript, over: int) -> list[str]:
    """Return the tools that gave a result of more than so many bytes, by name."""
    return sorted(
        {
            item.tool
            for item in transcript.items
            if item.kind == "tool_result" and item.tool and len(item.text.encode("utf-8", "surrogatepass")) > over
        }
    )


def _other_caches(transcript: Transcript, provider: Provider) -> Iterator[tuple[str, Transcript, Provider]]:
    """Yield what else the cache could have met: the other lifetime, if its vendor sells two; no idle time."""
    if provider.cache == "none" or provider.prices is None:
        return
    rule = load_vendor(provider.cache).cache
    short, long = rule.lifetime(provider.model, False), rule.lifetime(provider.model, True)
    if short != long:
        for seconds, wanted in ((short, False), (long, True)):
            if wanted != provider.long_cache:
                other = msgspec.structs.replace(provider, long_cache=wanted)
                yield f"cache for {seconds / 60:.0f} minutes", transcript, other
    if any(call.time_s is not None for call in transcript.calls):
        at_once = tuple(msgspec.structs.replace(call, time_s=None) for call in transcript.calls)
        busy = msgspec.structs.replace(provider, pace_s=0.0)
        yield IDLE, msgspec.structs.replace(transcript, calls=at_once), busy


def savings(found: Iterable[Otherwise]) -> list[Saving]:
    """Return each what-if over all transcripts with known prices, the largest saving first.

    A transcript that it doesn't touch counts as it is: shares are of the whole bill.
    """
    priced = [one for one in found if one.now.usd is not None]
    bill = sum(one.now.usd or 0.0 for one in priced)
    rows = []
    for name in sorted({name for one in priced for name in one.then}) if bill else ():
        outcomes = [one.then.get(name, one.now) for one in priced]
        kept = [one.kept for one in outcomes if one.kept is not None]
        usd = sum(one.usd or 0.0 for one in outcomes)
        touched = sum(name in one.then for one in priced)
        rows.append(Saving(name, touched, usd, usd / bill, sum(kept) / len(kept) if kept else None))
    return sorted(rows, key=lambda row: (row.usd, row.name))
