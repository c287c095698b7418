"""Modelled against recorded requests: their sizes, cache reads and dollars by the replay and by the provider."""

from collections.abc import Iterable, Sequence

import msgspec

from ctxsim.policies import open_policy
from ctxsim.recorded.as_sent import as_sent
from ctxsim.recorded.size_fit import head_is_whole, requests
from ctxsim.simulator.measure.columns import nearest_rank
from ctxsim.simulator.provider.rules import Misses
from ctxsim.simulator.replay import replay
from ctxsim.transcript import Transcript

AGREES = 0.05
"""A predicted cache read agrees if it is within this share of the modelled request."""


class Compared(msgspec.Struct, frozen=True):
    """One call. Tokens: of its texts and of framing as our rules count, recorded, and modelled with the fitted size.

    `read_predicted` are cache reads by the vendor's rules, minus `read_missed`, the misses expected from other
    recordings. `read_trivial` is a guess without rules: all tokens of the previous request. `read_recorded` and
    `cost_recorded_usd` are None if the source lacks them. `whole`: the source holds the head with its tools.
    """

    transcript: str
    format: str
    model: str
    call: int
    text: int
    framing: int
    recorded: int
    modelled: int
    read_predicted: int
    read_trivial: int
    read_recorded: int | None
    cause: str
    whole: bool
    cost_recorded_usd: float | None = None
    cost_modelled_usd: float | None = None
    read_missed: int = 0

    @property
    def counted(self) -> int:
        """Tokens by our own rules, nothing fitted."""
        return self.text + self.framing

    @property
    def error(self) -> float:
        """Relative error of the modelled size: (modelled - recorded) / recorded."""
        return (self.modelled - self.recorded) / self.recorded


def compare(transcript: Transcript, misses: Misses = "expected", by_cost: bool = False) -> list[Compared]:
    """Return the calls of a transcript that have recorded usage of the same request, segment by segment.

    Reads and dollars follow the vendor's rules and the misses of other recordings, not this recording's own. With
    `by_cost` recorded costs decide which prices apply, and whether there was a cache.
    """
    found: list[Compared] = []
    for one in as_sent(transcript, by_cost=by_cost):
        segment, provider = one.transcript, one.provider
        unlimited = msgspec.structs.replace(provider, window=1 << 60, rate_limit=None, misses=misses)
        unread = tuple(msgspec.structs.replace(call, held=None) for call in segment.calls)
        kept = list(replay(msgspec.structs.replace(segment, calls=unread), open_policy("keep-all"), unlimited))
        plain = {request.call: request for request in requests(segment, unlimited)}
        for number, sent in enumerate(kept, 1):
            request, usage = plain.get(number), sent.recorded.usage
            if request is None or usage is None:
                continue
            trivial = kept[number - 2].tokens_sent if number > 1 else 0
            found.append(
                Compared(
                    segment.name, segment.format, sent.recorded.model or segment.model, number,
                    request.text, request.framing, request.recorded, sent.tokens_sent,
                    sent.bill.split.read, trivial, usage.cache_read_tokens, sent.bill.cause,
                    head_is_whole(segment), usage.cost_usd, sent.cost_usd, sent.bill.tokens_missed,
                )
            )  # fmt: skip
    return found


class Score(msgspec.Struct, frozen=True):
    """How well a group of calls was modelled; shares are of calls, errors relative. None: nothing to compare.

    `median_error`, `p95_error`, `within_5` are of the modelled size, with what was fitted to the same recording;
    `held_out_*` are of the calls in the later half of each segment, predicted from the earlier half. Figures of cache
    and dollars leave out first calls, for which another session may have warmed the cache: `agreement` is of the
    vendor's rules without expected misses, `trivial_agreement` of the guess that all is read.
    """

    format: str
    model: str
    calls: int
    median_error: float
    p95_error: float
    within_5: float
    held_out_calls: int
    held_out_median: float | None
    held_out_p95: float | None
    cache_calls: int
    agreement: float | None
    trivial_agreement: float | None
    reads_ratio: float | None
    paid_calls: int
    cost_ratio: float | None


def score(calls: Sequence[Compared], later: Sequence[float] = ()) -> Score:
    """Return the score of the calls of one format and model; at least one. `later` has the errors of calls that were
    predicted from earlier ones.
    """
    errors = sorted(abs(call.error) for call in calls)
    unseen = sorted(map(abs, later))
    cached = [call for call in calls if call.read_recorded is not None and call.call > 1]
    recorded = sum(filter(None, (call.read_recorded for call in cached)))
    paid = [call for call in calls if call.cost_recorded_usd and call.cost_modelled_usd is not None and call.call > 1]
    stated = sum(filter(None, (call.cost_recorded_usd for call in paid)))
    return Score(
        format=calls[0].format,
        model=calls[0].model,
        calls=len(calls),
        median_error=round(nearest_rank(errors, 50), 4),
        p95_error=round(nearest_rank(errors, 95), 4),
        within_5=_share(error <= 0.05 for error in errors),
        held_out_calls=len(unseen),
        held_out_median=round(nearest_rank(unseen, 50), 4) if unseen else None,
        held_out_p95=round(nearest_rank(unseen, 95), 4) if unseen else None,
        cache_calls=len(cached),
        agreement=_share(_agrees(call, call.read_predicted + call.read_missed) for call in cached) if cached else None,
        trivial_agreement=_share(_agrees(call, call.read_trivial) for call in cached) if cached else None,
        reads_ratio=round(sum(call.read_predicted for call in cached) / recorded, 4) if recorded else None,
        paid_calls=len(paid),
        cost_ratio=round(sum(call.cost_modelled_usd or 0 for call in paid) / stated, 4) if stated else None,
    )


def _agrees(call: Compared, read: int) -> bool:
    return abs(read - (call.read_recorded or 0)) <= AGREES * call.modelled


def _share(found: Iterable[bool]) -> float:
    values = list(found)
    return round(sum(values) / len(values), 4)
