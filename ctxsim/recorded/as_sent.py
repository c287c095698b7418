"""The conversation as it was sent: cut at the agent's own compactions, and as large as its provider recorded it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from functools import partial
from itertools import pairwise
from statistics import median_high
from typing import TYPE_CHECKING

import msgspec

from ctxsim.counting.tokenizers import per_default, tokenizer_of
from ctxsim.counting.tokenizers.counter import Counter
from ctxsim.readers.assembly.segments import UNLOGGED_CLEARING, across, going_on, segments
from ctxsim.readers.glance import Accepted, of_project
from ctxsim.recorded.size_fit import CLEARED, Request, fit_size, head_is_whole, later_errors, recorded_calls, requests
from ctxsim.simulator.ledger import Ledger
from ctxsim.simulator.measure.measured import AsSent, HeadMode, Size
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.priors import head_prior, tokens_factor, tokens_per_counted
from ctxsim.simulator.provider.resolve import resolve
from ctxsim.transcript import CLEARED as GONE
from ctxsim.transcript import UNLOGGED, Compaction, Media, Transcript

if TYPE_CHECKING:
    from ctxsim.simulator.provider.models import Model

GOOD_COUNT = 0.01
"""Median relative error up to which a transcript with a whole head and a known tokenizer needs no fit."""

EXPLAINED = 20
"""Unlogged clearings of one transcript that are explained; at further ones the whole history is taken to be gone."""


def as_sent(
    transcript: Transcript,
    overrides: dict[str, object] | None = None,
    entries: tuple[Model, ...] = (),
    head: HeadMode = "fitted",
    whole: bool = False,
    accepted: Accepted | None = None,
    like: Size | None = None,
    by_cost: bool = True,
    known: Counter | None = None,
    today: date | None = None,
) -> Iterator[AsSent]:
    """Yield a recorded transcript's segments, or with `whole` its history as if it had never been compacted.

    `accepted`: the largest request that the project's sessions had accepted (`ctxsim.readers.glance`). `like`: the size
    of other sessions, used instead of the priors for a session without usage. With `by_cost`, prices and cache are
    those that reproduce the recorded cost, unless `overrides` set them or the model. `known`: a counter whose memo is
    reused. `today`: as in `resolve`. Raises errors as `resolve` does: UnknownName and InputError.
    """
    given = {key: value for key, value in (overrides or {}).items() if value is not None}
    beside = (accepted or {}).get(of_project(transcript.project, transcript.model), (0, 1))
    provider = resolve(given, None, transcript, entries, beside, today)
    other = given.keys() & {"model", "tokenizer"}
    rest = {key: given[key] for key in given.keys() - other}
    recorded = resolve(rest, None, transcript, entries, beside, today) if other else provider
    paid = by_cost and any(call.usage and call.usage.cost_usd for call in transcript.calls)
    if paid and not given.keys() & {"model", "prices"}:
        from ctxsim.recorded.price_fit import cache_that_held, prices_that_held, with_reads_by_cost

        provider = prices_that_held(transcript, provider, entries)
        provider = provider if "cache" in given else cache_that_held(transcript, provider)
        transcript = with_reads_by_cost(transcript, provider)
    counter = recorded.counter(known)
    found, unlogged = with_unlogged_clearings(transcript, recorded, counter)
    for one in [across(found)] if whole else segments(found, unlogged):
        size = _size(one, recorded, head, counter, like)
        if other:
            size = _elsewhere(size, recorded.tokenizer, provider)
        # Without any figure, which would hold for this one transcript.
        told = {"fitted": "; size fitted to recorded usage", "prior": "; size by priors"}.get(size.how, "")
        origin = f"{provider.origin}{told}"
        scaled = msgspec.structs.replace(provider, tokens_factor=size.factor, size=size.how, origin=origin)
        same = scaled.counter(counter)
        yield AsSent(with_recorded_reads(_sized(one, size), scaled, same), scaled, size, same)


def _elsewhere(size: Size, tokenizer: str, provider: Provider) -> Size:
    """The size of the same conversation with another model, whose tokenizer counts the same hidden texts."""
    # A factor is per token of the model's stand-in; with another tokenizer, that one's tokens are meant.
    stands_in = tokenizer_of(provider.model) == (provider.tokenizer, False)
    factor = tokens_factor(provider.model) if stands_in else 1.0
    rate = factor * per_default(provider.tokenizer) / per_default(tokenizer)

    def moved(tokens: int) -> int:
        return round(tokens / size.factor * rate)

    steps = tuple(msgspec.structs.replace(step, tokens=moved(step.tokens)) for step in size.steps)
    return msgspec.structs.replace(size, head=moved(size.head), factor=factor, steps=steps)


def with_unlogged_clearings(
    transcript: Transcript, provider: Provider, counter: Counter | None = None
) -> tuple[Transcript, frozenset[int]]:
    """Return the transcript with a clearing wherever recorded usage falls so far that part of the request must have
    been cleared, and the calls of these clearings.

    Three explanations are tried: the oldest tool results that hold the missing tokens are gone, the whole history is,
    or only what isn't in the log. That one is taken after which about as many tokens are hidden as in the first
    request, or in the first one since the last cut. The log doesn't state these clearings, but the calls after one
    aren't comparable with those before it.
    """
    falls, found = _falls(transcript), set[int]()
    compared = requests(transcript, provider, counter) if falls else []
    for last, this in pairwise(compared):
        counted, before = (one.recorded - one.hidden for one in (this, last))
        if this.call not in falls or this.recorded * before >= CLEARED * last.recorded * counted:
            continue
        missing = last.hidden - this.hidden
        few = len(found) < EXPLAINED
        cuts = [Compaction(this.call, transcript.calls[this.call - 2].end)]
        cuts += [going_on(transcript, this.call)] if few else []
        in_order = (sorted((*transcript.compactions, cut), key=lambda one: one.call) for cut in cuts)
        ways = [msgspec.structs.replace(transcript, compactions=tuple(each)) for each in in_order]
        if few:
            went = _oldest_results(transcript, this.call, missing, counter or provider.counter())
            ways += [msgspec.structs.replace(transcript, cleared=(*transcript.cleared, *went))] if went else []
            hidden = [_hidden_in_segment_of(this, way, provider, counter) for way in (transcript, *ways)]
            far = [min(abs(tokens - usual) for usual in (compared[0].hidden, hidden[0])) for tokens in hidden[1:]]
            ways = ways[far.index(min(far)) :]
        transcript = ways[0]
        found.add(this.call)
        note = f"{UNLOGGED_CLEARING} before call {this.call} "
        # The reader may have added this note.
        if not any(told.startswith(note) for told in transcript.notes):
            note += f"({last.recorded} to {this.recorded} tokens)"
            transcript = msgspec.structs.replace(transcript, notes=(*transcript.notes, note))
    return transcript, frozenset(found)


def _hidden_in_segment_of(call: Request, transcript: Transcript, provider: Provider, counter: Counter | None) -> int:
    """Hidden tokens of the first request of the segment that holds a call."""
    end = 0
    for segment in segments(transcript):
        end += len(segment.calls)
        if call.call <= end:
            return next(iter(requests(segment, provider, counter)), call).hidden
    return call.hidden


def _oldest_results(transcript: Transcript, call: int, tokens: int, counter: Counter) -> list[tuple[int, int]]:
    """A call with each place of the oldest results before it that hold so many tokens, or all of them."""
    gone, found = {place for _, place in transcript.cleared}, []
    for item in (transcript.items[place] for place in going_on(transcript, call).kept if place not in gone):
        if item.kind == "tool_result" and tokens > 0:
            tokens -= counter.item(item) - counter.text(GONE)
            found.append((call, item.place))
    return found


def _falls(transcript: Transcript) -> set[int]:
    """The calls whose recorded usage is below CLEARED of the last one's, without a logged reason. Counts no texts."""
    known = {one.call for one in transcript.compactions} | {call for call, _ in transcript.cleared}
    recorded = [(number, tokens) for number, tokens, _ in recorded_calls(transcript)]
    return {
        number
        for (before, last), (number, this) in pairwise(recorded)
        if this < CLEARED * last and not any(before < call <= number for call in known)
    }


def _size(
    transcript: Transcript, provider: Provider, head: HeadMode, counter: Counter, like: Size | None = None
) -> Size:
    if head == "none":
        return Size("counted")
    own, public = tokenizer_of(transcript.model or provider.model)
    factor = None if public and own == provider.tokenizer else tokens_per_counted(transcript.model)
    rate = factor.tokens if factor else 1.0
    found = requests(transcript, provider, counter)
    misses = (abs(one.hidden) / one.recorded for one in found)
    if head_is_whole(transcript) and public and found and median_high(misses) <= GOOD_COUNT:
        size = Size("counted", calls=len(found))
    elif (fitted := fit_size(found, like.factor if like else rate)) is not None:
        size = fitted
    elif like is not None:
        size = Size("prior", like.head, like.factor)
    else:
        prior = None if transcript.head.recorded else head_prior(transcript.format, transcript.model)
        size = Size("prior" if factor or prior else "counted", prior.tokens if prior else 0, rate)
    whole = size.how == "counted" and bool(found)
    size = msgspec.structs.replace(size, later_errors=later_errors(found, rate, whole))
    return size if head == "fitted" else msgspec.structs.replace(size, how="given", head=head, steps=())


def _sized(transcript: Transcript, size: Size) -> Transcript:
    """Return the transcript with its hidden head, and with each unlogged step as media of an item that joined then."""
    items = list(transcript.items)
    for step in size.steps:
        place = _beside(transcript, step.call)
        media = (*items[place].media, Media(UNLOGGED, step.tokens))
        items[place] = msgspec.structs.replace(items[place], media=media)
    hidden = partial(msgspec.structs.replace, hidden=size.head)
    calls = tuple(
        msgspec.structs.replace(call, head=hidden(call.head)) if call.head else call for call in transcript.calls
    )
    return msgspec.structs.replace(transcript, head=hidden(transcript.head), items=tuple(items), calls=calls)


UNLIKE = 0.05
"""Recorded reads that differ from those by the rules by more than this share of the request contradict the rules."""

NOTHING = 0.02
"""Recorded reads below this share of a request count as none."""


def with_recorded_reads(transcript: Transcript, provider: Provider, counter: Counter) -> Transcript:
    """Return the transcript with `held` set at each call whose recorded reads contradict the rules of the cache."""
    recorded = {
        number: read / tokens
        for number, tokens, _ in recorded_calls(transcript)
        if (usage := transcript.calls[number - 1].usage) and (read := usage.cache_read_tokens) is not None
    }
    if provider.cache == "none" or not any(recorded.values()):
        return transcript
    calls = list(transcript.calls)
    plain = msgspec.structs.replace(provider, rate_limit=None, window=1 << 60)
    for number, step in enumerate(Ledger(transcript, plain, counter).kept, 1):
        share, tokens = recorded.get(number), step.split.total
        if share is not None and abs(share * tokens - step.split.read) > UNLIKE * tokens:
            held = round(share * tokens) if share > NOTHING else 0
            calls[number - 1] = msgspec.structs.replace(calls[number - 1], held=held)
    return msgspec.structs.replace(transcript, calls=tuple(calls))


def _beside(transcript: Transcript, call: int) -> int:
    """The place of an item that a later call is the first to send, preferably of a kind that policies rarely cut."""
    before, this = transcript.calls[call - 2 : call]
    new = transcript.items[before.start : this.start] or transcript.items[:1]
    return max(new, key=lambda item: (item.kind != "tool_result", item.kind != "reasoning")).place
