"""Extract a transcript's facts: recorded usage by response, and what each request was filled with.

A tokenizer counts only responses that a log shows unfinished. For requests, recorded tokens are fitted to logged
characters, a head that isn't in the log, and unlogged additions (`recorded.size_fit.fit_size`). The parts of a request
then add up to its recorded size. Where less is logged than was sent, the rest is *unknown*.
"""

from collections import Counter as Frequencies
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise

import msgspec
import numpy as np
import numpy.typing as npt

from ctxsim.answers.bill import facts
from ctxsim.answers.bill.facts import Large, Response, Session, server_of
from ctxsim.counting.tokenizers import tokenizer_of
from ctxsim.readers.assembly.segments import segments
from ctxsim.readers.source.source import SKIPPED, UNREAD
from ctxsim.recorded.chars_fit import USUAL
from ctxsim.recorded.size_fit import CLEARED, Array, Request, fit_size
from ctxsim.simulator.ledger.frames import Frames
from ctxsim.simulator.provider import Provider
from ctxsim.simulator.provider.priors import tokens_factor, tokens_per_default
from ctxsim.simulator.provider.vendor import load_vendor, vendor_of
from ctxsim.simulator.references.finding import prepare
from ctxsim.transcript import UNSHOWN, Call, Compaction, Item, Transcript, Usage

Ints = npt.NDArray[np.int64]

MISSED_LEAST, MISSED_SHARE = 1_000, 0.05
"""Fewer tokens, or a smaller share of a request, are due to the granularity of a provider's cache and are no miss."""

LARGE = 1_000
"""Least tokens of a large result."""

SLACK_S = 30.0
"""Seconds added to a pause: logs state when a response began, not when it was requested."""

OF_KIND = {"assistant": facts.ASSISTANT, "reasoning": facts.THINKING, "tool_call": facts.ASKED}


def facts_of(transcript: Transcript) -> Session:
    """Return the facts of a transcript."""
    names: dict[str, int] = {}
    responses: list[Response] = []
    large: list[Large] = []
    ratios: list[float] = []
    at, compactions = 1, {one.call: one for one in transcript.compactions}
    for segment in segments(transcript):
        filled = _Filled(segment, names)
        large += filled.large(len(responses))
        responses += filled.responses(responses[-1] if responses else None, compactions.get(at))
        ratios.append(filled.chars_per_token)
        at += len(segment.calls)
    tools = Frequencies(item.tool for item in transcript.items if item.kind == "tool_call")
    ratio = float(np.median(ratios or [USUAL]))
    last = max((number for number, call in enumerate(transcript.calls, 1) if call.usage), default=0)
    ending = tuple(
        (round(_summary_chars(one) / ratio), bool(responses) and _outlived(responses[-1], one.time_s))
        for one in transcript.compactions if one.call > last
    )  # fmt: skip
    beside = [
        one for call in transcript.beside if call.usage and call.usage.input_tokens
        for one in _beside(call.usage, call, transcript, names)
    ]  # fmt: skip
    sums = [call for call in transcript.beside if call.end > call.start]
    silent = tuple(
        call.time_s for call in transcript.calls
        if call.usage is None and not any(one.start <= call.start and call.end <= one.end for one in sums)
    )  # fmt: skip
    usd = None if any(one.usd is not None for one in responses) else transcript.cost_usd
    if silent and not responses and usd:
        responses, silent, usd = [Response(silent[-1], transcript.model, 0, 0, 0, 0, 0, False, usd)], (), None
    return Session(
        transcript.name, transcript.parent or "", transcript.format, transcript.project, transcript.version,
        tuple(responses), tuple(beside), tuple(names), tuple(large), dict(tools), ratio,
        usd, silent, tuple(line for line in transcript.notes if SKIPPED in line or UNREAD in line), ending,
    )  # fmt: skip


def _plain_response(call: Call, usage: Usage) -> Response:
    """The response with the fields that its log states; the others keep their defaults."""
    read = min(usage.cache_read_tokens or 0, usage.input_tokens)
    write = min(usage.cache_write_tokens or 0, usage.input_tokens - read)
    long = min(usage.cache_write_long_tokens or 0, write)
    begun = usage.output_tokens is None
    output = usage.output_begun_tokens if begun else usage.output_tokens
    return Response(call.time_s, call.model, read, write, long, usage.input_tokens - read - write, output or 0, begun,
                    usage.cost_usd, unsaid=usage.cache_read_tokens is None, served=usage.served,
                    searches=usage.web_searches or 0)  # fmt: skip


def _beside(usage: Usage, call: Call, transcript: Transcript, names: dict[str, int]) -> Iterator[Response]:
    """Yield a response beside the conversation; a total in equal parts, one at the time of each of its calls, as prices
    depend on the size of a request.
    """
    made = _plain_response(call, usage)
    summed = call.end > call.start
    part = names.setdefault(facts.UNKNOWN if summed else facts.ASKING if call.start else facts.BESIDE, len(names))
    of_all = [one for one in transcript.calls if summed and call.start <= one.start and one.end <= call.end] or [call]
    told = [one for one in of_all if one.model == call.model] or of_all
    whole = np.array([made.read, made.write, made.long, made.plain, made.output, made.searches])
    for number, one in enumerate(told):
        each = (whole * (number + 1) // len(told) - whole * number // len(told)).tolist()
        read, write, long, plain, output, searches = each
        usd = made.usd and made.usd / len(told)
        yield msgspec.structs.replace(
            made, time_s=one.time_s, read=read, write=write, long=long, plain=plain, output=output, searches=searches,
            usd=usd, parts=(part, read, write, plain),
        )  # fmt: skip


class _Entry(msgspec.Struct, frozen=True, gc=False):
    """A piece of all requests that start after `place`: its part, its characters, and its tokens if they are known."""

    place: float
    part: int
    chars: int
    tokens: float = 0.0
    reasoning: bool = False


class _Filled:
    """The parts of each request of one segment."""

    def __init__(self, segment: Transcript, names: dict[str, int]) -> None:
        self.segment, self.names = segment, names
        self.calls = [(number, call, call.usage) for number, call in enumerate(segment.calls) if call.usage]
        self.model = segment.model
        self.tokens_per_default = tokens_per_default(self.model)
        self.resend = load_vendor(vendor_of(self.model)).reasoning.of(self.model)
        self.users = [item.place for item in segment.items if item.kind == "user"]
        self.reasons = any(item.kind == "reasoning" for item in segment.items)
        self.entries = sorted(
            [*self._head(), *(one for item in segment.items for one in self._item(item))], key=lambda one: one.place
        )
        self.used = _used(segment)
        self._laid_out()
        self._fitted()

    @cached_property
    def frames(self) -> Frames:
        """The rendering of this model, for responses whose usage the log doesn't state."""
        provider = Provider(
            tokenizer_of(self.model)[0], model=self.model, framing=vendor_of(self.model),
            tokens_factor=tokens_factor(self.model),
        )  # fmt: skip
        counter, items = provider.counter(), self.segment.items
        frames = Frames(provider, counter)
        unstated = [items[call.start : call.end] for _, call, usage in self.calls if usage.output_tokens is None]
        counter.learn(text for answer in unstated for item in answer for text in frames.texts(item))
        return frames

    def _laid_out(self) -> None:
        rows = [(one.place, one.part, one.chars, one.tokens, one.reasoning) for one in self.entries]
        self.places, parts, self.chars, self.tokens, reasoning = np.array(rows, dtype=float).reshape(-1, 5).T
        self.parts: Ints = parts.astype(np.int64)
        self.reasoning = reasoning.astype(bool)

    def _part(self, name: str) -> int:
        return self.names.setdefault(name, len(self.names))

    def _head(self) -> Iterator[_Entry]:
        head = self.segment.head
        if head.system:
            yield _Entry(-2, self._part(facts.SYSTEM), len(head.system))
        for tool in head.tools:
            name = msgspec.json.decode(tool).get("name", "") if tool.startswith("{") else ""
            server = server_of(name) if isinstance(name, str) else ""
            yield _Entry(-1, self._part(facts.SERVER + server if server else facts.TOOLS), len(tool))

    def _item(self, item: Item) -> Iterator[_Entry]:
        chars = sum(map(len, item.texts))
        if item.kind == "user":
            attached = item.text.startswith("<system-reminder>")
            carried = item.place < self.segment.carried
            part = facts.CARRIED if carried else facts.ATTACHED if attached else facts.USER
        else:
            part = OF_KIND.get(item.kind) or facts.RESULTS + (item.tool or "a tool")
        if chars:
            yield _Entry(item.place, self._part(part), chars, reasoning=item.kind == "reasoning")
        for media in item.media:
            known = self._part(facts.THINKING if item.kind == "reasoning" else facts.MEDIA)
            tokens = round(media.tokens * self.tokens_per_default) if media.kind == UNSHOWN else media.tokens
            yield _Entry(item.place, known, 0, tokens, item.kind == "reasoning")

    def _fitted(self) -> None:
        """Fit head, tokens per character and unlogged additions to the requests before the first unlogged clearing."""
        whole: list[Request] = []
        for number, call, usage in self.calls:
            if call.model != self.model:
                continue
            sent = self._sent(call)
            text, media = float(self.chars[sent].sum()), float(self.tokens[sent].sum())
            this = Request(number, round(text / USUAL), round(media), usage.input_tokens)
            last = whole[-1] if whole else this
            if this.recorded < CLEARED * last.recorded and this.text + this.framing >= last.text + last.framing:
                break
            whole.append(this)
        size = fit_size(whole, self.tokens_per_default)
        factor = size.factor if size else 1.0
        if size:
            joined = [
                _Entry(self.segment.calls[step.call].start - 0.5, self._part(facts.JOINED), 0, step.tokens)
                for step in size.steps
            ]
            hidden = [_Entry(-3, self._part(facts.FITTED), 0, size.head)] if size.head else []
            self.entries = sorted([*hidden, *self.entries, *joined], key=lambda one: one.place)
            self._laid_out()
        self.chars_per_token = USUAL / factor
        self.sizes: Array = self.chars * factor / USUAL + self.tokens

    def _sent(self, call: Call) -> npt.NDArray[np.bool_]:
        """Mask of the entries that a call's request holds, by the vendor's rule on resending reasoning."""
        sent = self.places < call.start
        if self.reasons and self.resend != "all":
            turn = max((place for place in self.users if place < call.start), default=-1)
            before = turn if self.resend == "current_turn" else call.start
            sent &= ~(self.reasoning & (self.places < before))
        return np.asarray(sent)

    def responses(self, last: Response | None, compaction: Compaction | None) -> Iterator[Response]:
        """Yield the segment's responses; `last` is the one before, or None, `compaction` that which it begins with."""
        compacted = round(_summary_chars(compaction) / self.chars_per_token) if compaction else 0
        cold = compaction is not None and last is not None and _outlived(last, compaction.time_s)
        needs, crossing = self._uses()
        before: Call | None = None
        for number, call, usage in self.calls:
            made = _plain_response(call, usage)
            parts, head, fresh, kept = self._request(call, before, made)
            answer = self.segment.items[call.start : call.end]
            joined = self.segment.items[before.end : call.start] if before else ()
            turn = any(item.kind == "user" for item in joined)
            missed, cause, pause_s = _missed(made, last, kept)
            last = msgspec.structs.replace(
                made, parts=parts, head=head, fresh=fresh, pause_s=pause_s,
                written=self.frames.written(answer) if made.begun else 0, missed=missed, cause=cause, turn=turn,
                needs=needs[number], crossing=crossing[number],
                compacted=(compacted or made.input - head or 1) if self.segment.after_compaction and not before else 0,
                cold=cold and not before,
            )  # fmt: skip
            yield last
            before = call

    def _uses(self) -> tuple[list[int], list[int]]:
        """By call: how often it used older results; how often it and later calls used results from before it."""
        starts = [call.start for call in self.segment.calls]
        numbers, places = np.array(self.used, dtype=np.int64).reshape(-1, 2).T
        needs = np.bincount(numbers, minlength=len(starts))
        steps = np.bincount(np.searchsorted(starts, places, side="right"), minlength=len(starts) + 1)
        return needs.tolist(), np.cumsum(steps[:-1] - np.concatenate([[0], needs[:-1]])).tolist() if starts else []

    def _request(self, call: Call, before: Call | None, made: Response) -> tuple[tuple[int, ...], int, int, int]:
        """The parts of a request by class, the tokens of its head, the tokens that joined since the call before, and
        the tokens of the prefix that it shares with that call's request: up to the first entry that was left out.
        """
        sent, total = self._sent(call), made.input
        sizes, parts, places = self.sizes[sent], self.parts[sent], self.places[sent]
        at_head = places < 0
        head = min(float(sizes[at_head].sum()), total)
        rest = float(sizes[~at_head].sum())
        if head + rest > total:
            # More is logged than was sent: the head keeps its size, and the other entries share the rest.
            scale = np.where(at_head, head / max(float(sizes[at_head].sum()), 1e-9), (total - head) / max(rest, 1e-9))
            sizes = sizes * scale
        fresh = float(sizes[places >= before.end].sum()) if before else total - head
        unknown = max(0.0, total - float(sizes.sum()))
        if unknown >= 0.5:
            sizes, parts = np.append(sizes, unknown), np.append(parts, self._part(facts.UNKNOWN))
            places = np.append(places, np.inf)
        gone = min(self.places[self._sent(before) & ~sent], default=np.inf) if before else -np.inf
        kept = float(sizes[places <= gone].sum())
        upto = np.concatenate([[0.0], np.cumsum(sizes)])
        upto[-1] = total
        classes: list[Ints] = []
        for begin, end in pairwise((0, made.read, made.read + made.write, total)):
            within = np.minimum(np.maximum(upto, begin), end)
            whole = np.round(np.cumsum(np.bincount(parts, within[1:] - within[:-1], len(self.names))))
            classes.append(np.diff(whole, prepend=0.0).astype(int))
        by_part = np.column_stack([np.arange(len(self.names)), *classes])
        found = by_part[by_part[:, 1:].any(axis=1)]
        return tuple(found.ravel().tolist()), round(head), round(fresh), round(kept)

    def large(self, offset: int) -> Iterator[Large]:
        """Yield the large results; `offset` is the number of responses before the segment."""
        if not self.calls:
            return
        starts = [call.start for _, call, _ in self.calls]
        numbers = {number for number, _, _ in self.calls}
        uses = Frequencies(place for number, place in self.used if number in numbers)
        for entry, size in zip(self.entries, self.sizes.tolist(), strict=True):
            place = int(entry.place)
            if place >= 0 and entry.chars and size >= LARGE and self.segment.items[place].kind == "tool_result":
                first = int(np.searchsorted(starts, place, side="right"))
                yield Large(offset + first, offset + len(starts), round(size), entry.part, uses[place])


def _used(segment: Transcript) -> list[tuple[int, int]]:
    """Pairs: the number of a call, from 0, and the place of a result that it used, at least one call old. Strict
    references only (docs/references.md).
    """
    found = prepare(segment, loose=False)
    calls = range(len(segment.calls))
    return [(number, need.sources[-1]) for number in calls for need in found.needs(number + 1) if need.age]


def _missed(this: Response, last: Response | None, kept: int) -> tuple[int, int, float | None]:
    """Tokens missed by the cache, index in CAUSES, pause in seconds; the requests share a prefix of `kept` tokens."""
    if last is None:
        return 0, 0, None
    pause_s = None if this.time_s is None or last.time_s is None else max(0.0, this.time_s - last.time_s)
    cached, cleared = this.write or this.read or last.read, this.input < CLEARED * last.input
    missed = min(last.input, this.input, kept) - this.read
    if not cached or cleared or missed < max(MISSED_LEAST, MISSED_SHARE * this.input):
        return 0, 0, pause_s
    if (this.model, this.served) != (last.model, last.served):
        return missed, 2, pause_s
    return missed, 1 if _outlived(last, this.time_s) else 3, pause_s


def _outlived(last: Response, time_s: float | None) -> bool:
    """Whether what a response left in the cache has expired at a time; false if one of both times isn't known."""
    if time_s is None or last.time_s is None:
        return False
    lives_s = load_vendor(vendor_of(last.model)).cache.lifetime(last.model, last.long > 0)
    return 0 < lives_s < max(0.0, time_s - last.time_s) + SLACK_S


def _summary_chars(compaction: Compaction) -> int:
    """The characters that the model wrote. Files that are sent again stand behind them."""
    return len("".join(compaction.summary[:1]))
